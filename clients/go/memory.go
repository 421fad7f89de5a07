package sessiond

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"google.golang.org/adk/v2/memory"
	"google.golang.org/adk/v2/session"
	"google.golang.org/genai"
)

// memories is the session of a user that has what was said nowhere else.
const memories = "memories"

// longestQuery is how many characters of a query are sent: the server looks for 32 words.
const longestQuery = 2000

// mostHits is how many events a search returns at most.
const mostHits = 100

// SearchOptions narrows a search.
type SearchOptions struct {
	// Limit is how many events there are at most, up to 100; 10 if it is 0.
	Limit int
	// Since and Until are the times, in whole microseconds, at or after which, and before which, events were stored; all
	// if they are zero.
	Since, Until time.Time
	// Author is who said it; anybody if it is empty.
	Author string
	// SessionID is the only session, and ExceptSessionID one that is left out; all if they are empty.
	SessionID, ExceptSessionID string
}

// Hit is an event that a search has found.
type Hit struct {
	SessionID   string
	DisplayName string
	// Score is larger for the better.
	Score float64
	Event *session.Event
}

// Search returns what was said in the sessions of a user: events that have one of the words of the text, whole ones, the
// best first. Nothing is found that was rewound, redacted, trimmed or deleted. It is complete unless the index of the app
// is still taking in what was said before it was switched on, or very many events have one of the words.
//
// Errors: [ErrInput] if there is no word in the text; an [*Error] with the code search_off if the app has no index. Its
// Detail says how an operator switches it on.
func (s *Service) Search(
	ctx context.Context, appName, userID, text string, options SearchOptions,
) (hits []Hit, complete bool, err error) {
	if err := checkNames(appName, userID); err != nil {
		return nil, false, err
	}
	query := url.Values{"text": {text}}
	set := func(name, value string) {
		if value != "" {
			query.Set(name, value)
		}
	}
	set("author", options.Author)
	set("session", options.SessionID)
	set("exceptSession", options.ExceptSessionID)
	if options.Limit != 0 {
		query.Set("limit", strconv.Itoa(options.Limit))
	}
	for name, at := range map[string]time.Time{"from": options.Since, "to": options.Until} {
		if !at.IsZero() {
			query.Set(name, strconv.FormatFloat(float64(at.UnixMicro())/1e6, 'f', 6, 64))
		}
	}
	answer, err := s.client.send(ctx, request{method: http.MethodGet, path: userPath(appName, userID) + "/search", query: query})
	if err != nil {
		return nil, false, err
	}
	var found struct {
		Hits []struct {
			SessionID   string          `json:"sessionId"`
			DisplayName string          `json:"displayName"`
			Score       float64         `json:"score"`
			Event       json.RawMessage `json:"event"`
		} `json:"hits"`
		Complete bool `json:"complete"`
	}
	if err := decode(answer, &found); err != nil {
		return nil, false, err
	}
	for _, each := range found.Hits {
		event := decodeEvent(each.Event, each.SessionID, s.client.logger)
		hits = append(hits, Hit{each.SessionID, each.DisplayName, each.Score, event})
	}
	return hits, found.Complete, nil
}

// Memory is a memory service: what agents remember of a user is what was said in the sessions of that user, which are in
// sessiond. Nothing is copied, so all that is stored is remembered at once, and what is rewound, redacted, trimmed,
// expired, deleted or erased is not, from then on. The policy of the app has to say {"search": {"index": true}}, which is
// for an operator to set.
//
// Memory may be used by several goroutines.
type Memory struct {
	// Limit is how many memories a search returns at most, up to 100; 10 if it is 0. It is to be set before the first.
	Limit   int
	service *Service
}

var _ memory.Service = (*Memory)(nil)

// Memory returns the memory service of the same sessiond, with the same settings. It is the MemoryService of
// runner.Config and of launcher.Config.
func (s *Service) Memory() *Memory { return &Memory{service: s} }

// SearchMemory returns what the user and agents have said that has a word of the query, the best first: see
// [Service.Search]. What says just the query is left out: a runner has stored the user's question before it is looked for.
// Of a memory there is the text, without what a model thought. A query without a word finds nothing.
func (m *Memory) SearchMemory(ctx context.Context, req *memory.SearchRequest) (*memory.SearchResponse, error) {
	limit := cmp.Or(m.Limit, 10)
	words := []rune(req.Query)
	words = words[:min(len(words), longestQuery)]
	options := SearchOptions{Limit: min(2*limit, mostHits)}
	hits, _, err := m.service.Search(ctx, req.AppName, req.UserID, string(words), options)
	response := &memory.SearchResponse{}
	if failure := (*Error)(nil); errors.As(err, &failure) && strings.HasPrefix(failure.Detail, "`text`:") {
		return response, nil
	}
	if err != nil {
		return nil, err
	}
	for _, hit := range hits {
		said := spoken(hit.Event.Content)
		if said == nil || len(response.Memories) == limit || slices.Equal(fields(said), strings.Fields(req.Query)) {
			continue
		}
		response.Memories = append(response.Memories, memory.Entry{
			ID:             segments(hit.SessionID, hit.Event.ID)[1:],
			Content:        said,
			Author:         hit.Event.Author,
			Timestamp:      hit.Event.Timestamp,
			CustomMetadata: map[string]any{"session_id": hit.SessionID, "event_id": hit.Event.ID},
		})
	}
	return response, nil
}

// AddSessionToMemory sees that what was said in a session is remembered: if it comes from sessiond, it is already. The
// events of one from another session service, with content and an ID, are appended to the session "memories" of the user,
// each once, with their author and time, and without a change of state.
//
// Errors: [ErrNotFound], if the session was loaded from sessiond and is not there any more.
func (m *Memory) AddSessionToMemory(ctx context.Context, one session.Session) error {
	if ours, err := own(one); err == nil {
		query := url.Values{"numRecentEvents": {"0"}}
		_, err := m.service.client.send(ctx, request{method: http.MethodGet, path: ours.path(), query: query})
		return err
	}
	if err := checkNames(one.AppName(), one.UserID()); err != nil {
		return err
	}
	path := sessionPath(one.AppName(), one.UserID(), memories) + "/events"
	for event := range one.Events().All() {
		if event.ID == "" || event.Partial || spoken(event.Content) == nil {
			continue
		}
		written, err := encodeEvent(event, event)
		if err != nil {
			return err
		}
		body := map[string]any{}
		for _, name := range []string{"id", "author", "timestamp", "content"} {
			body[name] = written[name]
		}
		query := url.Values{"create": {"true"}, "answer": {"minimal"}}
		_, err = m.service.client.send(ctx, request{method: http.MethodPost, path: path, query: query, body: body})
		// One that is there with another content stays as it is.
		if failure := (*Error)(nil); errors.As(err, &failure) && failure.Code == "event_id_conflict" {
			continue
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// spoken returns the text of a content, without what a model thought; nil if there is none.
func spoken(content *genai.Content) *genai.Content {
	if content == nil {
		return nil
	}
	said := &genai.Content{Role: content.Role}
	for _, part := range content.Parts {
		if part != nil && part.Text != "" && !part.Thought {
			said.Parts = append(said.Parts, &genai.Part{Text: part.Text})
		}
	}
	if said.Parts == nil {
		return nil
	}
	return said
}

// fields returns the words of a content as white space cuts them.
func fields(said *genai.Content) []string {
	var text strings.Builder
	for _, part := range said.Parts {
		text.WriteString(part.Text)
	}
	return strings.Fields(text.String())
}
