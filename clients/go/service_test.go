package sessiond

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/adk/v2/artifact"
	"google.golang.org/adk/v2/model"
	"google.golang.org/adk/v2/session"
	"google.golang.org/adk/v2/session/sessiontestsuite"
	"google.golang.org/genai"
)

// The tests that ADK exports for all session services, whole.
func TestSuiteOfADK(t *testing.T) {
	for name, mode := range map[string]Concurrency{
		"none": ConcurrencyNone, "session": ConcurrencySession, "lease": ConcurrencyLease,
	} {
		t.Run(name, func(t *testing.T) {
			options := sessiontestsuite.SuiteOptions{SupportsUserProvidedSessionID: true, AppName: app()}
			sessiontestsuite.RunServiceTests(t, options, func(t *testing.T) session.Service {
				s := service(t, WithConcurrency(mode))
				// Each test expects a service without sessions.
				listed := must(s.List(t.Context(), &session.ListRequest{AppName: options.AppName}))
				for _, old := range listed.Sessions {
					remove(t, s, old)
				}
				return s
			})
		})
	}
}

func remove(t *testing.T, s *Service, one session.Session) {
	t.Helper()
	check(t, s.Delete(t.Context(), &session.DeleteRequest{AppName: one.AppName(), UserID: one.UserID(), SessionID: one.ID()}))
}

// Sessions

func TestACreatedSessionIsWhatIsRead(t *testing.T) {
	s, before := service(t), time.Now()
	created := create(t, s, app(), "u", "", map[string]any{"key": "value", "temp:t": 1})
	if created.ID() == "" || created.Events().Len() != 0 || created.LastUpdateTime().Before(before.Add(-time.Second)) {
		t.Fatalf("%+v", created)
	}
	equal(t, stateOf(created), map[string]any{"key": "value"})
	found := load(t, s, created)
	equal(t, stateOf(found), stateOf(created))
	equal(t, found.LastUpdateTime(), created.LastUpdateTime())
}

func TestTheIDOfAnExistingSessionIsRefused(t *testing.T) {
	s, app := service(t), app()
	create(t, s, app, "u", "s", map[string]any{"k": "1"})
	// The same as the first time is no excuse, if its answer did arrive.
	for _, value := range []string{"1", "2"} {
		_, err := s.Create(t.Context(), &session.CreateRequest{
			AppName: app, UserID: "u", SessionID: "s", State: map[string]any{"k": value},
		})
		if !errors.Is(err, ErrExists) {
			t.Fatal(err)
		}
	}
	found := must(s.Get(t.Context(), &session.GetRequest{AppName: app, UserID: "u", SessionID: " s "}))
	equal(t, stateOf(found.Session), map[string]any{"k": "1"})
}

func TestWhatIsMissingIsSaid(t *testing.T) {
	s, ctx := service(t), t.Context()
	calls := map[string]func() error{
		"Create": func() error { _, err := s.Create(ctx, &session.CreateRequest{AppName: "a"}); return err },
		"Get":    func() error { _, err := s.Get(ctx, &session.GetRequest{AppName: "a", UserID: "u"}); return err },
		"List":   func() error { _, err := s.List(ctx, &session.ListRequest{UserID: "u"}); return err },
		"Delete": func() error { return s.Delete(ctx, &session.DeleteRequest{AppName: "a", UserID: "u"}) },
		"nil":    func() error { return s.AppendEvent(ctx, nil, event("e", nil)) },
		"event":  func() error { return s.AppendEvent(ctx, create(t, s, app(), "u", "", nil), nil) },
	}
	for name, call := range calls {
		if err := call(); err == nil || (errors.As(err, new(*Error)) && !errors.Is(err, ErrInput)) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, name := range []string{"get", "append"} {
		gone := create(t, s, app(), "u", "", nil)
		remove(t, s, gone)
		err := s.AppendEvent(ctx, gone, event("e", nil))
		if name == "get" {
			_, err = s.Get(ctx, &session.GetRequest{AppName: gone.AppName(), UserID: "u", SessionID: gone.ID()})
		}
		if !errors.Is(err, ErrNotFound) {
			t.Errorf("%s: %v", name, err)
		}
		if gone.Events().Len() != 0 {
			t.Error("the session shows an event that was not stored")
		}
	}
}

func TestDeletingTakesTheSessionAndLeavesSharedState(t *testing.T) {
	s, app := service(t), app()
	one := create(t, s, app, "u", "s", map[string]any{"k": "1", "user:k": "2", "app:k": "3"})
	add(t, s, one, "e", nil)
	remove(t, s, one)
	remove(t, s, one)
	again := create(t, s, app, "u", "s", nil)
	equal(t, stateOf(again), map[string]any{"user:k": "2", "app:k": "3"})
	equal(t, again.Events().Len(), 0)
}

func TestSessionsAreListedByLastUpdateWithStateAndWithoutEvents(t *testing.T) {
	s, app := service(t), app()
	for name, second := range map[string]int64{"a": 30, "b": 10, "c": 20, "d": 10} {
		one := create(t, s, app, "u", name, map[string]any{"k": name, "app:k": "v"})
		late := event("e", nil)
		late.Timestamp = time.Unix(second, 0)
		check(t, s.AppendEvent(t.Context(), one, late))
	}
	create(t, s, app, "v", "x", nil)
	listed := func(user string) (names []string) {
		found := must(s.List(t.Context(), &session.ListRequest{AppName: app, UserID: user}))
		for _, one := range found.Sessions {
			names = append(names, one.UserID()+"/"+one.ID())
			if one.Events().Len() != 0 || stateOf(one)["app:k"] != "v" {
				t.Fatalf("%+v", one)
			}
		}
		return names
	}
	equal(t, listed("u"), []string{"u/b", "u/d", "u/c", "u/a"})
	equal(t, listed(""), []string{"u/b", "u/d", "u/c", "u/a", "v/x"})
	equal(t, listed("nobody"), []string(nil))
}

func TestALongListIsComplete(t *testing.T) {
	s, app := service(t), app()
	for i := range 25 {
		create(t, s, app, "u", fmt.Sprintf("s%02d", i), nil)
	}
	pages := 0
	inner := s.client.http.Transport
	s.client.http.Transport = roundTripper(func(r *http.Request) (*http.Response, error) {
		query := r.URL.Query()
		query.Set("pageSize", "10")
		r.URL.RawQuery = query.Encode()
		pages++
		if pages == 2 {
			// One that is updated between two pages is on both, and listed once, in its new place.
			other := service(t)
			found, err := other.Get(t.Context(), &session.GetRequest{AppName: app, UserID: "u", SessionID: "s00"})
			if err != nil {
				return nil, err
			}
			late := event("e", nil)
			late.Timestamp = time.Now().Add(time.Hour)
			if err := other.AppendEvent(t.Context(), found.Session, late); err != nil {
				return nil, err
			}
		}
		return inner.RoundTrip(r)
	})
	found := must(s.List(t.Context(), &session.ListRequest{AppName: app, UserID: "u"}))
	equal(t, len(found.Sessions), 25)
	equal(t, found.Sessions[24].ID(), "s00")
	equal(t, pages, 3)
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// Events

func TestScopes(t *testing.T) {
	s, app := service(t), app()
	one := create(t, s, app, "u", "s", map[string]any{"app:a": "1", "user:b": "1", "c": "1"})
	delta := map[string]any{"app:a": "2", "user:b": "2", "c": "2", "temp:d": "2", "temp_e": "2", "": "2", "x:y": nil}
	appended := add(t, s, one, "e", delta)
	want := map[string]any{"app:a": "2", "user:b": "2", "c": "2", "temp_e": "2", "": "2", "x:y": nil}
	equal(t, stateOf(load(t, s, one)), want)
	equal(t, load(t, s, one).Events().At(0).Actions.StateDelta, want)
	// As ADK's own services do: locally there is temp:, in the state and in the caller's event.
	equal(t, one.Events().At(0).Actions.StateDelta, want)
	equal(t, len(appended.Actions.StateDelta), 7)
	want["temp:d"] = "2"
	equal(t, stateOf(one), want)

	sibling, other := create(t, s, app, "u", "", nil), create(t, s, app, "v", "", nil)
	equal(t, stateOf(sibling), map[string]any{"app:a": "2", "user:b": "2"})
	equal(t, stateOf(other), map[string]any{"app:a": "2"})
	_, err := other.State().Get("c")
	is(t, err, session.ErrStateKeyNotExist)
}

func TestAPartialEventIsNotStored(t *testing.T) {
	s := service(t)
	one := create(t, s, app(), "u", "", nil)
	partial := event("e", map[string]any{"k": "v"})
	partial.Partial = true
	check(t, s.AppendEvent(t.Context(), one, partial))
	equal(t, one.Events().Len()+len(stateOf(one))+load(t, s, one).Events().Len(), 0)
}

func TestTimesAreKeptToTheMicrosecond(t *testing.T) {
	s := service(t)
	one := create(t, s, app(), "u", "", nil)
	zone := time.FixedZone("", 3600)
	appended := event("", nil)
	appended.Timestamp = time.Date(2026, 1, 2, 3, 4, 5, 123456789, zone)
	check(t, s.AppendEvent(t.Context(), one, appended))
	want := time.Date(2026, 1, 2, 2, 4, 5, 123456000, time.UTC)
	for _, shown := range []session.Session{one, load(t, s, one)} {
		if at := shown.Events().At(0).Timestamp; !at.Equal(want) || !shown.LastUpdateTime().Equal(want) {
			t.Fatal(at, shown.LastUpdateTime())
		}
		equal(t, shown.Events().At(0).ID, appended.ID)
	}
	before := time.Now().Add(-time.Second)
	if add(t, s, one, "e", nil).Timestamp.Before(before) {
		t.Fatal("an event without a time has none of its own")
	}
}

func TestFiltersAreTheServers(t *testing.T) {
	s := service(t)
	one := create(t, s, app(), "u", "", nil)
	start := time.Date(2026, 1, 1, 0, 0, 0, 1000, time.UTC)
	for i := range 5 {
		at := event(fmt.Sprint(i), nil)
		at.Timestamp = start.Add(time.Duration(i) * time.Microsecond)
		check(t, s.AppendEvent(t.Context(), one, at))
	}
	var asked []string
	inner := s.client.http.Transport
	s.client.http.Transport = roundTripper(func(r *http.Request) (*http.Response, error) {
		asked = append(asked, r.URL.RawQuery)
		return inner.RoundTrip(r)
	})
	for _, c := range []struct {
		recent int
		after  time.Time
		want   []string
		query  string
	}{
		{0, time.Time{}, []string{"0", "1", "2", "3", "4"}, ""},
		{2, time.Time{}, []string{"3", "4"}, "numRecentEvents=2"},
		{9, time.Time{}, []string{"0", "1", "2", "3", "4"}, "numRecentEvents=9"},
		{-1, time.Time{}, []string{"0", "1", "2", "3", "4"}, ""},
		{0, start.Add(2*time.Microsecond + 999), []string{"2", "3", "4"}, "afterTimestamp=2026-01-01T00%3A00%3A00.000003Z"},
		{0, time.Unix(0, 0), []string{"0", "1", "2", "3", "4"}, "afterTimestamp=1970-01-01T00%3A00%3A00Z"},
		{2, start.Add(4 * time.Microsecond), []string{"4"}, "afterTimestamp=2026-01-01T00%3A00%3A00.000005Z&numRecentEvents=2"},
	} {
		asked = nil
		found := must(s.Get(t.Context(), &session.GetRequest{
			AppName: one.AppName(), UserID: "u", SessionID: one.ID(), NumRecentEvents: c.recent, After: c.after,
		}))
		equal(t, idsOf(found.Session), c.want)
		equal(t, asked, []string{c.query})
	}
}

func TestTheSameEventIsStoredOnce(t *testing.T) {
	s := service(t)
	one := create(t, s, app(), "u", "", nil)
	appended := add(t, s, one, "e", map[string]any{"k": "v", "temp:t": "v"})
	other := load(t, s, one)
	add(t, s, other, "f", map[string]any{"k": "w"})
	for _, again := range []session.Session{one, other} {
		check(t, s.AppendEvent(t.Context(), again, appended))
	}
	equal(t, idsOf(one), []string{"e"})
	equal(t, idsOf(other), []string{"e", "f"})
	equal(t, stateOf(other), map[string]any{"k": "w"})
	equal(t, idsOf(load(t, s, one)), []string{"e", "f"})
	// Also if the session was loaded without that event: its state is later.
	recent := must(s.Get(t.Context(), &session.GetRequest{AppName: one.AppName(), UserID: "u", SessionID: one.ID(), NumRecentEvents: 1}))
	check(t, s.AppendEvent(t.Context(), recent.Session, appended))
	equal(t, idsOf(recent.Session), []string{"f"})
	equal(t, stateOf(recent.Session), map[string]any{"k": "w"})

	failure := failureOf(t, s.AppendEvent(t.Context(), one, event("e", map[string]any{"k": "other"})))
	equal(t, []string{failure.Code, failure.Outcome}, []string{"event_id_conflict", "not_applied"})
	equal(t, stateOf(one), map[string]any{"k": "v", "temp:t": "v"})
}

func TestAllOfAnEventIsKept(t *testing.T) {
	s := service(t)
	one := create(t, s, app(), "u", "", nil)
	appended := &session.Event{
		LLMResponse: model.LLMResponse{
			Content: &genai.Content{Role: "model", Parts: []*genai.Part{
				{Text: "ä <b> \U0001F600", ThoughtSignature: []byte{0xfb, 0xff, 0xfe}},
				{InlineData: &genai.Blob{Data: []byte{0xff, 0xfe, 0}, MIMEType: "image/png"}},
				{FunctionCall: &genai.FunctionCall{ID: "c", Name: "f", Args: map[string]any{"n": json.Number("9007199254740993"), "m": 2.5}}},
				{FunctionResponse: &genai.FunctionResponse{ID: "c", Name: "f", Response: map[string]any{"n": json.Number("9007199254740993")}}},
			}},
			CustomMetadata: map[string]any{"n": json.Number("0.12345678901234567890"), "l": []any{1.5}},
			UsageMetadata:  &genai.GenerateContentResponseUsageMetadata{PromptTokenCount: 7},
			TurnComplete:   true, Interrupted: true, ErrorCode: "c", ErrorMessage: "m", ModelVersion: "v",
			FinishReason: genai.FinishReasonStop, AvgLogprobs: -0.5,
		},
		ID: "e", Timestamp: time.Date(2026, 1, 2, 3, 4, 5, 6000, time.UTC), InvocationID: "i", Branch: "a.b",
		IsolationScope: "scope", Author: "agent", LongRunningToolIDs: []string{"c"}, Routes: []string{"r"},
		Output: map[string]any{"n": json.Number("9007199254740993")},
		RequestedInput: &session.RequestInput{
			InterruptID: "x", Message: "m", Payload: []any{json.Number("9007199254740993")},
		},
		NodeInfo: &session.NodeInfo{Path: "p", OutputFor: []string{"p"}},
		Actions: session.EventActions{
			StateDelta:    map[string]any{"k": []any{json.Number("9007199254740993"), nil, map[string]any{}}},
			ArtifactDelta: map[string]int64{"f": 1 << 60}, SkipSummarization: true, TransferToAgent: "b", Escalate: true,
		},
	}
	check(t, s.AppendEvent(t.Context(), one, appended))
	equal(t, jsonOf(t, load(t, s, one).Events().At(0)), jsonOf(t, appended))
}

func TestNumbers(t *testing.T) {
	s := service(t)
	one := create(t, s, app(), "u", "", nil)
	huge := strings.Repeat("9", 300)
	for text, want := range map[string]any{
		"0": 0.0, "1": 1.0, "1.0": 1.0, "-5": -5.0, "1E2": 100.0, "0.1": 0.1, "1e-7": 1e-7, "-0.0": math.Copysign(0, -1),
		"9007199254740992": 9007199254740992.0, "123456789012345680000": 123456789012345680000.0,
		"1.7976931348623157e308": math.MaxFloat64, "100e-2": 1.0, "0e999": 0.0,
		"9007199254740993": json.Number("9007199254740993"), "1152921504606846976": json.Number("1152921504606846976"),
		"0.12345678901234567890": json.Number("0.12345678901234567890"), "1e-400": json.Number("1e-400"),
		"-9223372036854775809": json.Number("-9223372036854775809"), huge: json.Number(huge),
	} {
		post(t, one, fmt.Sprintf(`{"author":"x","actions":{"stateDelta":{"k":%s,"l":[{"m":%s}]}}}`, text, text))
		found := load(t, s, one)
		whole := map[string]any{"k": want, "l": []any{map[string]any{"m": want}}}
		equal(t, stateOf(found), whole)
		last := found.Events().At(found.Events().Len() - 1)
		equal(t, last.Actions.StateDelta, whole)
		// And back again: nothing is lost.
		add(t, s, found, "", stateOf(found))
		_, said := plainly(t, "GET", strings.TrimPrefix(one.(*stored).path(), "/v1")+"/state/k", "")
		again := exactNumber(json.Number(strings.TrimSpace(said)))
		equal(t, again, want)
	}
}

func TestAwkwardNamesAndValues(t *testing.T) {
	s, app := service(t), app()
	for _, name := range []string{"a/b", "a b?c#d%2F", "ä\U0001F600", "+&=;:@$,", "...", "\"'<>\\^`{|}", strings.Repeat("x", 255)} {
		one := create(t, s, app, "u"+name, name, map[string]any{name: name})
		add(t, s, one, name, map[string]any{"\u2028<>&": "\x00\u2029\U0010FFFF"})
		found := load(t, s, one)
		equal(t, []any{found.ID(), found.UserID(), idsOf(found)}, []any{name, "u" + name, []string{name}})
		equal(t, stateOf(found), map[string]any{name: name, "\u2028<>&": "\x00\u2029\U0010FFFF"})
		remove(t, s, one)
	}
	// Nor does a proxy take it for another path.
	equal(t, segments("a/b", ".", "..", "ä"), "/a%2Fb/%2E/%2E%2E/%C3%A4")
	user := create(t, s, app, "a/../b", "s", nil)
	equal(t, load(t, s, user).UserID(), "a/../b")
	for _, name := range []string{".", "..", "a\nb", strings.Repeat("x", 257), " "} {
		_, err := s.Get(t.Context(), &session.GetRequest{AppName: app, UserID: "u", SessionID: name})
		is(t, err, ErrInput)
		equal(t, failureOf(t, err).Code, "invalid_argument")
	}
	one := create(t, s, app, "u", "", nil)
	for _, value := range []any{math.NaN(), math.Inf(1), func() {}} {
		if err := s.AppendEvent(t.Context(), one, event("e", map[string]any{"k": value})); err == nil {
			t.Errorf("%T is stored", value)
		}
	}
	deep := strings.Repeat("[", 65) + strings.Repeat("]", 65)
	if err := s.AppendEvent(t.Context(), one, event("e", map[string]any{"k": json.RawMessage(deep)})); err == nil {
		t.Error("a value is stored that is nested too deep")
	}
	equal(t, len(stateOf(one))+one.Events().Len(), 0)
}

func TestNamesThatAreNoneAreRefusedBeforeAnythingIsSent(t *testing.T) {
	text := must(os.ReadFile("../wire/names.json"))
	type refused struct{ Name, Because string }
	var names struct {
		Of              map[string]string
		Refused         []refused
		RefusedSessions []refused
	}
	check(t, json.Unmarshal(text, &names))
	// Nobody answers there.
	s := must(New("http://127.0.0.1:1", WithRetry(1, time.Second)))
	files, part := s.Artifacts(), plainText("x")
	type place struct{ app, user, session, file string }
	calls := map[string]func(p place) error{
		"create": func(p place) error {
			_, err := s.Create(t.Context(), &session.CreateRequest{AppName: p.app, UserID: p.user, SessionID: p.session})
			return err
		},
		"get": func(p place) error {
			_, err := s.Get(t.Context(), &session.GetRequest{AppName: p.app, UserID: p.user, SessionID: p.session})
			return err
		},
		"list": func(p place) error {
			_, err := s.List(t.Context(), &session.ListRequest{AppName: p.app, UserID: p.user})
			return err
		},
		"delete": func(p place) error {
			return s.Delete(t.Context(), &session.DeleteRequest{AppName: p.app, UserID: p.user, SessionID: p.session})
		},
		"watch": func(p place) error {
			for _, err := range s.Watch(t.Context(), &WatchRequest{AppName: p.app, UserID: p.user, SessionID: p.session}) {
				return err
			}
			return nil
		},
		"save": func(p place) error {
			r := &artifact.SaveRequest{AppName: p.app, UserID: p.user, SessionID: p.session, FileName: p.file, Part: part}
			_, err := files.Save(t.Context(), r)
			return err
		},
		"load": func(p place) error {
			r := &artifact.LoadRequest{AppName: p.app, UserID: p.user, SessionID: p.session, FileName: p.file}
			_, err := files.Load(t.Context(), r)
			return err
		},
		"versions": func(p place) error {
			r := &artifact.VersionsRequest{AppName: p.app, UserID: p.user, SessionID: p.session, FileName: p.file}
			_, err := files.Versions(t.Context(), r)
			return err
		},
		"version": func(p place) error {
			r := &artifact.GetArtifactVersionRequest{AppName: p.app, UserID: p.user, SessionID: p.session, FileName: p.file}
			_, err := files.GetArtifactVersion(t.Context(), r)
			return err
		},
		"remove": func(p place) error {
			r := &artifact.DeleteRequest{AppName: p.app, UserID: p.user, SessionID: p.session, FileName: p.file}
			return files.Delete(t.Context(), r)
		},
		"files": func(p place) error {
			_, err := files.List(t.Context(), &artifact.ListRequest{AppName: p.app, UserID: p.user, SessionID: p.session})
			return err
		},
	}
	with := map[string]func(name string) place{
		"app":     func(name string) place { return place{name, "u", "s", "f"} },
		"user":    func(name string) place { return place{"a", name, "s", "f"} },
		"session": func(name string) place { return place{"a", "u", name, "f"} },
		"file":    func(name string) place { return place{"a", "u", "s", name} },
	}
	ofFiles := []string{"save", "load", "versions", "version", "remove"}
	for what, at := range with {
		cases := append(slices.Clone(names.Refused), refused{"\xff", "is no text in UTF-8"})
		if what == "session" {
			cases = append(cases, names.RefusedSessions...)
		}
		for _, one := range cases {
			for call, do := range calls {
				blank := strings.TrimSpace(one.Name) == ""
				switch {
				case what == "file" && !slices.Contains(ofFiles, call), what == "session" && call == "list":
					// It has no such name.
				case call == "create" && what == "session" && blank, call == "list" && what == "user" && blank:
					// A new session; the sessions of all users.
				default:
					err := do(at(one.Name))
					if !errors.Is(err, ErrInput) {
						t.Errorf("%s, %s %q: %v", call, what, one.Name, err)
						continue
					}
					failure := failureOf(t, err)
					equal(t, err.Error(), fmt.Sprintf("sessiond: The %s %s.", names.Of[what], one.Because))
					equal(t, []any{failure.Status, failure.Code, failure.Outcome}, []any{0, "invalid_argument", "not_applied"})
				}
			}
		}
	}
}

// What other clients store.

func TestAnEventOfADKForPythonIsRead(t *testing.T) {
	s := service(t)
	one := create(t, s, app(), "u", "", nil)
	post(t, one, `{"id":"e","author":"a","invocationId":"i","timestamp":1795373279.249704,"newField":{"x":1},`+
		`"content":{"role":"model","parts":[{"text":"a-b_c","thoughtSignature":"-__-"},`+
		`{"inlineData":{"mimeType":"image/png","data":"_-8="}},{"functionCall":{"name":"f","args":{"data":"a-b_c"}}}]},`+
		`"actions":{"stateDelta":{},"artifactDelta":{},"requestedAuthConfigs":{}},"nodeInfo":{}}`)
	read := load(t, s, one).Events().At(0)
	equal(t, read.Content.Parts[0].ThoughtSignature, []byte{0xfb, 0xff, 0xfe})
	equal(t, read.Content.Parts[1].InlineData.Data, []byte{0xff, 0xef})
	equal(t, read.Content.Parts[0].Text, "a-b_c")
	equal(t, read.Content.Parts[2].FunctionCall.Args, map[string]any{"data": "a-b_c"})
	equal(t, read.Timestamp, time.UnixMicro(1795373279249704).UTC())
	equal(t, len(read.CustomMetadata), 0)
}

func TestAnEventThatADKCannotReadDoesNotHideTheSession(t *testing.T) {
	s := service(t)
	one := create(t, s, app(), "u", "", nil)
	post(t, one, `{"id":"e","author":"a","timestamp":1,"content":"hello","branch":"b","errorCode":12345678901234567890,`+
		`"customMetadata":{"mine":true},"actions":{"stateDelta":{"k":1},"escalate":"yes"}}`)
	add(t, s, one, "f", nil)
	found := load(t, s, one)
	equal(t, idsOf(found), []string{"e", "f"})
	read := found.Events().At(0)
	equal(t, []any{read.Author, read.Branch, read.Timestamp.Unix(), read.Content == nil}, []any{"a", "b", int64(1), true})
	equal(t, read.Actions.StateDelta, map[string]any{"k": 1.0})
	equal(t, read.ErrorMessage, "ADK cannot read what is stored as actions.escalate, content, errorCode.")
	equal(t, jsonOf(t, read.CustomMetadata), `{"mine":true,"sessiond_refused":`+
		`{"actions.escalate":"yes","content":"hello","errorCode":12345678901234567890}}`)
}

// Writers

func TestConcurrentWritersOfDifferentKeysLoseNothing(t *testing.T) {
	s, app := service(t), app()
	one := create(t, s, app, "u", "s", nil)
	var writers sync.WaitGroup
	for w := range 8 {
		writers.Go(func() {
			mine := load(t, s, one)
			for i := range 5 {
				add(t, s, mine, fmt.Sprintf("%d-%d", w, i), map[string]any{
					fmt.Sprintf("app:%d-%d", w, i): "v", fmt.Sprintf("%d-%d", w, i): "v",
				})
			}
		})
	}
	writers.Wait()
	found := load(t, s, one)
	equal(t, []int{len(stateOf(found)), found.Events().Len()}, []int{80, 40})
}

func TestAppendsThroughOneObjectHaveTheOrderOfTheStore(t *testing.T) {
	s := service(t, WithConcurrency(ConcurrencySession))
	one := create(t, s, app(), "u", "s", nil)
	var writers sync.WaitGroup
	for w := range 20 {
		writers.Go(func() {
			add(t, s, one, fmt.Sprint(w), map[string]any{"last": fmt.Sprint(w)})
			_ = one.State().Set(fmt.Sprint("temp:", w), one.Events().Len())
			_, _ = one.State().Get("last")
			_ = one.LastUpdateTime()
		})
	}
	writers.Wait()
	equal(t, one.Events().Len(), 20)
	equal(t, idsOf(one), idsOf(load(t, s, one)))
}

func TestOfSessionsThatWereLoadedTogetherOneAppends(t *testing.T) {
	s, plain := service(t, WithConcurrency(ConcurrencySession)), service(t)
	one := create(t, s, app(), "u", "s", nil)
	other := load(t, s, one)
	add(t, s, one, "a", nil)
	add(t, s, one, "b", nil)
	err := s.AppendEvent(t.Context(), other, event("c", map[string]any{"k": "v"}))
	is(t, err, ErrStale)
	failure := failureOf(t, err)
	equal(t, []any{failure.Status, failure.Revision}, []any{412, int64(2)})
	equal(t, other.Events().Len()+len(stateOf(other)), 0)
	fresh := load(t, s, one)
	add(t, s, fresh, "c", nil)
	// An operator needs nothing to be as it was. The gap that it shows stays a gap.
	must(s.Apply(t.Context(), one, Change{Ops: []Op{{"increment", "n", 1}}}))
	is(t, s.AppendEvent(t.Context(), one, event("d", nil)), ErrStale)
	add(t, plain, load(t, plain, one), "d", nil)

	// Exactly one of many wins.
	var writers sync.WaitGroup
	won := make(chan string, 10)
	loaded := make([]session.Session, 10)
	for w := range loaded {
		loaded[w] = load(t, s, one)
	}
	for w, mine := range loaded {
		writers.Go(func() {
			id := fmt.Sprint("w", w)
			if err := s.AppendEvent(t.Context(), mine, event(id, nil)); err == nil {
				won <- id
			} else if !errors.Is(err, ErrStale) {
				t.Error(err)
			}
		})
	}
	writers.Wait()
	equal(t, len(won), 1)
	ids := idsOf(load(t, s, one))
	equal(t, ids[len(ids)-1], <-won)
}

// Settings

func TestURLsAndSettingsThatCannotBeMeantAreRefused(t *testing.T) {
	for _, address := range []string{
		"", "localhost:8080", "ftp://host", "http://", "http://user:hunter2@host", "http://host?token=hunter2",
		"http://host#hunter2", "http://host:port%zz",
	} {
		if _, err := New(address); err == nil || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: %v", address, err)
		}
	}
	for i, option := range []Option{
		WithToken("a b"), WithToken("ä"), WithTokenSource(nil), WithHTTPClient(nil), WithTimeout(0), WithRetry(0, 0),
		WithConcurrency(7), WithLeaseTTL(0), WithLogger(nil),
	} {
		if _, err := New("http://host", option); err == nil {
			t.Error(i)
		}
	}
	s := must(New("http://host:1/path/", WithToken("hunter2")))
	equal(t, s.client.base, "http://host:1/path")
	if shown := fmt.Sprintf("%v %+v %#v %s", s, s, s, s); strings.Contains(shown, "hunter2") {
		t.Error(shown)
	}
}

func TestWhatWasTakenBackIsLeftOut(t *testing.T) {
	s := service(t)
	one := create(t, s, app(), "u", "s", map[string]any{"k": "0"})
	for i, turn := range []string{"a", "b", "c"} {
		said := event(turn, map[string]any{"k": turn})
		said.InvocationID, said.Timestamp = "i"+turn, time.Unix(int64(i+1), 0)
		check(t, s.AppendEvent(t.Context(), one, said))
	}
	rewind(t, one, "ib")
	said := event("d", map[string]any{"k": "d"})
	said.Timestamp = time.Unix(4, 0)
	check(t, s.AppendEvent(t.Context(), load(t, s, one), said))
	for _, limits := range []struct {
		recent int
		after  time.Time
		want   []string
	}{
		{0, time.Time{}, []string{"a", "d"}},
		{1, time.Time{}, []string{"d"}},
		{2, time.Time{}, []string{"a", "d"}},
		{9, time.Time{}, []string{"a", "d"}},
		{0, time.Unix(2, 0), []string{"d"}},
		{9, time.Unix(2, 0), []string{"d"}},
	} {
		found := must(s.Get(t.Context(), &session.GetRequest{
			AppName: one.AppName(), UserID: "u", SessionID: "s", NumRecentEvents: limits.recent, After: limits.after,
		}))
		equal(t, idsOf(found.Session), limits.want)
		equal(t, stateOf(found.Session), map[string]any{"k": "d"})
	}
	// It has seen all events of the store, so it may be appended to.
	strict := service(t, WithConcurrency(ConcurrencySession))
	mine := load(t, strict, one)
	add(t, strict, mine, "e", nil)
	equal(t, idsOf(mine), []string{"a", "d", "e"})
	// One that waits for its turn sees no more what is taken back meanwhile.
	leased := service(t, WithConcurrency(ConcurrencyLease))
	waiting := load(t, leased, one)
	add(t, s, load(t, s, one), "f", nil)
	rewind(t, one, "ia")
	later := event("g", nil)
	later.InvocationID = "ig"
	check(t, leased.AppendEvent(t.Context(), waiting, later))
	equal(t, idsOf(waiting), []string{"g"})
	equal(t, idsOf(load(t, s, one)), []string{"g"})
}

func rewind(t *testing.T, of session.Session, invocation string) {
	t.Helper()
	path := strings.TrimPrefix(of.(*stored).path(), "/v1") + "/rewind"
	if status, said := plainly(t, "POST", path, fmt.Sprintf(`{"beforeInvocationId":%q}`, invocation)); status != 200 {
		t.Fatal(said)
	}
}

func TestAChangeThatHasAnIDIsMadeOnce(t *testing.T) {
	s := service(t)
	one := create(t, s, app(), "u", "s", map[string]any{"n": 1})
	change := Change{
		Ops: []Op{{"increment", "n", 1}, {Op: "remove", Key: "gone"}}, If: []Precondition{IfEquals("n", 1)}, Once: "order 17",
	}
	apply := func(to session.Session, change Change) map[string]any {
		t.Helper()
		values := must(s.Apply(t.Context(), to, change))
		return values
	}
	equal(t, apply(one, change), map[string]any{"n": 2.0})
	apply(one, Change{Ops: []Op{{"set", "n", 10}}})
	// Of the same agent, of another one, in another invocation, through another object; the precondition held then.
	other := load(t, s, one)
	for _, again := range []struct {
		to                 session.Session
		author, invocation string
	}{{one, "", ""}, {one, "agent", "i2"}, {other, "agent", "i3"}} {
		change.Author, change.InvocationID = again.author, again.invocation
		equal(t, apply(again.to, change), map[string]any{"n": 2.0})
		equal(t, stateOf(again.to), map[string]any{"n": 10.0})
		equal(t, again.to.Events().Len(), 2)
	}
	// Another change, or another event, of the same id is none of ours.
	add(t, s, one, "said", nil)
	for _, wrong := range []Change{
		{Ops: []Op{{"increment", "n", 2}}, Once: "order 17"}, {Ops: []Op{{"increment", "n", 1}}, Once: "said"},
	} {
		_, err := s.Apply(t.Context(), one, wrong)
		equal(t, failureOf(t, err).Code, "event_id_conflict")
	}
	// An object that has not seen the change shows it.
	late := create(t, s, one.AppName(), "u", "late", nil)
	for _, to := range []session.Session{late, load(t, s, late)} {
		apply(to, Change{Ops: []Op{{"increment", "l", 1}}, Once: "first"})
		equal(t, stateOf(to), map[string]any{"l": 1.0})
		equal(t, to.Events().Len(), 1)
	}
}
