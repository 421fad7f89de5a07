package sessiond

import (
	"net/http"
	"strings"
	"sync"
	"testing"

	"google.golang.org/adk/v2/agent"
	"google.golang.org/adk/v2/agent/llmagent"
	"google.golang.org/adk/v2/memory"
	"google.golang.org/adk/v2/model"
	"google.golang.org/adk/v2/runner"
	"google.golang.org/adk/v2/session"
	"google.golang.org/adk/v2/tool"
	"google.golang.org/adk/v2/tool/loadmemorytool"
	"google.golang.org/adk/v2/tool/preloadmemorytool"
	"google.golang.org/genai"
)

// indexed returns the name of an app whose words are indexed.
func indexed(t *testing.T) string {
	t.Helper()
	name := app()
	if status, said := plainly(t, http.MethodPut, "/apps/"+name+"/policy", `{"search":{"index":true}}`); status != http.StatusOK {
		t.Fatal(status, said)
	}
	return name
}

func say(t *testing.T, s session.Service, to session.Session, id, author string, parts ...*genai.Part) *session.Event {
	t.Helper()
	said := event(id, nil)
	said.Author = author
	said.Content = genai.NewContentFromParts(parts, genai.RoleUser)
	check(t, s.AppendEvent(t.Context(), to, said))
	return said
}

func remembered(t *testing.T, m *Memory, app, query string) (texts []string) {
	t.Helper()
	found := must(m.SearchMemory(t.Context(), &memory.SearchRequest{AppName: app, UserID: "u", Query: query}))
	for _, entry := range found.Memories {
		texts = append(texts, entry.Author+": "+entry.Content.Parts[0].Text)
	}
	return texts
}

func TestWhatWasSaidIsRemembered(t *testing.T) {
	s, app := service(t), indexed(t)
	one, other := create(t, s, app, "u", "s", nil), create(t, s, app, "u", "other/s", nil)
	thought := &genai.Part{Text: "a plan of sencha", Thought: true}
	first := say(t, s, one, "e1", "u", genai.NewPartFromText("My favourite tea is Sencha."))
	say(t, s, one, "e2", "waiter", thought, genai.NewPartFromText("Noted: SENCHA"))
	say(t, s, other, "e3", "u", genai.NewPartFromText("I live in Bremen."))
	say(t, s, create(t, s, app, "v", "s", nil), "e4", "v", genai.NewPartFromText("sencha is mine"))
	equal(t, remembered(t, s.Memory(), app, "my sencha?"), []string{"u: My favourite tea is Sencha.", "waiter: Noted: SENCHA"})
	found := must(s.Memory().SearchMemory(t.Context(), &memory.SearchRequest{AppName: app, UserID: "u", Query: "favourite"}))
	equal(t, found.Memories[0].CustomMetadata, map[string]any{"session_id": "s", "event_id": "e1"})
	equal(t, found.Memories[0].Timestamp, first.Timestamp.UTC())
	equal(t, must(s.Memory().SearchMemory(t.Context(), &memory.SearchRequest{AppName: app, UserID: "u", Query: "Bremen"})).Memories[0].ID, "other%2Fs/e3")
	equal(t, remembered(t, s.Memory(), app, "plan Brem"), []string(nil))
}

func TestSearch(t *testing.T) {
	s, app := service(t), indexed(t)
	one, other := create(t, s, app, "u", "s", nil), create(t, s, app, "u", "other/s", nil)
	first := say(t, s, one, "e1", "u", genai.NewPartFromText("Green tea"))
	say(t, s, other, "e2", "waiter", genai.NewPartFromText("tea, GREEN tea and cake"))
	ids := func(text string, options SearchOptions) (ids []string) {
		hits, complete, err := s.Search(t.Context(), app, "u", text, options)
		if err != nil || !complete {
			t.Fatal(err, complete)
		}
		for _, hit := range hits {
			ids = append(ids, hit.SessionID+"/"+hit.Event.ID)
		}
		return ids
	}
	equal(t, ids("tea cake", SearchOptions{}), []string{"other/s/e2", "s/e1"})
	equal(t, ids("tea", SearchOptions{Limit: 1}), []string{"other/s/e2"})
	equal(t, ids("tea", SearchOptions{Author: "u"}), []string{"s/e1"})
	equal(t, ids("tea", SearchOptions{SessionID: "s"}), []string{"s/e1"})
	equal(t, ids("tea", SearchOptions{ExceptSessionID: "s"}), []string{"other/s/e2"})
	equal(t, ids("tea", SearchOptions{Until: first.Timestamp.AddDate(0, 0, -1)}), []string(nil))
	equal(t, len(ids("tea", SearchOptions{Since: first.Timestamp.AddDate(0, 0, -1)})), 2)
	for _, text := range []string{"", "?!"} {
		_, _, err := s.Search(t.Context(), app, "u", text, SearchOptions{})
		is(t, err, ErrInput)
	}
	_, _, err := s.Search(t.Context(), "", "u", "tea", SearchOptions{})
	is(t, err, ErrInput)
	_, _, err = s.Search(t.Context(), "other_"+app, "u", "tea", SearchOptions{})
	equal(t, failureOf(t, err).Code, "search_off")
	if !strings.Contains(err.Error(), "/policy") {
		t.Fatal(err)
	}
}

func TestAQueryWithoutWordsAndALongOne(t *testing.T) {
	s, app := service(t), indexed(t)
	say(t, s, create(t, s, app, "u", "s", nil), "e", "u", genai.NewPartFromText("tea"))
	for _, query := range []string{"", " ", "?!", "tea"} {
		// The last is the question itself.
		equal(t, remembered(t, s.Memory(), app, query), []string(nil))
	}
	equal(t, remembered(t, s.Memory(), app, strings.Repeat("tea ä ", 100_000)), []string{"u: tea"})
}

func TestNotAllIsRemembered(t *testing.T) {
	s, app := service(t), indexed(t)
	one := create(t, s, app, "u", "s", nil)
	for _, id := range strings.Split("abcdefghijkl", "") {
		say(t, s, one, id, "u", genai.NewPartFromText("tea "+id))
	}
	m := s.Memory()
	equal(t, len(remembered(t, m, app, "tea")), 10)
	m.Limit = 2
	equal(t, remembered(t, m, app, "tea"), []string{"u: tea l", "u: tea k"})
}

func TestASessionOfSessiondIsOnlyLookedAt(t *testing.T) {
	s, app := service(t), indexed(t)
	one := create(t, s, app, "u", "s", nil)
	say(t, s, one, "e", "u", genai.NewPartFromText("black tea"))
	for range 2 {
		check(t, s.Memory().AddSessionToMemory(t.Context(), load(t, s, one)))
	}
	equal(t, remembered(t, s.Memory(), app, "black"), []string{"u: black tea"})
	if status, _ := plainly(t, http.MethodGet, "/apps/"+app+"/users/u/sessions/memories", ""); status != http.StatusNotFound {
		t.Fatal(status)
	}
	remove(t, s, one)
	equal(t, remembered(t, s.Memory(), app, "black"), []string(nil))
	is(t, s.Memory().AddSessionToMemory(t.Context(), one), ErrNotFound)
}

func TestSessionsOfElsewhereAreKeptOnce(t *testing.T) {
	s, app := service(t), indexed(t)
	elsewhere := session.InMemoryService()
	made := must(elsewhere.Create(t.Context(), &session.CreateRequest{AppName: app, UserID: "u", SessionID: "far"}))
	say(t, elsewhere, made.Session, "e1", "u", genai.NewPartFromText("oolong tea"))
	say(t, elsewhere, made.Session, "e2", "waiter", genai.NewPartFromFunctionCall("tea", nil))
	add := func() {
		far := must(elsewhere.Get(t.Context(), &session.GetRequest{AppName: app, UserID: "u", SessionID: "far"}))
		if err := s.Memory().AddSessionToMemory(t.Context(), far.Session); err != nil {
			t.Error(err)
		}
	}
	add()
	say(t, elsewhere, made.Session, "e3", "waiter", genai.NewPartFromText("assam tea"))
	var group sync.WaitGroup
	for range 4 {
		group.Go(add)
	}
	group.Wait()
	equal(t, remembered(t, s.Memory(), app, "which tea"), []string{"waiter: assam tea", "u: oolong tea"})
}

func TestAgentsRemember(t *testing.T) {
	s, app := service(t), indexed(t)
	say(t, s, create(t, s, app, "u", "monday", nil), "e", "u", genai.NewPartFromText("hello, my favourite tea is sencha"))
	var seen []string
	for name, which := range map[string]tool.Tool{"load": loadmemorytool.New(), "preload": preloadmemorytool.New()} {
		waiter := must(llmagent.New(llmagent.Config{
			Name: "waiter", Tools: []tool.Tool{which}, Model: scripted(func(req *model.LLMRequest) *genai.Part {
				last := req.Contents[len(req.Contents)-1].Parts[0]
				seen = append(seen, jsonOf(t, req.Config.SystemInstruction)+jsonOf(t, last))
				if name == "load" && last.FunctionResponse == nil {
					return genai.NewPartFromFunctionCall("load_memory", map[string]any{"query": "favourite tea"})
				}
				return genai.NewPartFromText("Coming up.")
			}),
		}))
		r := must(runner.New(runner.Config{
			AppName: app, Agent: waiter, SessionService: s, MemoryService: s.Memory(), AutoCreateSession: true,
		}))
		must(run(t, r, name, agent.StreamingModeNone))
		if last := seen[len(seen)-1]; !strings.Contains(last, "my favourite tea is sencha") {
			t.Fatal(name, last)
		}
	}
}
