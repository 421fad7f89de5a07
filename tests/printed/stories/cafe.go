// The agent of docs/clients.md.
package main

import (
	"context"
	"fmt"
	"iter"
	"os"

	"google.golang.org/adk/v2/agent"
	"google.golang.org/adk/v2/agent/llmagent"
	"google.golang.org/adk/v2/model"
	"google.golang.org/adk/v2/runner"
	"google.golang.org/adk/v2/tool"
	"google.golang.org/adk/v2/tool/functiontool"
	"google.golang.org/genai"

	"github.com/sessiond/sessiond/clients/go"
)

<<< docs/clients.md: func takeOrder

type scripted struct{}

func (scripted) Name() string { return "scripted" }

func (scripted) GenerateContent(_ context.Context, request *model.LLMRequest, _ bool) iter.Seq2[*model.LLMResponse, error] {
	return func(yield func(*model.LLMResponse, error) bool) {
		said := genai.NewPartFromFunctionCall("take_order", map[string]any{"drink": "green tea"})
		last := request.Contents[len(request.Contents)-1]
		if last.Parts[0].FunctionResponse != nil {
			said = genai.NewPartFromText("Coming.")
		}
		yield(&model.LLMResponse{Content: genai.NewContentFromParts([]*genai.Part{said}, genai.RoleModel)}, nil)
	}
}

func main() {
	if err := run(context.Background(), scripted{}); err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
}
