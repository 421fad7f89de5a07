// Command serve runs the café under ADK's own launcher, with its REST API and its user interface.
package main

import (
	"context"
	"log"
	"os"

	"github.com/sessiond/sessiond/clients/go"
	"github.com/sessiond/sessiond/examples/adk-go/cafe"
	"google.golang.org/adk/v2/agent"
	"google.golang.org/adk/v2/cmd/launcher"
	"google.golang.org/adk/v2/cmd/launcher/full"
)

func main() {
	log.SetFlags(0)
	url := os.Getenv("SESSIOND_URL")
	if url == "" {
		url = "http://127.0.0.1:8080"
	}
	sessions, err := sessiond.New(url)
	if err != nil {
		log.Fatal(err)
	}
	agents, err := cafe.New()
	if err != nil {
		log.Fatal(err)
	}
	config := &launcher.Config{SessionService: sessions, AgentLoader: agent.NewSingleLoader(agents)}
	l := full.NewLauncher()
	if err := l.Execute(context.Background(), config, os.Args[1:]); err != nil {
		log.Fatalf("%v\n\n%s", err, l.CommandLineSyntax())
	}
}
