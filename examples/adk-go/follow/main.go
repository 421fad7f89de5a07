// Command follow follows the latest session of a user, while another program drives it: go run ./follow USER.
package main

import (
	"context"
	"fmt"
	"log"
	"os"
	"os/signal"

	"github.com/sessiond/sessiond/clients/go"
	"google.golang.org/adk/v2/session"
)

func main() {
	log.SetFlags(0)
	if len(os.Args) != 2 {
		log.Fatal("go run ./follow USER")
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := follow(ctx, os.Args[1]); err != nil && ctx.Err() == nil {
		log.Fatal(err)
	}
}

func follow(ctx context.Context, user string) error {
	url := os.Getenv("SESSIOND_URL")
	if url == "" {
		url = "http://127.0.0.1:8080"
	}
	sessions, err := sessiond.New(url)
	if err != nil {
		return err
	}
	found, err := sessions.List(ctx, &session.ListRequest{AppName: "cafe", UserID: user})
	if err != nil {
		return err
	}
	if len(found.Sessions) == 0 {
		return fmt.Errorf("%s has no session yet", user)
	}
	latest := found.Sessions[len(found.Sessions)-1]
	request := &sessiond.WatchRequest{AppName: "cafe", UserID: user, SessionID: latest.ID()}
	// What was said so far, and then what is said now. It survives restarts of sessiond.
	for item, err := range sessions.Watch(ctx, request) {
		if err != nil {
			return err
		}
		switch item := item.(type) {
		case sessiond.EventItem:
			if item.Event.Content == nil {
				continue
			}
			for _, part := range item.Event.Content.Parts {
				if part.Text != "" {
					fmt.Printf("%s: %s\n", item.Event.Author, part.Text)
				}
			}
		case sessiond.Deleted:
			fmt.Printf("The session is gone: %s.\n", item.Reason)
		}
	}
	return nil
}
