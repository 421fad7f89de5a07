package sessiond_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log"

	"github.com/sessiond/sessiond/clients/go"
	"google.golang.org/adk/v2/agent"
	"google.golang.org/adk/v2/plugin"
	"google.golang.org/adk/v2/runner"
)

var cafe agent.Agent

func ExampleNew() {
	sessions, err := sessiond.New("http://127.0.0.1:8080")
	if err != nil {
		log.Fatal(err)
	}
	defer sessions.Close()

	r, err := runner.New(runner.Config{AppName: "cafe", Agent: cafe, SessionService: sessions})
	_, _ = r, err
}

func ExampleService_Plugin() {
	sessions, err := sessiond.New("http://127.0.0.1:8080", sessiond.WithConcurrency(sessiond.ConcurrencyLease))
	if err != nil {
		log.Fatal(err)
	}
	r, err := runner.New(runner.Config{
		AppName: "cafe", Agent: cafe, SessionService: sessions,
		PluginConfig: runner.PluginConfig{Plugins: []*plugin.Plugin{sessions.Plugin()}},
	})
	_, _ = r, err
}

type order struct{ Item string }

type placed struct{ Number json.Number }

func ExampleIncrement() {
	// A tool for functiontool.New.
	placeOrder := func(ctx agent.Context, order order) (placed, error) {
		number, err := sessiond.Increment(ctx, "app:orders", 1)
		if err != nil {
			return placed{}, err
		}
		_, err = sessiond.Append(ctx, "user:items", order.Item)
		return placed{Number: number}, err
	}
	_ = placeOrder
}

func ExampleApply() {
	win := func(ctx agent.Context, name string) (bool, error) {
		set := []sessiond.Op{{Op: "set", Key: "winner", Value: name}}
		_, err := sessiond.Apply(ctx, set, sessiond.IfExists("winner", false))
		if errors.Is(err, sessiond.ErrStale) {
			return false, nil // somebody was first
		}
		return err == nil, err
	}
	_ = win
}

func ExampleService_Watch() {
	follow := func(ctx context.Context, sessions *sessiond.Service, cursor string) error {
		request := &sessiond.WatchRequest{AppName: "cafe", UserID: "ada", SessionID: "s", After: cursor}
		for item, err := range sessions.Watch(ctx, request) {
			if err != nil {
				return err
			}
			switch item := item.(type) {
			case sessiond.EventItem:
				fmt.Println(item.Event.Author, item.Event.ID) // store item.Cursor() when its effect is stored
			case sessiond.CaughtUp:
				fmt.Println("What follows is new.")
			}
		}
		return nil
	}
	_ = follow
}
