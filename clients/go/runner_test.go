package sessiond

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"
	"sync"
	"testing"

	"google.golang.org/adk/v2/agent"
	"google.golang.org/adk/v2/agent/llmagent"
	"google.golang.org/adk/v2/agent/workflowagents/sequentialagent"
	"google.golang.org/adk/v2/model"
	"google.golang.org/adk/v2/plugin"
	"google.golang.org/adk/v2/runner"
	"google.golang.org/adk/v2/session"
	"google.golang.org/adk/v2/tool"
	"google.golang.org/adk/v2/tool/functiontool"
	"google.golang.org/genai"
)

// scripted is a model that answers with what a function returns, text or a function call.
type scripted func(*model.LLMRequest) *genai.Part

func (scripted) Name() string { return "scripted" }

func (say scripted) GenerateContent(_ context.Context, req *model.LLMRequest, stream bool) iter.Seq2[*model.LLMResponse, error] {
	return func(yield func(*model.LLMResponse, error) bool) {
		part := say(req)
		if stream && part.Text != "" {
			first := genai.NewContentFromText(part.Text[:1], genai.RoleModel)
			if !yield(&model.LLMResponse{Content: first, Partial: true}, nil) {
				return
			}
		}
		yield(&model.LLMResponse{Content: genai.NewContentFromParts([]*genai.Part{part}, genai.RoleModel)}, nil)
	}
}

// callThen calls a tool first, and then says something.
func callThen(name string, arguments map[string]any, text string) scripted {
	return func(req *model.LLMRequest) *genai.Part {
		last := req.Contents[len(req.Contents)-1].Parts[0]
		if last.FunctionResponse != nil {
			return genai.NewPartFromText(text)
		}
		return genai.NewPartFromFunctionCall(name, arguments)
	}
}

type arguments struct {
	N int `json:"n"`
}

func newTool(name string, do func(agent.Context, arguments) (map[string]any, error)) tool.Tool {
	return must(functiontool.New(functiontool.Config{Name: name, Description: "A tool."}, do))
}

func newRunner(s *Service, app string, root agent.Agent, plugins ...*plugin.Plugin) *runner.Runner {
	return must(runner.New(runner.Config{
		AppName: app, Agent: root, SessionService: s, AutoCreateSession: true,
		PluginConfig: runner.PluginConfig{Plugins: plugins},
	}))
}

func run(t *testing.T, r *runner.Runner, id string, mode agent.StreamingMode) ([]*session.Event, error) {
	t.Helper()
	var events []*session.Event
	said := genai.NewContentFromText("hello", genai.RoleUser)
	for event, err := range r.Run(t.Context(), "u", id, said, agent.RunConfig{StreamingMode: mode}) {
		if err != nil {
			return events, err
		}
		events = append(events, event)
	}
	return events, nil
}

func loadByID(t *testing.T, s *Service, app, id string) session.Session {
	t.Helper()
	found := must(s.Get(t.Context(), &session.GetRequest{AppName: app, UserID: "u", SessionID: id}))
	return found.Session
}

func textsOf(s session.Session) (texts []string) {
	for event := range s.Events().All() {
		text := event.Author + ":"
		if event.Content != nil {
			for _, part := range event.Content.Parts {
				switch {
				case part.FunctionCall != nil:
					text += " call"
				case part.FunctionResponse != nil:
					text += " response"
				default:
					text += " " + part.Text
				}
			}
		}
		texts = append(texts, text)
	}
	return texts
}

func TestARunnerWithAToolAndAnAgentInARow(t *testing.T) {
	s, app := service(t), app()
	var instructions []string
	first := must(llmagent.New(llmagent.Config{
		Name: "first", Model: callThen("note", map[string]any{"n": 5}, "noted"), OutputKey: "temp:said",
		Tools: []tool.Tool{newTool("note", func(ctx agent.Context, a arguments) (map[string]any, error) {
			for key, value := range map[string]any{"n": a.N, "user:n": a.N, "app:n": a.N, "temp:n": a.N} {
				if err := ctx.State().Set(key, value); err != nil {
					return nil, err
				}
			}
			return map[string]any{"ok": true}, nil
		})},
	}))
	second := must(llmagent.New(llmagent.Config{
		Name: "second", Instruction: "{n} {user:n} {app:n} {temp:n} {temp:said} {missing?}", OutputKey: "out",
		Model: scripted(func(req *model.LLMRequest) *genai.Part {
			instructions = append(instructions, req.Config.SystemInstruction.Parts[0].Text)
			return genai.NewPartFromText("done")
		}),
	}))
	row := must(sequentialagent.New(sequentialagent.Config{AgentConfig: agent.Config{Name: "row", SubAgents: []agent.Agent{first, second}}}))
	r := newRunner(s, app, row)
	for range 2 {
		must(run(t, r, "s", agent.StreamingModeNone))
	}
	if len(instructions) != 2 || !strings.Contains(instructions[0], "5 5 5 5 noted ") || !strings.Contains(instructions[1], "5 5 5 5 noted ") {
		t.Fatalf("%q", instructions)
	}
	found := loadByID(t, s, app, "s")
	once := []string{"user: hello", "first: call", "first: response", "first: noted", "second: done"}
	equal(t, textsOf(found), append(once, once...))
	equal(t, stateOf(found), map[string]any{"n": 5.0, "user:n": 5.0, "app:n": 5.0, "out": "done"})
}

func TestAStreamingRunnerStoresNoPartialEvents(t *testing.T) {
	s, app := service(t), app()
	root := must(llmagent.New(llmagent.Config{Name: "a", Model: scripted(func(*model.LLMRequest) *genai.Part {
		return genai.NewPartFromText("hi there")
	})}))
	events := must(run(t, newRunner(s, app, root), "s", agent.StreamingModeSSE))
	partial := 0
	for _, event := range events {
		if event.Partial {
			partial++
		}
	}
	if partial == 0 {
		t.Fatal("nothing was streamed")
	}
	equal(t, textsOf(loadByID(t, s, app, "s")), []string{"user: hello", "a: hi there"})
}

func TestOperatorsInTools(t *testing.T) {
	s, app := service(t), app()
	create(t, s, app, "u", "s", map[string]any{"user:gone": "v", "big": 1 << 53, "app:max": 3})
	order := newTool("order", func(ctx agent.Context, _ arguments) (map[string]any, error) {
		number, err := Increment(ctx, "app:orders", 1)
		if err != nil {
			return nil, err
		}
		big, err := Increment(ctx, "big", 1)
		if err != nil {
			return nil, err
		}
		equal(t, big, must(Increment(ctx, "big", 0)))
		equal(t, big.String(), "9007199254740993")
		equal(t, must(Append(ctx, "user:items", "tea", nil, 1)), []any{"tea", nil, 1.0})
		equal(t, must(Append(ctx, "user:items")), []any{"tea", nil, 1.0})
		equal(t, must(Union(ctx, "user:items", "tea", "milk")), []any{"tea", nil, 1.0, "milk"})
		if err := Remove(ctx, "user:gone"); err != nil {
			return nil, err
		}
		equal(t, must(Apply(ctx, []Op{
			{"set", "k", nil}, {"max", "app:max", 7}, {"merge", "m", map[string]any{"a": 1}}, {Op: "remove", Key: "none"},
		}, IfExists("k", false), IfEquals("app:max", 3), IfUnchanged("k", 0))), map[string]any{"k": nil, "app:max": 7.0, "m": map[string]any{"a": 1.0}})
		for _, condition := range []Precondition{IfExists("k", false), IfEquals("app:max", 3), IfUnchanged("k", 0)} {
			if _, err := Apply(ctx, []Op{{"set", "k", "never"}}, condition); !errors.Is(err, ErrStale) {
				return nil, fmt.Errorf("a precondition does not hold: %w", err)
			}
		}
		var failure *Error
		if _, err := Increment(ctx, "user:items", 1); !errors.As(err, &failure) || failure.Code != "invalid_argument" {
			return nil, fmt.Errorf("a list is incremented: %w", err)
		}
		// What the tool sees.
		equal(t, must(ctx.State().Get("app:max")), 7.0)
		if _, err := ctx.State().Get("user:gone"); !errors.Is(err, session.ErrStateKeyNotExist) {
			return nil, errors.New("a removed key is there")
		}
		return map[string]any{"number": number}, nil
	})
	root := must(llmagent.New(llmagent.Config{
		Name: "a", Model: callThen("order", map[string]any{"n": 1}, "done"), Tools: []tool.Tool{order},
		AfterAgentCallbacks: []agent.AfterAgentCallback{func(ctx agent.Context) (*genai.Content, error) {
			_, err := Increment(ctx, "called", 1)
			return nil, err
		}},
	}))
	events := must(run(t, newRunner(s, app, root), "s", agent.StreamingModeNone))
	if response := events[1].Content.Parts[0].FunctionResponse.Response; response["error"] != nil {
		t.Fatal(response)
	}
	found := loadByID(t, s, app, "s")
	equal(t, jsonOf(t, stateOf(found)), `{"app:max":7,"app:orders":1,"big":9007199254740993,"called":1,"k":null,`+
		`"m":{"a":1},"user:items":["tea",null,1,"milk"]}`)
	for event := range found.Events().All() {
		if event.InvocationID != events[0].InvocationID || event.Author != "a" && event.Author != "user" {
			t.Fatalf("%+v", event)
		}
	}
	equal(t, found.Events().Len(), 4+9)
}

func TestAnOperatorNeedsASessionOfSessiond(t *testing.T) {
	var failure error
	tried := newTool("tried", func(ctx agent.Context, _ arguments) (map[string]any, error) {
		_, failure = Increment(ctx, "n", 1)
		return nil, failure
	})
	root := must(llmagent.New(llmagent.Config{
		Name: "a", Model: callThen("tried", map[string]any{"n": 1}, "done"), Tools: []tool.Tool{tried},
	}))
	r := must(runner.NewInMemory("app", root))
	must(run(t, r, "s", agent.StreamingModeNone))
	if failure == nil {
		t.Fatal("there is no sessiond")
	}
}

func TestManyRunnersLoseNoOrder(t *testing.T) {
	s, app := service(t), app()
	order := newTool("order", func(ctx agent.Context, _ arguments) (map[string]any, error) {
		number, err := Increment(ctx, "app:orders", 1)
		return map[string]any{"number": number}, err
	})
	root := must(llmagent.New(llmagent.Config{
		// Said, for a runner would set it, without a lock, in an agent that others run at the same time.
		Mode: llmagent.ModeChat,
		Name: "a", Model: callThen("order", map[string]any{"n": 1}, "done"), Tools: []tool.Tool{order},
	}))
	r := newRunner(s, app, root)
	var all sync.WaitGroup
	for i := range 10 {
		all.Go(func() {
			if _, err := run(t, r, fmt.Sprint(i), agent.StreamingModeNone); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	equal(t, stateOf(loadByID(t, s, app, "0")), map[string]any{"app:orders": 10.0})
}

func TestInvocationsOfRunnersTakeTurns(t *testing.T) {
	s, app := leased(t), app()
	root := must(llmagent.New(llmagent.Config{
		// Said, for a runner would set it, without a lock, in an agent that others run at the same time.
		Mode: llmagent.ModeChat,
		Name: "a", Model: callThen("slow", map[string]any{"n": 1}, "done"),
		Tools: []tool.Tool{newTool("slow", func(ctx agent.Context, _ arguments) (map[string]any, error) {
			return nil, Remove(ctx, "none")
		})},
	}))
	create(t, s, app, "u", "s", nil)
	var all sync.WaitGroup
	for range 5 {
		all.Go(func() {
			// Of different processes, as it were.
			mine := leased(t)
			if _, err := run(t, newRunner(mine, app, root, mine.Plugin()), "s", agent.StreamingModeNone); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	found := loadByID(t, s, app, "s")
	var turns []string
	for event := range found.Events().All() {
		if len(turns) == 0 || turns[len(turns)-1] != event.InvocationID {
			turns = append(turns, event.InvocationID)
		}
	}
	equal(t, []int{len(turns), found.Events().Len()}, []int{5, 25})

	// Without the plugin nobody tells the service that an invocation has ended, unless its context does.
	hasty := leased(t, WithLeaseWait(0))
	r := newRunner(hasty, app, root)
	must(run(t, r, "s", agent.StreamingModeNone))
	_, err := run(t, r, "s", agent.StreamingModeNone)
	is(t, err, ErrBusy)
	check(t, hasty.Close())
	with := newRunner(hasty, app, root, hasty.Plugin())
	for range 2 {
		must(run(t, with, "s", agent.StreamingModeNone))
	}
}
