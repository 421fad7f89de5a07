package sessiond

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"go.opentelemetry.io/otel/trace"
	"google.golang.org/adk/v2/session"
)

const emptySession = `{"id":"s","appName":"a","userId":"u","revision":0,"createTime":1,"lastUpdateTime":1,"state":{},"events":[]}`

func TestALostAnswerLosesAndDoublesNothing(t *testing.T) {
	p := newProxy(t)
	s, direct, app := serviceAt(t, p.url(), WithConcurrency(ConcurrencyLease)), service(t), app()
	lose := func(what string, call func()) {
		t.Helper()
		p.losses.Store(1)
		call()
		if p.losses.Load() >= 1 {
			t.Fatal("no answer was lost:", what)
		}
	}
	var one session.Session
	lose("create", func() { one = create(t, s, app, "u", "s", map[string]any{"n": 1}) })
	lose("create without an id", func() { create(t, s, app, "v", "", nil) })
	lose("lease", func() { add(t, s, one, "e", map[string]any{"app:k": "v"}) })
	lose("append", func() { add(t, s, one, "f", map[string]any{"app:k": "w"}) })
	lose("increment", func() {
		values, err := s.Apply(t.Context(), one, Change{Ops: []Op{{"increment", "n", 1}}})
		if err != nil {
			t.Fatal(err)
		}
		equal(t, values, map[string]any{"n": 2.0})
	})
	lose("get", func() { load(t, s, one) })
	found := load(t, direct, one)
	equal(t, stateOf(found), map[string]any{"n": 2.0, "app:k": "w"})
	equal(t, idsOf(found), idsOf(one))
	equal(t, one.Events().Len(), 3)
	listed, err := direct.List(t.Context(), &session.ListRequest{AppName: app})
	if err != nil {
		t.Fatal(err)
	}
	equal(t, len(listed.Sessions), 2)
	lose("delete", func() { remove(t, s, one) })
}

func TestAnAppendOfWhichNothingIsKnownCanBeRepeated(t *testing.T) {
	t.Parallel() // it mostly waits
	p := newProxy(t)
	s := serviceAt(t, p.url(), WithConcurrency(ConcurrencySession))
	one := create(t, s, app(), "u", "s", nil)
	p.losses.Store(1 << 20)
	appended := event("e", map[string]any{"k": "v", "temp:t": "v"})
	err := s.AppendEvent(t.Context(), one, appended)
	var failure *Error
	if !errors.As(err, &failure) || failure.Outcome != "unknown" || failure.Attempts != 5 || failure.Elapsed <= 0 ||
		failure.Status != 0 || failure.URL != p.url()+one.(*stored).path()+"/events" || failure.Err == nil {
		t.Fatal(err)
	}
	for _, part := range []string{"POST", failure.URL, "5 attempts", "unknown"} {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("%q does not say %s", err, part)
		}
	}
	equal(t, one.Events().Len()+len(stateOf(one)), 0)
	p.losses.Store(0)
	if err := s.AppendEvent(t.Context(), one, appended); err != nil {
		t.Fatal(err)
	}
	equal(t, stateOf(one), map[string]any{"k": "v", "temp:t": "v"})
	equal(t, idsOf(one), []string{"e"})
	add(t, s, one, "f", nil)
	equal(t, idsOf(load(t, s, one)), []string{"e", "f"})
}

func TestAServerThatIsAway(t *testing.T) {
	t.Parallel() // it mostly waits
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := "http://" + listener.Addr().String()
	_ = listener.Close()
	s := serviceAt(t, address)
	_, err = s.Create(t.Context(), &session.CreateRequest{AppName: "a", UserID: "u"})
	var failure *Error
	if !errors.As(err, &failure) || !errors.Is(err, syscall.ECONNREFUSED) || failure.Outcome != "not_applied" ||
		failure.Attempts != 5 || !strings.Contains(err.Error(), address) {
		t.Fatal(err)
	}
}

func TestASilentServer(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	s := serviceAt(t, "http://"+listener.Addr().String(), WithTimeout(20*time.Millisecond), WithRetry(2, time.Minute))
	_, err = s.Create(t.Context(), &session.CreateRequest{AppName: "a", UserID: "u"})
	var failure *Error
	if !errors.As(err, &failure) || !errors.Is(err, context.DeadlineExceeded) || failure.Outcome != "unknown" || failure.Attempts != 2 {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	patient := serviceAt(t, "http://"+listener.Addr().String())
	time.AfterFunc(10*time.Millisecond, cancel)
	_, err = patient.Get(ctx, &session.GetRequest{AppName: "a", UserID: "u", SessionID: "s"})
	if !errors.As(err, &failure) || !errors.Is(err, context.Canceled) || failure.Outcome != "" || failure.Attempts != 1 {
		t.Fatal(err)
	}
}

func TestAServerThatRestarts(t *testing.T) {
	server := ownServer(t)
	s := serviceAt(t, server.url(), WithRetry(100, time.Minute))
	one := create(t, s, app(), "u", "s", nil)
	add(t, s, one, "a", nil)
	server.signal("KILL")
	started := make(chan error)
	go func() { started <- server.start() }()
	add(t, s, one, "b", nil)
	if err := <-started; err != nil {
		t.Fatal(err)
	}
	equal(t, idsOf(load(t, s, one)), []string{"a", "b"})
}

func TestWhatIsTriedAgain(t *testing.T) {
	t.Parallel() // it mostly waits
	problem := func(status int, outcome string) string {
		return fmt.Sprintf(`{"status":%d,"code":"c","detail":"d","outcome":%q,"requestId":"r"}`, status, outcome)
	}
	for _, c := range []struct {
		status   int
		header   string
		body     string
		attempts int
		outcome  string
	}{
		{503, "", problem(503, "not_applied"), 3, "not_applied"},
		{503, "", problem(503, "unknown"), 3, "unknown"},
		{429, "0", problem(429, "not_applied"), 3, "not_applied"},
		{500, "", problem(500, "unknown"), 3, "unknown"},
		{502, "", "<html>", 3, "unknown"},
		{504, "", "", 3, "unknown"},
		{500, "", problem(500, "not_applied"), 1, "not_applied"},
		{422, "", problem(422, "not_applied"), 1, "not_applied"},
		{403, "", problem(403, "not_applied"), 1, "not_applied"},
		{404, "", "<html>", 1, ""},
		{302, "", "", 1, ""},
		{200, "", "<html>", 1, ""},
		// Longer than it is tried for: nobody waits in vain.
		{503, "3600", problem(503, "not_applied"), 1, "not_applied"},
		{503, "Fri, 01 Jan 2100 00:00:00 GMT", problem(503, "not_applied"), 1, "not_applied"},
		{503, "nonsense", problem(503, "not_applied"), 3, "not_applied"},
	} {
		var asked atomic.Int32
		s := serviceAt(t, stub(t, func(w http.ResponseWriter, r *http.Request) {
			asked.Add(1)
			if c.header != "" {
				w.Header().Set("Retry-After", c.header)
			}
			if c.status == 302 {
				w.Header().Set("Location", "/elsewhere")
			}
			w.WriteHeader(c.status)
			_, _ = io.WriteString(w, c.body)
		}), WithRetry(3, time.Minute))
		_, err := s.Create(t.Context(), &session.CreateRequest{AppName: "a", UserID: "u", SessionID: "s"})
		var failure *Error
		if !errors.As(err, &failure) {
			t.Fatal(c, err)
		}
		equal(t, []any{failure.Attempts, int(asked.Load()), failure.Outcome, failure.Status},
			[]any{c.attempts, c.attempts, c.outcome, c.status})
		if strings.HasPrefix(c.body, "{") {
			equal(t, []string{failure.Code, failure.Detail, failure.RequestID}, []string{"c", "d", "r"})
		}
	}
}

func TestWhatRequestsCarry(t *testing.T) {
	var seen http.Header
	var log bytes.Buffer
	asked := 0
	s := serviceAt(t, stub(t, func(w http.ResponseWriter, r *http.Request) {
		seen = r.Header
		if asked++; asked == 1 {
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		_, _ = io.WriteString(w, emptySession)
	}), WithToken(" hunter2\n"), WithLogger(slog.New(slog.NewTextHandler(&log, nil))))
	span := trace.NewSpanContext(trace.SpanContextConfig{TraceID: trace.TraceID{1}, SpanID: trace.SpanID{2}, TraceFlags: 1})
	ctx := trace.ContextWithSpanContext(t.Context(), span)
	_, err := s.Get(ctx, &session.GetRequest{AppName: "a", UserID: "u", SessionID: "s", NumRecentEvents: 7})
	if err != nil {
		t.Fatal(err)
	}
	equal(t, seen.Get("Traceparent"), "00-01000000000000000000000000000000-0200000000000000-01")
	equal(t, seen.Get("User-Agent"), "sessiond-go/"+Version)
	equal(t, seen.Get("Authorization"), "Bearer hunter2")
	if said := log.String(); !strings.Contains(said, "attempt=1") || !strings.Contains(said, "/v1/apps/a/users/u/sessions/s") ||
		strings.Contains(said, "hunter2") || strings.Contains(said, "numRecentEvents") {
		t.Fatal(said)
	}
	if _, err := s.Get(t.Context(), &session.GetRequest{AppName: "a", UserID: "u", SessionID: "s"}); err != nil {
		t.Fatal(err)
	}
	equal(t, seen.Values("Traceparent"), []string(nil))
}
