// The parts of the README, which are compiled.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"

	"google.golang.org/adk/v2/agent"
	"google.golang.org/adk/v2/cmd/launcher"
	"google.golang.org/adk/v2/plugin"
	"google.golang.org/adk/v2/runner"
	"google.golang.org/genai"
)

<<< imports

type order struct{ Item string }

type placed struct{ Number any }

type report struct{ Page []byte }

type written struct{ Version int64 }

func main() { _ = []any{first, access, turns, placeOrder, win, writeReport, follow} }

func first(cafe agent.Agent) error {
	<<< clients/go/README.md: launcher.Config
	_, _ = r, config
	return err
}

func access(url string) error {
	<<< clients/go/README.md: WithTokenSource
	_ = sessions
	return err
}

func turns(url string, cafe agent.Agent) error {
	<<< clients/go/README.md: sessions.Plugin()
	_ = r
	return err
}

<<< clients/go/README.md: func placeOrder

func win(ctx agent.Context) error {
	<<< clients/go/README.md: IfExists("winner", false)
	}
	return err
}

<<< clients/go/README.md: func writeReport

func follow(ctx context.Context, sessions *sessiond.Service, cursor string) error {
	<<< clients/go/README.md: sessiond.WatchRequest
	return nil
}
