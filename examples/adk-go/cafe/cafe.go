// Package cafe has the agents of a café. Their model is scripted, so they need no key; a real one would be used in the
// same way.
package cafe

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"regexp"

	"github.com/sessiond/sessiond/clients/go"
	"google.golang.org/adk/v2/agent"
	"google.golang.org/adk/v2/agent/llmagent"
	"google.golang.org/adk/v2/agent/workflowagents/sequentialagent"
	"google.golang.org/adk/v2/model"
	"google.golang.org/adk/v2/tool"
	"google.golang.org/adk/v2/tool/functiontool"
	"google.golang.org/genai"
)

// New returns a waiter, a barista and a server, in a row.
func New() (agent.Agent, error) {
	order, err := functiontool.New(functiontool.Config{Name: "take_order", Description: "Takes an order."}, takeOrder)
	if err != nil {
		return nil, err
	}
	// The values of state that ADK puts into the instructions are between angle brackets, for the scripts to find.
	configs := []llmagent.Config{{
		Name:        "waiter",
		Instruction: "Take the order. The guest is <{user:name?}>, who usually has <{user:usual?}>.",
		Model:       scripted(waiterSays),
		Tools:       []tool.Tool{order},
	}, {
		Name:        "barista",
		Instruction: "Make <{drink}>.",
		Model:       scripted(baristaSays),
		// From one agent to the next, and not stored.
		OutputKey: "temp:made",
	}, {
		Name:        "server",
		Instruction: "Serve order <{app:orders}>: <{temp:made}>, for <{user:name}>.",
		Model:       scripted(serverSays),
		OutputKey:   "served",
	}}
	var row []agent.Agent
	for _, config := range configs {
		one, err := llmagent.New(config)
		if err != nil {
			return nil, err
		}
		row = append(row, one)
	}
	return sequentialagent.New(sequentialagent.Config{AgentConfig: agent.Config{Name: "cafe", SubAgents: row}})
}

type order struct {
	Drink string `json:"drink"`
	Guest string `json:"guest"`
}

type taken struct {
	Number json.Number `json:"number"`
}

func takeOrder(ctx agent.Context, order order) (taken, error) {
	for key, value := range map[string]string{
		"drink":      order.Drink, // of this session
		"user:name":  order.Guest, // of this user, in every session
		"user:usual": order.Drink,
	} {
		if err := ctx.State().Set(key, value); err != nil {
			return taken{}, err
		}
	}
	// Of the app: of all users, who may order at the same time. Read, add one and write back would lose orders.
	number, err := sessiond.Increment(ctx, "app:orders", 1)
	return taken{number}, err
}

// scripted is a model that answers by a rule, from the instruction and from the last thing that it was told.
type scripted func(instruction string, last *genai.Part) *genai.Part

func (scripted) Name() string { return "scripted" }

func (rule scripted) GenerateContent(
	_ context.Context, req *model.LLMRequest, _ bool,
) iter.Seq2[*model.LLMResponse, error] {
	return func(yield func(*model.LLMResponse, error) bool) {
		said := req.Contents[len(req.Contents)-1].Parts
		answer := rule(req.Config.SystemInstruction.Parts[0].Text, said[len(said)-1])
		content := genai.NewContentFromParts([]*genai.Part{answer}, genai.RoleModel)
		yield(&model.LLMResponse{Content: content}, nil)
	}
}

var (
	bracketed = regexp.MustCompile(`<(.*?)>`)
	named     = regexp.MustCompile(`I am (\w+)`)
	ordered   = regexp.MustCompile(`[Aa] ([\w ]+), please`)
)

func waiterSays(instruction string, last *genai.Part) *genai.Part {
	if last.FunctionResponse != nil {
		return genai.NewPartFromText("Coming.")
	}
	known := bracketed.FindAllStringSubmatch(instruction, 2)
	name, drink := known[0][1], known[1][1]
	if said := named.FindStringSubmatch(last.Text); said != nil {
		name = said[1]
	}
	if said := ordered.FindStringSubmatch(last.Text); said != nil {
		drink = said[1]
	}
	return genai.NewPartFromFunctionCall("take_order", map[string]any{"drink": drink, "guest": name})
}

func baristaSays(instruction string, _ *genai.Part) *genai.Part {
	known := bracketed.FindStringSubmatch(instruction)
	return genai.NewPartFromText(fmt.Sprintf("one %s, hot", known[1]))
}

func serverSays(instruction string, _ *genai.Part) *genai.Part {
	known := bracketed.FindAllStringSubmatch(instruction, 3)
	return genai.NewPartFromText(fmt.Sprintf("Order %s: %s, for %s.", known[0][1], known[1][1], known[2][1]))
}
