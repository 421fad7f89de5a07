// Command adk-go says something to the agents of the café, in a new session: go run . USER MESSAGE.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"log"
	"os"
	"strings"

	"github.com/sessiond/sessiond/clients/go"
	"github.com/sessiond/sessiond/examples/adk-go/cafe"
	"google.golang.org/adk/v2/agent"
	"google.golang.org/adk/v2/runner"
	"google.golang.org/adk/v2/session"
	"google.golang.org/genai"
)

func main() {
	log.SetFlags(0)
	if len(os.Args) != 3 {
		log.Fatal("go run . USER MESSAGE")
	}
	if err := run(context.Background(), os.Args[1], os.Args[2]); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, user, message string) error {
	url := os.Getenv("SESSIOND_URL")
	if url == "" {
		url = "http://127.0.0.1:8080"
	}
	sessions, err := sessiond.New(url)
	if err != nil {
		return err
	}
	defer sessions.Close()
	agents, err := cafe.New()
	if err != nil {
		return err
	}
	r, err := runner.New(runner.Config{AppName: "cafe", Agent: agents, SessionService: sessions})
	if err != nil {
		return err
	}
	created, err := sessions.Create(ctx, &session.CreateRequest{AppName: "cafe", UserID: user})
	if err != nil {
		return err
	}
	fmt.Printf("%s: %s\n", user, message)
	said := genai.NewContentFromText(message, genai.RoleUser)
	for event, err := range r.Run(ctx, user, created.Session.ID(), said, agent.RunConfig{}) {
		if err != nil {
			return err
		}
		if event.Content == nil {
			continue
		}
		for _, part := range event.Content.Parts {
			if part.Text != "" {
				fmt.Printf("%s: %s\n", event.Author, part.Text)
			}
		}
	}

	// As stored, for any other process to read.
	stored, err := sessions.Get(ctx, &session.GetRequest{AppName: "cafe", UserID: user, SessionID: created.Session.ID()})
	if err != nil {
		return err
	}
	state := map[string]map[string]any{"app": {}, "user": {}, "session": {}}
	for key, value := range stored.Session.State().All() {
		scope, _, prefixed := strings.Cut(key, ":")
		if !prefixed {
			scope = "session"
		}
		state[scope][key] = value
	}
	for _, scope := range []string{"app", "user", "session"} {
		shown, err := json.Marshal(state[scope])
		if err != nil {
			return err
		}
		fmt.Printf("%-14s %s\n", scope+" state:", shown)
	}
	return nil
}
