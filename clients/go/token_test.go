package sessiond

import (
	"context"
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"google.golang.org/adk/v2/session"
)

func ask(t *testing.T, s *Service) error {
	t.Helper()
	_, err := s.Get(t.Context(), &session.GetRequest{AppName: "a", UserID: "u", SessionID: "s"})
	return err
}

func TestTheTokenOfTheEnvironment(t *testing.T) {
	address := stub(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer right" {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		_, _ = io.WriteString(w, emptySession)
	})
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

func TestATokenSourceThatFailsIsTheCause(t *testing.T) {
	broken := errors.New("the vault is closed")
	source := func(context.Context) (string, error) { return "hunter2", broken }
	err := ask(t, serviceAt(t, shared.url(), WithTokenSource(source)))
	if !errors.Is(err, broken) || !errors.Is(err, ErrDenied) || strings.Contains(err.Error(), "hunter2") {
		t.Fatal(err)
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
