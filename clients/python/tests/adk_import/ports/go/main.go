// Writes sessions with ADK for Go's own session service into a SQLite file: `make FILE < sessions.json`.
package main

import (
	"context"
	"encoding/json"
	"log"
	"math"
	"os"
	"time"

	"github.com/glebarez/sqlite"
	"google.golang.org/adk/v2/session"
	"google.golang.org/adk/v2/session/database"
)

type planned struct {
	App    string           `json:"appName"`
	User   string           `json:"userId"`
	ID     string           `json:"id"`
	State  map[string]any   `json:"state"`
	Events []map[string]any `json:"events"`
}

func main() {
	var sessions []planned
	must(json.NewDecoder(os.Stdin).Decode(&sessions))
	service, err := database.NewSessionService(sqlite.Open(os.Args[1]))
	must(err)
	must(database.AutoMigrate(service))
	ctx := context.Background()
	for _, plan := range sessions {
		created, err := service.Create(ctx, &session.CreateRequest{
			AppName: plan.App, UserID: plan.User, SessionID: plan.ID, State: plan.State,
		})
		must(err)
		for _, fields := range plan.Events {
			seconds := fields["timestamp"].(float64)
			delete(fields, "timestamp")
			text, err := json.Marshal(fields)
			must(err)
			event := session.NewEvent(ctx, "")
			must(json.Unmarshal(text, event))
			event.Timestamp = time.UnixMicro(int64(math.Round(seconds * 1e6)))
			must(service.AppendEvent(ctx, created.Session, event))
		}
	}
}

func must(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
