// Uses the client that oapi-codegen makes of the description of the API, in the folder api, against a real server.
//
//	go run . SESSIOND_BINARY
//
// scripts/openapi-client-go makes the client and runs this.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"reflect"
	"strings"
	"syscall"

	"check/api"
)

func main() {
	folder, err := os.MkdirTemp("", "sessiond-openapi-go-")
	must(err)
	url, stop := serve(os.Args[1], folder)
	err = use(url)
	stop()
	os.RemoveAll(folder)
	must(err)
	fmt.Println("The client that oapi-codegen makes of the description works.")
}

// serve starts a server on a file and a port of its own.
func serve(binary, folder string) (url string, stop func()) {
	server := exec.Command(binary, "--listen", "127.0.0.1:0", "--metrics-listen", "off", "--log-format", "json")
	server.Dir = folder
	for _, setting := range os.Environ() {
		if !strings.HasPrefix(setting, "SESSIOND_") && !strings.HasPrefix(setting, "DATABASE_URL=") {
			server.Env = append(server.Env, setting)
		}
	}
	stderr, err := server.StderrPipe()
	must(err)
	must(server.Start())
	lines := bufio.NewScanner(stderr)
	for url == "" && lines.Scan() {
		var line struct{ Message, Address string }
		if json.Unmarshal(lines.Bytes(), &line) == nil && line.Message == "listening" {
			url = "http://" + line.Address
		}
	}
	if url == "" {
		must(fmt.Errorf("%s did not start: %v", binary, server.Wait()))
	}
	go func() {
		for lines.Scan() {
		}
	}()
	return url, func() {
		_ = server.Process.Signal(syscall.SIGTERM)
		_ = server.Wait()
	}
}

// use does what a program does with a client: create, append, read, change, list, and meet an error.
func use(url string) error {
	ctx := context.Background()
	client, err := api.NewClientWithResponses(url)
	if err != nil {
		return err
	}
	const app, user, session = "shop", "ada/1", "s1"

	state := api.StateDelta{"topic": "returns", "user:name": "Ada"}
	draft := api.CreateSession{State: &state, SessionId: new(api.CreateSession_SessionId)}
	if err := draft.SessionId.FromSessionId(session); err != nil {
		return err
	}
	created, err := client.CreateSessionWithResponse(ctx, app, user, nil, draft)
	if err != nil {
		return err
	}
	if created.JSON201 == nil || created.JSON201.State == nil || (*created.JSON201.State)["user:name"] != "Ada" {
		return fmt.Errorf("created: %s", created.Body)
	}

	var event api.AppendEvents
	given := api.EventInput{Author: ptr("agent"), Actions: &api.ActionsInput{StateDelta: &api.StateDelta{"step": 1.0}}}
	if err := event.FromEventInput(given); err != nil {
		return err
	}
	first := api.AppendEventsParams{IfMatch: ptr(`"0"`)}
	appended, err := client.AppendEventsWithResponse(ctx, app, user, session, &first, event)
	if err != nil {
		return err
	}
	if appended.JSON201 == nil {
		return fmt.Errorf("appended: %s", appended.Body)
	}
	if stored, err := appended.JSON201.AsEvent(); err != nil || stored.Sequence != 1 {
		return fmt.Errorf("appended: %s: %v", appended.Body, err)
	}
	stale, err := client.AppendEventsWithResponse(ctx, app, user, session, &first, event)
	if err != nil {
		return err
	}
	if problem := stale.ApplicationproblemJSON412; problem == nil || problem.Code != "revision_mismatch" || *problem.Revision != 1 {
		return fmt.Errorf("stale: %s", stale.Body)
	}

	increment := api.StateOp{Key: "step", Op: api.StateOpOpIncrement, Value: 2}
	patched, err := client.PatchStateWithResponse(ctx, app, user, session, nil, api.PatchState{StateOps: &api.StateOps{increment}})
	if err != nil {
		return err
	}
	expected := api.State{"step": 3.0, "topic": "returns", "user:name": "Ada"}
	if patched.JSON200 == nil || !reflect.DeepEqual(*patched.JSON200, expected) {
		return fmt.Errorf("patched: %s", patched.Body)
	}

	read, err := client.GetSessionWithResponse(ctx, app, user, session, &api.GetSessionParams{NumRecentEvents: ptr(1)})
	if err != nil {
		return err
	}
	if read.JSON200 == nil || read.JSON200.Revision != 2 || len(read.JSON200.Events) != 1 || !reflect.DeepEqual(read.JSON200.State, expected) {
		return fmt.Errorf("read: %s", read.Body)
	}
	listed, err := client.ListSessionsWithResponse(ctx, app, user, nil)
	if err != nil {
		return err
	}
	if listed.JSON200 == nil || len(listed.JSON200.Sessions) != 1 || listed.JSON200.Sessions[0].Id != session {
		return fmt.Errorf("listed: %s", listed.Body)
	}
	gone, err := client.GetSessionWithResponse(ctx, app, user, "none", nil)
	if err != nil {
		return err
	}
	if problem := gone.ApplicationproblemJSON404; problem == nil || problem.Code != "session_not_found" {
		return fmt.Errorf("gone: %s", gone.Body)
	}
	return nil
}

func ptr[T any](value T) *T { return &value }

func must(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}
