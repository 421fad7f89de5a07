package sessiond

import (
	"context"
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
		values := must(s.Apply(t.Context(), one, Change{Ops: []Op{{"increment", "n", 1}}}))
		equal(t, values, map[string]any{"n": 2.0})
	})
	lose("get", func() { load(t, s, one) })
	found := load(t, direct, one)
	equal(t, stateOf(found), map[string]any{"n": 2.0, "app:k": "w"})
	equal(t, idsOf(found), idsOf(one))
	equal(t, one.Events().Len(), 3)
	listed := must(direct.List(t.Context(), &session.ListRequest{AppName: app}))
	equal(t, len(listed.Sessions), 2)
	lose("delete", func() { remove(t, s, one) })
}

func TestAnAppendOfWhichNothingIsKnownCanBeRepeated(t *testing.T) {
	p := newProxy(t)
	s := serviceAt(t, p.url(), WithConcurrency(ConcurrencySession), WithRetry(1, time.Minute))
	one := create(t, s, app(), "u", "s", nil)
	p.losses.Store(1)
	appended := event("e", map[string]any{"k": "v", "temp:t": "v"})
	equal(t, failureOf(t, s.AppendEvent(t.Context(), one, appended)).Outcome, "unknown")
	equal(t, one.Events().Len()+len(stateOf(one)), 0)
	check(t, s.AppendEvent(t.Context(), one, appended))
	equal(t, stateOf(one), map[string]any{"k": "v", "temp:t": "v"})
	equal(t, idsOf(one), []string{"e"})
	add(t, s, one, "f", nil)
	equal(t, idsOf(load(t, s, one)), []string{"e", "f"})
}

func TestWhyThereIsNoAnswerIsTheCause(t *testing.T) {
	silent := must(net.Listen("tcp", "127.0.0.1:0"))
	defer silent.Close()
	address := "http://" + silent.Addr().String()
	get := func(ctx context.Context, options ...Option) error {
		_, err := serviceAt(t, address, options...).Get(ctx, &session.GetRequest{AppName: "a", UserID: "u", SessionID: "s"})
		return err
	}
	is(t, get(t.Context(), WithTimeout(20*time.Millisecond), WithRetry(1, time.Minute)), context.DeadlineExceeded)
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(10*time.Millisecond, cancel)
	err := get(ctx)
	is(t, err, context.Canceled)
	equal(t, failureOf(t, err).Attempts, 1)
	_ = silent.Close()
	is(t, get(t.Context(), WithRetry(1, time.Minute)), syscall.ECONNREFUSED)
}

func TestRequestsBelongToTheTraceOfTheProgram(t *testing.T) {
	var seen []string
	s := serviceAt(t, stub(t, func(w http.ResponseWriter, r *http.Request) {
		seen = append(seen, r.Header.Get("Traceparent"))
		_, _ = io.WriteString(w, emptySession)
	}))
	span := trace.NewSpanContext(trace.SpanContextConfig{TraceID: trace.TraceID{1}, SpanID: trace.SpanID{2}, TraceFlags: 1})
	for _, ctx := range []context.Context{trace.ContextWithSpanContext(t.Context(), span), t.Context()} {
		must(s.Get(ctx, &session.GetRequest{AppName: "a", UserID: "u", SessionID: "s"}))
	}
	equal(t, seen, []string{"00-01000000000000000000000000000000-0200000000000000-01", ""})
}
