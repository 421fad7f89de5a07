package sessiond

import (
	"context"
	"errors"
	"iter"
	"net/http"
	"strings"
	"testing"
	"time"

	"google.golang.org/adk/v2/session"
)

func watchOf(one session.Session) *WatchRequest {
	return &WatchRequest{AppName: one.AppName(), UserID: one.UserID(), SessionID: one.ID()}
}

// next pulls items until there is one of the kind.
func next[T Item](t *testing.T, pull func() (Item, error, bool)) T {
	t.Helper()
	for {
		item, err, ok := pull()
		if err != nil || !ok {
			t.Fatal(err, ok)
		}
		if found, right := item.(T); right {
			return found
		}
	}
}

// follow begins a watch that ends with the test, or fails it if it takes too long.
func follow(t *testing.T, s *Service, req *WatchRequest) func() (Item, error, bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	pull, stop := iter.Pull2(s.Watch(ctx, req))
	t.Cleanup(func() {
		cancel()
		stop()
	})
	return pull
}

func TestAWatchYieldsTheLogAndThenWhatIsNew(t *testing.T) {
	s := service(t)
	one := create(t, s, app(), "u", "s", nil)
	first := add(t, s, one, "a", map[string]any{"n": 1 << 60})
	pull := follow(t, s, watchOf(one))
	item := next[EventItem](t, pull)
	equal(t, jsonOf(t, item.Event), jsonOf(t, load(t, s, one).Events().At(0)))
	if item.Sequence != 1 || !item.Event.Timestamp.Equal(first.Timestamp) || time.Since(item.CommitTime).Abs() > time.Hour {
		t.Fatalf("%+v", item)
	}
	equal(t, next[MetadataChange](t, pull).DisplayName, "")
	equal(t, next[CaughtUp](t, pull).Revision, int64(1))
	add(t, s, one, "b", nil)
	later := next[EventItem](t, pull)
	equal(t, later.Event.ID, "b")

	for after, want := range map[string]string{item.Cursor(): "b", "1": "b", "now": "c", "0": "a", later.Cursor(): "c"} {
		request := watchOf(one)
		request.After = after
		pull := follow(t, s, request)
		if want == "c" {
			equal(t, next[CaughtUp](t, pull).Revision, int64(2))
			add(t, s, one, "c", nil)
		}
		equal(t, next[EventItem](t, pull).Event.ID, want)
		if want == "c" {
			return
		}
	}
}

func TestAWatchYieldsStateAndMetadataAndTheEnd(t *testing.T) {
	s := service(t)
	one := create(t, s, app(), "u", "s", map[string]any{"app:n": 9007199254740992, "k": "v"})
	request := watchOf(one)
	request.IncludeState = true
	pull := follow(t, s, request)
	whole := next[StateChange](t, pull)
	equal(t, whole.State, map[string]any{"app:n": 9007199254740992.0, "k": "v"})
	next[CaughtUp](t, pull)
	must(s.Apply(t.Context(), one, Change{Ops: []Op{{"increment", "app:n", 1}}}))
	change := next[StateChange](t, pull)
	equal(t, jsonOf(t, change.Set), `{"app:n":9007199254740993}`)
	equal(t, change.State == nil, true)
	if change.Revisions == whole.Revisions || change.Revisions == "" {
		t.Fatal(change.Revisions)
	}
	must(s.Apply(t.Context(), one, Change{Ops: []Op{{Op: "remove", Key: "app:n"}}}))
	equal(t, next[StateChange](t, pull).Removed, []string{"app:n"})
	status, said := plainly(t, "PATCH", strings.TrimPrefix(one.(*stored).path(), "/v1"), `{"displayName":"d","labels":{"l":"x"},"ttl":3600}`)
	if status != http.StatusOK {
		t.Fatal(said)
	}
	metadata := next[MetadataChange](t, pull)
	equal(t, []any{metadata.DisplayName, metadata.Labels, metadata.ExpireTime.After(time.Now())}, []any{"d", map[string]string{"l": "x"}, true})
	remove(t, s, one)
	equal(t, next[Deleted](t, pull).Reason, "deleted")
	if item, err, ok := pull(); ok {
		t.Fatal(item, err)
	}
}

func TestWhatEndsAWatch(t *testing.T) {
	s := service(t)
	one := create(t, s, app(), "u", "s", nil)
	add(t, s, one, "a", nil)
	old := next[EventItem](t, follow(t, s, watchOf(one))).Cursor()
	remove(t, s, one)
	gone := watchOf(one)
	one = create(t, s, one.AppName(), "u", "s2", nil)
	create(t, s, one.AppName(), "v", "s", nil)
	anew := *gone
	anew.UserID, anew.After = "v", old
	beyond := watchOf(one)
	beyond.After = "99"
	wrong := watchOf(one)
	wrong.After = "nonsense"
	for i, c := range []struct {
		request *WatchRequest
		status  int
		is      error
	}{
		{gone, 404, ErrNotFound}, {&anew, 410, ErrPositionGone}, {beyond, 410, ErrPositionGone}, {wrong, 422, nil},
	} {
		rounds := 0
		for item, err := range s.Watch(t.Context(), c.request) {
			var failure *Error
			if rounds++; item != nil || !errors.As(err, &failure) || failure.Status != c.status || c.is != nil && !errors.Is(err, c.is) {
				t.Fatal(i, item, err)
			}
		}
		equal(t, rounds, 1)
	}
	for _, err := range s.Watch(t.Context(), &WatchRequest{}) {
		if err == nil {
			t.Fatal("a watch of nothing")
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	pull, stop := iter.Pull2(s.Watch(ctx, watchOf(one)))
	defer stop()
	next[CaughtUp](t, pull)
	cancel()
	if item, err, ok := pull(); !ok || item != nil || !errors.Is(err, context.Canceled) {
		t.Fatal(item, err)
	}
}
