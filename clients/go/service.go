// Package sessiond keeps the sessions and the files of ADK agents in sessiond: [Service] is a session service for
// google.golang.org/adk/v2, which plugs in as the SessionService of runner.Config and of launcher.Config, and its
// [Service.Artifacts] as the ArtifactService.
//
//	sessions, err := sessiond.New("http://127.0.0.1:8080")
//	if err != nil { ... }
//	defer sessions.Close()
//	r, err := runner.New(runner.Config{AppName: "cafe", Agent: agent, SessionService: sessions})
//
// Tools change shared state with operators, which lose nothing between concurrent writers: see [Increment], [Append],
// [Union], [Remove] and [Apply]. [Service.Watch] follows a session.
//
// # Numbers
//
// A number of state is a float64 if encoding/json would write that float64 as the same number again, as it is with the
// services of ADK that read JSON; so 5, 5.0, 0.1 and 9007199254740992 are float64. Any other number, such as
// 9007199254740993 or 0.12345678901234567890, is a [json.Number] and loses nothing. The same holds for what events have
// of any type: the StateDelta, function arguments and responses, CustomMetadata and Output. What a program has set
// itself stays as it is in the session object that it was appended to.
package sessiond

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"google.golang.org/adk/v2/platform"
	"google.golang.org/adk/v2/session"
)

// Service is a session service that keeps sessions in sessiond. What it guarantees, beyond what ADK asks of one:
//
//   - When AppendEvent returns nil, the event and all its changes of state are on disk, and every later read through any
//     process shows them.
//   - If it returns an error, the session object is as it was. The event may be appended again, also if it is unknown
//     whether it was stored: its ID makes sure that it is stored once.
//   - Appends through one session object take turns, so its events have the order of the store.
//   - Concurrent writers of different keys of app or user state never undo one another.
//
// Errors about a request are an [*Error]. A Service may be used by several goroutines.
type Service struct {
	client      *client
	concurrency Concurrency
	history     History
	leases      *leases
	// For how long a watch waits for a sign of life, and pauses before it comes back.
	silence, comeback time.Duration
}

var _ session.Service = (*Service)(nil)

// New returns a service for the sessiond at a URL: http://HOST:PORT or https://HOST, with a path if a proxy puts it under
// one. It opens no connection yet. The credential is that of the environment variable SESSIOND_TOKEN unless an option
// says otherwise; a URL with a credential is refused.
func New(url string, options ...Option) (*Service, error) {
	config, err := configure(options)
	if err != nil {
		return nil, err
	}
	client, err := newClient(url, config)
	if err != nil {
		return nil, err
	}
	service := &Service{
		client: client, concurrency: config.concurrency, history: config.history, silence: silence, comeback: comeback,
	}
	if config.concurrency == ConcurrencyLease {
		service.leases = newLeases(client, config)
	}
	return service, nil
}

// String says where sessiond is. It does not show the credential.
func (s *Service) String() string { return "sessiond.Service(" + s.client.base + ")" }

// GoString is like String.
func (s *Service) GoString() string { return s.String() }

// Close releases the leases of the service and closes its idle connections. The service can be used again.
func (s *Service) Close() error {
	var err error
	if s.leases != nil {
		err = s.leases.releaseAll()
	}
	s.client.http.CloseIdleConnections()
	return err
}

// Create creates a session, once, also if the first answer gets lost. app: and user: keys of the state go to app and
// user state, temp: keys nowhere. A blank SessionID: one is generated.
//
// Errors: [ErrExists], and the session is left as it is.
func (s *Service) Create(ctx context.Context, req *session.CreateRequest) (*session.CreateResponse, error) {
	name := strings.TrimSpace(req.SessionID)
	var further []string
	if name != "" {
		further = []string{ofSession, name}
	}
	if err := checkNames(req.AppName, req.UserID, further...); err != nil {
		return nil, err
	}
	body := map[string]any{"state": map[string]any{}}
	if req.State != nil {
		body["state"] = lasting(req.State)
	}
	// Nobody else knows a generated id: what a get-or-create gets can only be what an attempt before has created.
	r := request{method: http.MethodPut, path: sessionPath(req.AppName, req.UserID, platform.NewUUID(ctx)), body: body}
	if name != "" {
		body["sessionId"] = name
		r.method, r.path = http.MethodPost, sessionsPath(req.AppName, req.UserID)
		// By which sessiond knows what an attempt before has created. Not of ctx, which may give the same id again.
		r.header = map[string]string{"Idempotency-Key": rand.Text()}
	}
	created, err := s.read(ctx, r)
	if err != nil {
		return nil, err
	}
	return &session.CreateResponse{Session: created}, nil
}

// Get returns a session with its merged state and its events, as of one moment. NumRecentEvents and After limit the
// events at the server: first to the last ones, of these to those not before a time, in whole microseconds.
//
// Errors: [ErrNotFound].
func (s *Service) Get(ctx context.Context, req *session.GetRequest) (*session.GetResponse, error) {
	if err := checkNames(req.AppName, req.UserID, ofSession, req.SessionID); err != nil {
		return nil, err
	}
	query := url.Values{}
	if req.NumRecentEvents > 0 {
		query.Set("numRecentEvents", strconv.Itoa(req.NumRecentEvents))
	}
	if !req.After.IsZero() {
		query.Set("afterTimestamp", req.After.UTC().Truncate(time.Microsecond).Format(time.RFC3339Nano))
	}
	if s.history == HistoryEffective {
		query.Set("history", "effective")
	}
	found, err := s.get(ctx, sessionPath(req.AppName, req.UserID, req.SessionID), query)
	if err != nil {
		return nil, err
	}
	return &session.GetResponse{Session: found}, nil
}

// List returns the sessions of a user, or of all users of the app if UserID is empty, with merged state and without
// events: by last update, the latest at the end, then by user and id. What changes meanwhile may or may not be seen.
func (s *Service) List(ctx context.Context, req *session.ListRequest) (*session.ListResponse, error) {
	user := req.UserID
	if user == "" {
		// Of all users: there is no name to check.
		user = "all"
	}
	if err := checkNames(req.AppName, user); err != nil {
		return nil, err
	}
	r := request{
		method: http.MethodGet,
		path:   "/v1/apps" + segments(req.AppName) + "/sessions",
		query:  url.Values{"includeState": {"true"}, "pageSize": {strconv.Itoa(pageSize)}},
	}
	if req.UserID != "" {
		r.path = sessionsPath(req.AppName, req.UserID)
	}
	listed := []session.Session{}
	places := map[[2]string]int{}
	for {
		answer, err := s.client.send(ctx, r)
		if err != nil {
			return nil, err
		}
		var page struct {
			Sessions      []wireSession `json:"sessions"`
			NextPageToken string        `json:"nextPageToken"`
		}
		if err := decode(answer, &page); err != nil {
			return nil, err
		}
		for _, found := range page.Sessions {
			// One that was updated between two pages is on both.
			name := [2]string{found.UserID, found.ID}
			if place, twice := places[name]; twice {
				listed[place] = nil
			}
			places[name] = len(listed)
			listed = append(listed, found.session(s))
		}
		if page.NextPageToken == "" {
			listed = slices.DeleteFunc(listed, func(one session.Session) bool { return one == nil })
			return &session.ListResponse{Sessions: listed}, nil
		}
		r.query.Set("pageToken", page.NextPageToken)
	}
}

// Delete deletes a session with its events and its own state, if there is one. App and user state stay.
func (s *Service) Delete(ctx context.Context, req *session.DeleteRequest) error {
	if err := checkNames(req.AppName, req.UserID, ofSession, req.SessionID); err != nil {
		return err
	}
	_, err := s.client.send(ctx, request{
		method: http.MethodDelete,
		path:   sessionPath(req.AppName, req.UserID, req.SessionID),
	})
	return err
}

// AppendEvent appends an event and applies its StateDelta, in the store and then in the session, which comes from this
// package. A partial event is left alone. temp: keys of the delta are applied to the session only; they are not sent, and
// the session's event lacks them. The event gets an ID and a Timestamp if it has none, and the Timestamp is cut to
// microseconds, which the session's LastUpdateTime becomes. An event that the session already has is not applied again.
//
// Errors: [ErrNotFound]; [ErrStale] and [ErrBusy], see [Concurrency]; an [*Error] with the code event_id_conflict, if the
// session has another event with this ID.
func (s *Service) AppendEvent(ctx context.Context, cur session.Session, event *session.Event) error {
	if event == nil {
		return errors.New("sessiond: the event is nil")
	}
	if event.Partial {
		return nil
	}
	target, err := own(cur)
	if err != nil {
		return err
	}
	if event.ID == "" {
		event.ID = platform.NewUUID(ctx)
	} else if why := faultOf(event.ID); why != "" {
		return refused("id of the event", why)
	}
	if event.Timestamp.IsZero() {
		event.Timestamp = platform.Now(ctx)
	}
	event.Timestamp = event.Timestamp.Truncate(time.Microsecond)
	kept := event
	if state := lasting(event.Actions.StateDelta); len(state) != len(event.Actions.StateDelta) {
		shallow := *event
		shallow.Actions.StateDelta = state
		kept = &shallow
	}
	if err := target.lock(ctx); err != nil {
		return err
	}
	defer target.unlock()
	body, err := encodeEvent(kept, event)
	if err != nil {
		return fmt.Errorf("sessiond: the event is no JSON: %w", err)
	}
	// The event is here already.
	minimal := url.Values{"answer": {"minimal"}}
	answer, said, err := s.post(ctx, target, body, minimal, event.InvocationID, s.concurrency == ConcurrencySession)
	if err != nil {
		return err
	}
	replayed := answer.header.Get("Idempotent-Replayed") != ""
	if !replayed || (said.Sequence > target.seen() && !target.has(event.ID)) {
		target.appended(kept, event.Actions.StateDelta, nil, said.Sequence)
	}
	return nil
}

// post stores an event in the session, whose lock is held.
func (s *Service) post(
	ctx context.Context, target *stored, event any, query url.Values, invocationID string, ifUnchanged bool,
) (*reply, *wireEvent, error) {
	r := request{
		method: http.MethodPost, path: target.path() + "/events", query: query, body: event, header: map[string]string{},
	}
	if s.leases != nil {
		if err := s.leases.take(ctx, s, target, invocationID); err != nil {
			return nil, nil, err
		}
		if target.lease != nil {
			r.header["Sessiond-Lease"] = target.lease.token
		}
	}
	if ifUnchanged {
		r.header["If-Match"] = fmt.Sprintf(`"%d"`, target.seen())
	}
	answer, err := s.client.send(ctx, r)
	if err != nil {
		if s.leases != nil {
			s.leases.refused(target, err)
		}
		return nil, nil, err
	}
	said := &wireEvent{}
	return answer, said, decode(answer, said)
}

// get returns a session without what was taken back.
func (s *Service) get(ctx context.Context, path string, query url.Values) (*stored, error) {
	for {
		found, err := s.read(ctx, request{method: http.MethodGet, path: path, query: query})
		// What was taken back comes before what took it back. So if that is not here, neither is the former.
		if err != nil || !found.rewound {
			return found, err
		}
		visible, revision, err := s.visible(ctx, path, found.id, query)
		if err != nil {
			return nil, err
		}
		if revision == found.revision {
			found.events = visible
			return found, nil
		}
	}
}

// visible returns the events without what was taken back, limited as the query of a session says: first the last ones, of
// these those since a time; and the revision of the session.
func (s *Service) visible(
	ctx context.Context, path, id string, limits url.Values,
) (events []*session.Event, revision int64, err error) {
	query := url.Values{"excludeRewound": {"true"}, "order": {"desc"}}
	wanted, limited := math.MaxInt, limits.Has("numRecentEvents")
	if limited {
		if wanted, err = strconv.Atoi(limits.Get("numRecentEvents")); err != nil {
			return nil, 0, err
		}
	}
	var after time.Time
	if limits.Has("afterTimestamp") {
		if after, err = time.Parse(time.RFC3339Nano, limits.Get("afterTimestamp")); err != nil {
			return nil, 0, err
		}
		if !limited {
			query.Set("afterTimestamp", limits.Get("afterTimestamp"))
		}
	}
	for first := true; ; first = false {
		query.Set("pageSize", strconv.Itoa(max(1, min(pageSize, wanted-len(events)))))
		answer, err := s.client.send(ctx, request{method: http.MethodGet, path: path + "/events", query: query})
		if err != nil {
			return nil, 0, err
		}
		var page struct {
			Events        []json.RawMessage `json:"events"`
			Revision      int64             `json:"revision"`
			NextPageToken string            `json:"nextPageToken"`
		}
		if err := decode(answer, &page); err != nil {
			return nil, 0, err
		}
		// The later pages are about what was there at the first one.
		if first {
			revision = page.Revision
		}
		for _, event := range page.Events {
			events = append(events, decodeEvent(event, id, s.client.logger))
		}
		if page.NextPageToken == "" || len(events) >= wanted {
			break
		}
		query.Set("pageToken", page.NextPageToken)
	}
	events = events[:min(len(events), wanted)]
	slices.Reverse(events)
	early := func(event *session.Event) bool { return event.Timestamp.Before(after) }
	return slices.DeleteFunc(events, early), revision, nil
}

func (s *Service) read(ctx context.Context, r request) (*stored, error) {
	answer, err := s.client.send(ctx, r)
	if err != nil {
		return nil, err
	}
	var found wireSession
	if err := decode(answer, &found); err != nil {
		return nil, err
	}
	return found.session(s), nil
}

// How many sessions a page of a list has; the most that sessiond gives.
const pageSize = 1000

func (s *stored) path() string { return sessionPath(s.appName, s.userID, s.id) }

func sessionsPath(app, user string) string {
	return userPath(app, user) + "/sessions"
}

func userPath(app, user string) string { return "/v1/apps" + segments(app) + "/users" + segments(user) }

func sessionPath(app, user, id string) string { return sessionsPath(app, user) + segments(id) }

// own returns a session that one of the services of this package gave.
func own(cur session.Session) (*stored, error) {
	target, ok := cur.(*stored)
	if !ok {
		return nil, fmt.Errorf("sessiond: the session is a %T, which does not come from sessiond", cur)
	}
	return target, nil
}

func decode(answer *reply, into any) error {
	if err := json.Unmarshal(answer.body, into); err != nil {
		return fmt.Errorf("sessiond: the answer is not sessiond's: %w", err)
	}
	return nil
}

// What names are of.
const ofApp, ofUser, ofSession, ofFile = "name of the app", "id of the user", "id of the session", "name of the file"

// checkNames returns an error for what is no name: nothing is sent under it. Further names are pairs of what they are of,
// and the name. White space around the id of a session is no part of it.
func checkNames(app, user string, further ...string) error {
	pairs := append([]string{ofApp, app, ofUser, user}, further...)
	for i := 0; i < len(pairs); i += 2 {
		name := pairs[i+1]
		if pairs[i] == ofSession {
			name = strings.TrimSpace(name)
		}
		if why := faultOf(name); why != "" {
			return refused(pairs[i], why)
		}
	}
	return nil
}

// faultOf says why this is no name; "" if it is one. A name is a segment of a path.
func faultOf(name string) string {
	switch {
	case !utf8.ValidString(name):
		return "is no text in UTF-8"
	case name == "":
		return "is empty"
	case name == "." || name == "..":
		return fmt.Sprintf("is %q, which would address another path", name)
	}
	return ""
}

// refused is the error for what is not sent.
func refused(what, why string) error {
	return &Error{Code: "invalid_argument", Outcome: "not_applied", Detail: fmt.Sprintf("The %s %s.", what, why)}
}
