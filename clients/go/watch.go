package sessiond

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"log/slog"
	"math/rand/v2"
	"mime"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"google.golang.org/adk/v2/session"
)

// Three of the heartbeats (15 s) that sessiond sends.
const silence = 45 * time.Second

// The pause before the first attempt to come back, doubled for each further one up to the second number.
const comeback, longestComeback = time.Second, 30 * time.Second

// WatchRequest says what [Service.Watch] follows.
type WatchRequest struct {
	AppName, UserID, SessionID string
	// After is the place to begin behind: the cursor of an [Item], the number of an event, or "now" for what is still
	// to come. If empty, the whole log is yielded.
	After string
	// IncludeState asks for [StateChange] items.
	IncludeState bool
}

// Item is what a watch yields: an [EventItem], [CaughtUp], [StateChange], [MetadataChange] or [Deleted].
type Item interface {
	// Cursor is the place in the log: a watch with it as After goes on behind what was yielded so far. Store it when the
	// item has had its effect.
	Cursor() string
}

type place string

func (p place) Cursor() string { return string(p) }

// EventItem is an event of the session. Each comes once, in the order of the log.
type EventItem struct {
	place
	// Event is as Get would show it.
	Event *session.Event
	// Sequence is its number in the log, from 1 on.
	Sequence int64
	// CommitTime is when it was stored, by the server's clock.
	CommitTime time.Time
}

// CaughtUp says that all that was stored when the connection was made has been yielded; what follows is new. It comes
// again after each reconnect, and after a burst of more than a page.
type CaughtUp struct {
	place
	// Revision is the number of the last event.
	Revision int64
}

// StateChange is the merged state, just before [CaughtUp], and then what changes in app and user state. The state of the
// session itself changes with the StateDelta of its events.
type StateChange struct {
	place
	// State is the whole merged state, in place of what was known; nil if this is a change.
	State map[string]any
	// Set has what changed, and Removed the keys that are gone, with their prefix.
	Set     map[string]any
	Removed []string
	// Revisions are those of the session, the user state and the app state, and the session's incarnation, as in the
	// ETag.
	Revisions string
}

// MetadataChange has the metadata of the session: once before [CaughtUp], then when it has changed.
type MetadataChange struct {
	place
	DisplayName string
	Labels      map[string]string
	// ExpireTime is when the session expires; zero if never.
	ExpireTime time.Time
}

// Deleted says that the session is gone, or was made anew. Nothing follows.
type Deleted struct {
	place
	// Reason is deleted, expired, retention or erased; other words may come.
	Reason string
}

// Watch follows a session: it yields what is there, and then each event as it is committed, by whichever process.
//
// Each event comes once and in order, also if the connection breaks, brings nothing for 45 s, or sessiond restarts: then
// the watch comes back by itself and goes on behind the last one. It pauses in between as the server asks, else for up to
// 1 s, doubled up to 30 s, at random. Only [CaughtUp], [MetadataChange] and a whole [StateChange] come again after that.
// A watch has a connection of its own, which is closed when the loop ends; a slow reader loses nothing.
//
// It ends after [Deleted], when the caller leaves the loop, or with an error, which comes with a nil Item:
// [ErrNotFound]; [ErrPositionGone]; [ErrDenied], after the token source was asked again; another [*Error], if an argument
// breaks a rule of sessiond; the error of the context.
func (s *Service) Watch(ctx context.Context, req *WatchRequest) iter.Seq2[Item, error] {
	return func(yield func(Item, error) bool) {
		if err := checkNames(req.AppName, req.UserID, ofSession, req.SessionID); err != nil {
			yield(nil, err)
			return
		}
		w := &watch{
			service:   s,
			sessionID: strings.TrimSpace(req.SessionID),
			request: request{
				method: http.MethodGet,
				path:   sessionPath(req.AppName, req.UserID, req.SessionID) + "/watch",
				query:  url.Values{},
				header: map[string]string{"Accept": "text/event-stream"},
			},
			cursor: req.After,
			retry:  s.comeback,
		}
		if req.IncludeState {
			w.request.query.Set("include", "state")
		}
		for {
			again, err := w.connection(ctx, yield)
			if !again {
				if err != nil {
					yield(nil, err)
				}
				return
			}
			pause := w.pause()
			level := slog.LevelInfo
			if err != nil {
				level = slog.LevelWarn
			}
			s.client.logger.Log(ctx, level, "sessiond: a watch comes back", "url", s.client.base+w.request.path,
				"pause", pause, "error", err)
			select {
			case <-time.After(pause):
			case <-ctx.Done():
				yield(nil, ctx.Err())
				return
			}
		}
	}
}

type watch struct {
	service   *Service
	sessionID string
	request   request
	cursor    string
	// For how long to pause, and whether the server has said so.
	retry   time.Duration
	asked   bool
	atLeast time.Duration
	// Attempts since the last item.
	failures int
}

// errStopped: the caller has left the loop.
var errStopped = errors.New("stopped")

// connection yields what one connection brings. It tells whether to come back, and why the connection ended, nil if the
// server or the caller ended it.
func (w *watch) connection(parent context.Context, yield func(Item, error) bool) (again bool, reason error) {
	client := w.service.client
	ctx, cancel := context.WithCancelCause(parent)
	defer cancel(nil)
	quiet := fmt.Errorf("nothing came for %v", w.service.silence)
	alarm := time.AfterFunc(client.timeout, func() { cancel(fmt.Errorf("no answer within %v", client.timeout)) })
	defer func() { alarm.Stop() }()
	w.atLeast = 0
	if w.cursor != "" {
		w.request.query.Set("afterSequence", w.cursor)
	}

	response, failure := client.open(ctx, w.request, payload{}, func() {})
	switch {
	case parent.Err() != nil:
		return false, parent.Err()
	case failure != nil && errors.Is(failure, ErrDenied):
		failure.Attempts = 1
		return false, failure
	case failure != nil:
		return true, because(ctx, failure)
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode != http.StatusOK {
		body, err := io.ReadAll(response.Body)
		if err != nil {
			return parent.Err() == nil, because(ctx, err)
		}
		failure := client.refusal(w.request, response.StatusCode, body)
		failure.Attempts = 1
		w.atLeast = retryAfterOf(response.Header)
		return tryAgain(failure), failure
	}
	if kind, _, _ := mime.ParseMediaType(response.Header.Get("Content-Type")); kind != "text/event-stream" {
		return false, errors.New("sessiond: the answer to a watch is not sessiond's")
	}

	alarm.Stop()
	alarm = time.AfterFunc(w.service.silence, func() { cancel(quiet) })
	err := frames(response.Body, w, func() { alarm.Reset(w.service.silence) }, func(f frame) error {
		item, err := w.item(f)
		if err != nil || item == nil {
			return err
		}
		// The caller may take its time.
		alarm.Stop()
		w.cursor, w.failures = item.Cursor(), 0
		if !yield(item, nil) {
			return errStopped
		}
		if _, gone := item.(Deleted); gone {
			return errStopped
		}
		alarm.Reset(w.service.silence)
		return nil
	})
	var malformed *malformedError
	switch {
	case err == errStopped:
		return false, nil
	case parent.Err() != nil:
		return false, parent.Err()
	case errors.As(err, &malformed):
		return false, err
	case err == io.EOF:
		return true, nil
	}
	return true, because(ctx, err)
}

// because returns why the context of a connection was cancelled, if it was.
func because(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

// pause returns for how long to wait before coming back.
func (w *watch) pause() time.Duration {
	limit := min(w.retry<<w.failures, max(w.retry, longestComeback))
	pause := limit
	// The server has spread the time for which it asks.
	if !w.asked || w.failures > 0 {
		pause = rand.N(limit + 1)
	}
	w.failures = min(w.failures+1, 8)
	return max(pause, w.atLeast)
}

// item returns what a frame says; nil if it is of a kind that this version does not know.
func (w *watch) item(f frame) (Item, error) {
	at := place(f.id)
	if f.id == "" {
		at = place(w.cursor)
	}
	var said struct {
		wireEvent
		Revision    int64             `json:"revision"`
		Revisions   string            `json:"revisions"`
		State       map[string]value  `json:"state"`
		Set         map[string]value  `json:"set"`
		Removed     []string          `json:"removed"`
		DisplayName string            `json:"displayName"`
		Labels      map[string]string `json:"labels"`
		ExpireTime  *float64          `json:"expireTime"`
		Reason      string            `json:"reason"`
	}
	var into any = &said
	switch f.name {
	case "event":
		into = &said.wireEvent
	case "caught_up", "state", "metadata", "deleted":
	default:
		return nil, nil
	}
	if err := json.Unmarshal(f.data, into); err != nil {
		return nil, &malformedError{f.name, err}
	}
	switch f.name {
	case "event":
		return EventItem{
			place:      at,
			Event:      decodeEvent(f.data, w.sessionID, w.service.client.logger),
			Sequence:   said.Sequence,
			CommitTime: unixTime(said.CommitTime),
		}, nil
	case "caught_up":
		return CaughtUp{at, said.Revision}, nil
	case "state":
		return StateChange{at, plain(said.State), plain(said.Set), said.Removed, said.Revisions}, nil
	case "metadata":
		change := MetadataChange{place: at, DisplayName: said.DisplayName, Labels: said.Labels}
		if said.ExpireTime != nil {
			change.ExpireTime = unixTime(*said.ExpireTime)
		}
		return change, nil
	}
	return Deleted{at, said.Reason}, nil
}

type malformedError struct {
	frame string
	err   error
}

func (e *malformedError) Error() string {
	return fmt.Sprintf("sessiond: the stream has a frame %s that is not sessiond's: %v", e.frame, e.err)
}

func (e *malformedError) Unwrap() error { return e.err }

// frame is a server-sent event.
type frame struct {
	name, id string
	data     []byte
}

// frames takes each frame of a stream, until the stream ends, which is io.EOF, or it cannot be read, or take fails. What
// comes after the last end of a frame is none: the stream was cut there.
func frames(stream io.Reader, w *watch, alive func(), take func(frame) error) error {
	lines := bufio.NewReader(&reader{stream, alive})
	var next frame
	for {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			return err
		}
		line = bytes.TrimRight(line, "\r\n")
		if len(line) == 0 {
			if next.data != nil {
				if err := take(next); err != nil {
					return err
				}
			}
			next = frame{}
			continue
		}
		// A line that begins with a colon is a comment: it has the field "", which means nothing.
		name, text, _ := bytes.Cut(line, []byte(":"))
		text = bytes.TrimPrefix(text, []byte(" "))
		switch string(name) {
		case "event":
			next.name = string(text)
		case "id":
			next.id = string(text)
		case "data":
			if next.data != nil {
				next.data = append(next.data, '\n')
			}
			next.data = append(next.data, text...)
		case "retry":
			if ms, err := strconv.Atoi(string(text)); err == nil && ms >= 0 && ms <= 86_400_000 {
				w.retry, w.asked = time.Duration(ms)*time.Millisecond, true
			}
		}
	}
}

// reader tells of each read that brings something.
type reader struct {
	io.Reader
	alive func()
}

func (r *reader) Read(into []byte) (int, error) {
	n, err := r.Reader.Read(into)
	if n > 0 {
		r.alive()
	}
	return n, err
}
