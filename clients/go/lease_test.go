package sessiond

import (
	"context"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/adk/v2/session"
)

func leased(t *testing.T, options ...Option) *Service {
	t.Helper()
	return service(t, append([]Option{WithConcurrency(ConcurrencyLease)}, options...)...)
}

func of(invocation, id string) *session.Event {
	return &session.Event{ID: id, Author: "a", InvocationID: invocation,
		Actions: session.EventActions{StateDelta: map[string]any{"last": id}}}
}

func appendAll(t *testing.T, s *Service, to session.Session, events ...*session.Event) {
	t.Helper()
	for _, one := range events {
		check(t, s.AppendEvent(t.Context(), to, one))
	}
}

// waiting is closed when the service has asked for a lease that waits.
func waiting(s *Service) <-chan struct{} {
	asked := make(chan struct{})
	var once atomic.Bool
	inner := s.client.http.Transport
	s.client.http.Transport = roundTripper(func(r *http.Request) (*http.Response, error) {
		if strings.HasSuffix(r.URL.Path, "/lease") && r.URL.Query().Has("wait") && once.CompareAndSwap(false, true) {
			close(asked)
		}
		return inner.RoundTrip(r)
	})
	return asked
}

func TestAnInvocationWaitsForTheTurnOfAnotherAndSeesWhatItDid(t *testing.T) {
	first, second := leased(t), leased(t)
	one := create(t, first, app(), "u", "s", nil)
	other := load(t, second, one)
	_ = other.State().Set("temp:mine", "v")
	appendAll(t, first, one, of("i1", "a"))
	asked := waiting(second)
	done := make(chan error)
	go func() { done <- second.AppendEvent(t.Context(), other, of("i2", "c")) }()
	<-asked
	appendAll(t, first, one, of("i1", "b"))
	// A side write between, which takes no turn.
	add(t, service(t), load(t, service(t), one), "side", nil)
	select {
	case err := <-done:
		t.Fatal("it did not wait: ", err)
	default:
	}
	check(t, first.Release(t.Context(), one))
	check(t, <-done)
	equal(t, idsOf(other), []string{"a", "b", "side", "c"})
	equal(t, stateOf(other), map[string]any{"last": "c", "temp:mine": "v"})
	equal(t, idsOf(load(t, second, one)), idsOf(other))
}

func TestASessionWithAGapCatchesUpInTheOrderOfTheStore(t *testing.T) {
	s := leased(t)
	one := create(t, s, app(), "u", "s", nil)
	appendAll(t, s, one, of("i1", "a"))
	add(t, service(t), load(t, service(t), one), "side", map[string]any{"k": "v"})
	appendAll(t, s, one, of("i1", "b"))
	equal(t, idsOf(one), []string{"a", "b"})
	appendAll(t, s, one, of("i2", "c"))
	equal(t, idsOf(one), []string{"a", "side", "b", "c"})
	equal(t, stateOf(one), map[string]any{"last": "c", "k": "v"})
}

func TestALeaseOfWhichNothingIsKnownIsItsOwners(t *testing.T) {
	p := newProxy(t)
	s := serviceAt(t, p.url(), WithConcurrency(ConcurrencyLease), WithLeaseWait(0), WithRetry(2, time.Minute))
	one := create(t, s, app(), "u", "s", nil)
	p.losses.Store(1 << 20)
	equal(t, failureOf(t, s.AppendEvent(t.Context(), one, of("i1", "a"))).Outcome, "unknown")
	p.losses.Store(0)
	appendAll(t, s, one, of("i1", "a"))
	equal(t, idsOf(load(t, s, one)), []string{"a"})
}

func TestAnInvocationThatDoesNotWaitIsToldWhoHasTheTurn(t *testing.T) {
	first, second := leased(t), leased(t, WithLeaseWait(0))
	one := create(t, first, app(), "u", "s", nil)
	appendAll(t, first, one, of("i1", "a"))
	other := load(t, second, one)
	err := second.AppendEvent(t.Context(), other, of("i2", "b"))
	is(t, err, ErrBusy)
	failure := failureOf(t, err)
	if failure.Code != "lease_held" || failure.Owner == "" || failure.ExpireTime.Before(time.Now().Add(-time.Minute)) {
		t.Fatal(err)
	}
	equal(t, idsOf(other), []string{"a"})
	// The same invocation on another object of the process is a turn of its own.
	is(t, second.AppendEvent(t.Context(), other, of("i1", "b")), ErrBusy)
}

func TestATurnThatWasSupersededStoresNothing(t *testing.T) {
	s := leased(t)
	one := create(t, s, app(), "u", "s", nil)
	appendAll(t, s, one, of("i1", "a"))
	path := strings.TrimPrefix(one.(*stored).path(), "/v1")
	if status, said := plainly(t, "POST", path+"/lease", `{"owner":"thief","steal":true}`); status != http.StatusCreated {
		t.Fatal(said)
	}
	for _, late := range []*session.Event{of("i1", "b"), of("i1", "c"), of("", "d")} {
		err := s.AppendEvent(t.Context(), one, late)
		is(t, err, ErrStale)
		failure := failureOf(t, err)
		equal(t, []string{failure.Code, failure.Outcome}, []string{"fenced", "not_applied"})
	}
	_, err := s.Apply(t.Context(), one, Change{Ops: []Op{{"increment", "n", 1}}, InvocationID: "i1"})
	is(t, err, ErrStale)
	equal(t, idsOf(load(t, s, one)), []string{"a"})
	if status, said := plainly(t, "DELETE", path+"/lease?epoch=2", ""); status != http.StatusNoContent {
		t.Fatal(said)
	}
	fresh := load(t, s, one)
	appendAll(t, s, fresh, of("i2", "e"), of("", "f"))
	equal(t, idsOf(load(t, s, one)), []string{"a", "e", "f"})
}

func TestWhatEndsATurn(t *testing.T) {
	for name, end := range map[string]func(s *Service, one session.Session, cancel func()){
		"the context": func(_ *Service, _ session.Session, cancel func()) { cancel() },
		"Close":       func(s *Service, _ session.Session, _ func()) { _ = s.Close() },
		"Release":     func(s *Service, one session.Session, _ func()) { _ = s.Release(context.Background(), one) },
		"another invocation": func(s *Service, one session.Session, _ func()) {
			_ = s.AppendEvent(context.Background(), one, of("i2", "b"))
			_ = s.Release(context.Background(), one)
		},
	} {
		t.Run(name, func(t *testing.T) {
			first, second := leased(t, WithLeaseTTL(15*time.Minute)), leased(t, WithLeaseWait(time.Minute))
			one := create(t, first, app(), "u", "s", nil)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			check(t, first.AppendEvent(ctx, one, of("i1", "a")))
			end(first, one, cancel)
			appendAll(t, second, load(t, second, one), of("i3", "c"))
			// It may not go on now.
			is(t, first.AppendEvent(t.Context(), one, of(one.Events().At(one.Events().Len()-1).InvocationID, "d")), ErrStale)
		})
	}
}

func TestEventsWithoutAnInvocationTakeNoTurn(t *testing.T) {
	first, second := leased(t), leased(t, WithLeaseWait(0))
	one := create(t, first, app(), "u", "s", nil)
	appendAll(t, first, one, of("", "a"))
	other := load(t, second, one)
	appendAll(t, second, other, of("i1", "b"))
	appendAll(t, first, one, of("", "c"))
	appendAll(t, second, other, of("i1", "d"))
	equal(t, idsOf(load(t, first, one)), []string{"a", "b", "c", "d"})
	status, said := plainly(t, "GET", strings.TrimPrefix(one.(*stored).path(), "/v1")+"/lease", "")
	if status != http.StatusOK || !strings.Contains(said, `"epoch":1,`) {
		t.Fatal(said)
	}
}

func TestASessionThatIsGoneHasNoLease(t *testing.T) {
	s := leased(t)
	one := create(t, s, app(), "u", "s", nil)
	appendAll(t, s, one, of("i1", "a"))
	remove(t, s, one)
	is(t, s.AppendEvent(t.Context(), one, of("i2", "b")), ErrNotFound)
	check(t, s.Close())
}

func TestAWaitThatTheServerEndsGoesOn(t *testing.T) {
	var waits []string
	s := serviceAt(t, stub(t, func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.Method == http.MethodPost && strings.HasSuffix(r.URL.Path, "/lease"):
			waits = append(waits, r.URL.Query().Get("wait"))
			if len(waits) < 4 {
				w.WriteHeader(http.StatusConflict)
				_, _ = io.WriteString(w, `{"code":"lease_held","owner":"other"}`)
				return
			}
			_, _ = io.WriteString(w, `{"epoch":7,"incarnation":"x","revision":0}`)
		case r.Method == http.MethodPost && strings.HasSuffix(r.URL.Path, "/events"):
			equal(t, r.Header.Get("Sessiond-Lease"), "7-x")
			_, _ = io.WriteString(w, `{"id":"a","sequence":1}`)
		case r.Method == http.MethodDelete:
			equal(t, r.URL.Query().Encode(), "epoch=7&incarnation=x")
			w.WriteHeader(http.StatusNoContent)
		default:
			_, _ = io.WriteString(w, emptySession)
		}
	}), WithConcurrency(ConcurrencyLease), WithLeaseWait(time.Hour))
	appendAll(t, s, create(t, s, "a", "u", "s", nil), of("i1", "a"))
	equal(t, waits, []string{"", "30", "30", "30"})
	check(t, s.Close())
}
