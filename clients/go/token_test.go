package sessiond

import (
	"context"
	"errors"
	"io"
	"net/http"
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
	check(t, ask(t, serviceAt(t, address)))
	for _, option := range []Option{WithToken(""), WithToken("wrong")} {
		is(t, ask(t, serviceAt(t, address, option)), ErrDenied)
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
