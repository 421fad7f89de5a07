package sessiond

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/adk/v2/session"
)

// gate answers who shows the token that it takes, and refuses others.
type gate struct {
	taken    atomic.Value
	requests atomic.Int32
	refusals atomic.Int32
}

func (g *gate) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	g.requests.Add(1)
	if r.Header.Get("Authorization") != "Bearer "+g.taken.Load().(string) {
		g.refusals.Add(1)
		w.WriteHeader(http.StatusUnauthorized)
		_, _ = io.WriteString(w, `{"status":401,"code":"unauthenticated","detail":"no valid token","outcome":"not_applied"}`)
		return
	}
	_, _ = io.WriteString(w, emptySession)
}

func ask(t *testing.T, s *Service) error {
	t.Helper()
	_, err := s.Get(t.Context(), &session.GetRequest{AppName: "a", UserID: "u", SessionID: "s"})
	return err
}

func TestATokenSourceIsAskedOnceForAllWhoWait(t *testing.T) {
	g := &gate{}
	g.taken.Store("t1")
	var calls atomic.Int32
	s := serviceAt(t, stub(t, g.ServeHTTP), WithTokenSource(func(context.Context) (string, error) {
		token := fmt.Sprintf("t%d\n", calls.Add(1))
		// The others may come meanwhile.
		time.Sleep(100 * time.Millisecond)
		return token, nil
	}))
	together := func() {
		t.Helper()
		var all sync.WaitGroup
		for range 20 {
			all.Go(func() {
				if err := ask(t, s); err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
	}
	together()
	equal(t, []int32{calls.Load(), g.requests.Load()}, []int32{1, 20})
	g.taken.Store("t2")
	together()
	// Each was refused once at most.
	if calls.Load() != 2 || g.refusals.Load() > 20 || g.requests.Load() != 40+g.refusals.Load() {
		t.Fatal(calls.Load(), g.refusals.Load(), g.requests.Load())
	}
}

func TestARefusedTokenIsAnErrorThatDoesNotShowIt(t *testing.T) {
	g := &gate{}
	g.taken.Store("right")
	address := stub(t, g.ServeHTTP)
	calls := 0
	broken := errors.New("the vault is closed")
	for name, c := range map[string]struct {
		option   Option
		requests int32
	}{
		"value":  {WithToken("hunter2"), 1},
		"source": {WithTokenSource(func(context.Context) (string, error) { calls++; return "hunter2", nil }), 2},
		"none":   {WithToken(""), 1},
		"form":   {WithTokenSource(func(context.Context) (string, error) { return "hunter2 ä", nil }), 0},
		"failed": {WithTokenSource(func(context.Context) (string, error) { return "hunter2", broken }), 0},
	} {
		g.requests.Store(0)
		err := ask(t, serviceAt(t, address, c.option))
		var failure *Error
		if !errors.Is(err, ErrDenied) || !errors.As(err, &failure) || failure.Attempts != 1 ||
			strings.Contains(fmt.Sprintf("%v %+v", err, failure), "hunter2") {
			t.Errorf("%s: %v", name, err)
		}
		if name == "failed" && !errors.Is(err, broken) || name == "none" && !strings.Contains(err.Error(), "SESSIOND_TOKEN") {
			t.Errorf("%s: %v", name, err)
		}
		if g.requests.Load() != c.requests {
			t.Errorf("%s: %d requests", name, g.requests.Load())
		}
	}
	equal(t, calls, 2)
}

func TestTheTokenOfTheEnvironment(t *testing.T) {
	g := &gate{}
	g.taken.Store("right")
	address := stub(t, g.ServeHTTP)
	t.Setenv("SESSIOND_TOKEN", "right")
	if err := ask(t, serviceAt(t, address)); err != nil {
		t.Fatal(err)
	}
	for _, option := range []Option{WithToken(""), WithToken("wrong")} {
		if err := ask(t, serviceAt(t, address, option)); !errors.Is(err, ErrDenied) {
			t.Fatal(err)
		}
	}
}

func TestAServerThatAsksForACredential(t *testing.T) {
	key := filepath.Join(t.TempDir(), "key")
	secret := strings.Repeat("k", 32)
	if err := os.WriteFile(key, []byte(secret), 0o600); err != nil {
		t.Fatal(err)
	}
	server := ownServer(t, "--admin-key-file", key)
	s := serviceAt(t, server.url(), WithTokenSource(func(context.Context) (string, error) {
		text, err := os.ReadFile(key)
		return string(text), err
	}))
	one := create(t, s, app(), "u", "s", nil)
	add(t, s, one, "e", nil)
	for item, err := range s.Watch(t.Context(), watchOf(one)) {
		if err != nil {
			t.Fatal(err)
		}
		if _, caughtUp := item.(CaughtUp); caughtUp {
			break
		}
	}
	none := serviceAt(t, server.url())
	if err := none.AppendEvent(t.Context(), one, event("f", nil)); !errors.Is(err, ErrDenied) {
		t.Fatal(err)
	}
	for item, err := range none.Watch(t.Context(), watchOf(one)) {
		if item != nil || !errors.Is(err, ErrDenied) {
			t.Fatal(item, err)
		}
	}
	equal(t, idsOf(load(t, s, one)), []string{"e"})
}
