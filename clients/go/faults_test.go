package sessiond

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
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
	p := newProxy(t)
	s := serviceAt(t, p.url(), WithConcurrency(ConcurrencySession), WithRetry(1, time.Minute))
	one := create(t, s, app(), "u", "s", nil)
	p.losses.Store(1)
	appended := event("e", map[string]any{"k": "v", "temp:t": "v"})
	err := s.AppendEvent(t.Context(), one, appended)
	var failure *Error
	if !errors.As(err, &failure) || failure.Outcome != "unknown" {
		t.Fatal(err)
	}
	equal(t, one.Events().Len()+len(stateOf(one)), 0)
	if err := s.AppendEvent(t.Context(), one, appended); err != nil {
		t.Fatal(err)
	}
	equal(t, stateOf(one), map[string]any{"k": "v", "temp:t": "v"})
	equal(t, idsOf(one), []string{"e"})
	add(t, s, one, "f", nil)
	equal(t, idsOf(load(t, s, one)), []string{"e", "f"})
}

func TestWhyThereIsNoAnswerIsTheCause(t *testing.T) {
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	address := "http://" + silent.Addr().String()
	get := func(ctx context.Context, options ...Option) error {
		_, err := serviceAt(t, address, options...).Get(ctx, &session.GetRequest{AppName: "a", UserID: "u", SessionID: "s"})
		return err
	}
	if err := get(t.Context(), WithTimeout(20*time.Millisecond), WithRetry(1, time.Minute)); !errors.Is(err, context.DeadlineExceeded) {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(10*time.Millisecond, cancel)
	var failure *Error
	if err := get(ctx); !errors.As(err, &failure) || !errors.Is(err, context.Canceled) || failure.Attempts != 1 {
		t.Fatal(err)
	}
	_ = silent.Close()
	if err := get(t.Context(), WithRetry(1, time.Minute)); !errors.Is(err, syscall.ECONNREFUSED) {
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

func TestRequestsBelongToTheTraceOfTheProgram(t *testing.T) {
	var seen []string
	s := serviceAt(t, stub(t, func(w http.ResponseWriter, r *http.Request) {
		seen = append(seen, r.Header.Get("Traceparent"))
		_, _ = io.WriteString(w, emptySession)
	}))
	span := trace.NewSpanContext(trace.SpanContextConfig{TraceID: trace.TraceID{1}, SpanID: trace.SpanID{2}, TraceFlags: 1})
	for _, ctx := range []context.Context{trace.ContextWithSpanContext(t.Context(), span), t.Context()} {
		if _, err := s.Get(ctx, &session.GetRequest{AppName: "a", UserID: "u", SessionID: "s"}); err != nil {
			t.Fatal(err)
		}
	}
	equal(t, seen, []string{"00-01000000000000000000000000000000-0200000000000000-01", ""})
}
