// Command matrix does what the test across languages asks for: it reads a JSON object a line, does that with the client
// for Go, and writes a JSON object a line, until its input ends. The server is that of SESSIOND_URL.
package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log"
	"maps"
	"math"
	"os"
	"time"

	"github.com/sessiond/sessiond/clients/go"
	"google.golang.org/adk/v2/artifact"
	"google.golang.org/adk/v2/model"
	"google.golang.org/adk/v2/session"
	"google.golang.org/genai"
)

type command struct {
	Do, App, User, Session string

	Event struct {
		ID, Author, InvocationID, Text string
		Timestamp                      float64
		StateDelta                     map[string]any
		ArtifactDelta                  map[string]int64
	}
	To    string
	Key   string
	By    json.Number
	Count int

	Name, MIMEType, DisplayName string
	Text                        *string
	Data                        []byte
	Version                     int64
}

type answer map[string]any

func main() {
	sessions, err := sessiond.New(os.Getenv("SESSIOND_URL"))
	if err != nil {
		log.Fatal(err)
	}
	input := bufio.NewReader(os.Stdin)
	output := json.NewEncoder(os.Stdout)
	for {
		line, err := input.ReadBytes('\n')
		if len(line) > 1 {
			if err := output.Encode(answerTo(context.Background(), sessions, line)); err != nil {
				log.Fatal(err)
			}
		}
		if err != nil {
			return
		}
	}
}

func answerTo(ctx context.Context, sessions *sessiond.Service, line []byte) answer {
	said, err := do(ctx, sessions, line)
	if err == nil {
		said["ok"] = true
		return said
	}
	said = answer{"ok": false, "error": err.Error(), "code": nil, "status": nil}
	var failure *sessiond.Error
	if errors.As(err, &failure) {
		if failure.Code != "" {
			said["code"] = failure.Code
		}
		if failure.Status != 0 {
			said["status"] = failure.Status
		}
	}
	return said
}

func do(ctx context.Context, sessions *sessiond.Service, line []byte) (answer, error) {
	var c command
	decoder := json.NewDecoder(bytes.NewReader(line))
	decoder.UseNumber()
	if err := decoder.Decode(&c); err != nil {
		return nil, err
	}
	switch c.Do {
	case "watch":
		return watch(ctx, sessions, c)
	case "save", "load", "files":
		return doWithFiles(ctx, sessions.Artifacts(), c)
	}
	found, err := sessions.Get(ctx, &session.GetRequest{AppName: c.App, UserID: c.User, SessionID: c.Session})
	if err != nil {
		return nil, err
	}
	switch c.Do {
	case "get":
		ids, told, files := []string{}, [][2]string{}, map[string]int64{}
		for event := range found.Session.Events().All() {
			ids = append(ids, event.ID)
			if event.Content != nil {
				for _, part := range event.Content.Parts {
					if part.Text != "" {
						told = append(told, [2]string{event.Author, part.Text})
					}
				}
			}
			maps.Copy(files, event.Actions.ArtifactDelta)
		}
		updated := float64(found.Session.LastUpdateTime().UnixMicro()) / 1e6
		said := answer{"state": state(found.Session), "events": ids, "lastUpdateTime": updated}
		said["said"], said["artifacts"] = told, files
		return said, nil
	case "append":
		err := sessions.AppendEvent(ctx, found.Session, &session.Event{
			ID:           c.Event.ID,
			Author:       c.Event.Author,
			InvocationID: c.Event.InvocationID,
			Timestamp:    time.UnixMicro(int64(math.Round(c.Event.Timestamp * 1e6))).UTC(),
			LLMResponse:  model.LLMResponse{Content: genai.NewContentFromText(c.Event.Text, genai.RoleModel)},
			Actions:      session.EventActions{StateDelta: c.Event.StateDelta, ArtifactDelta: c.Event.ArtifactDelta},
		})
		return answer{"state": state(found.Session)}, err
	case "copy":
		to, err := sessions.Get(ctx, &session.GetRequest{AppName: c.App, UserID: c.User, SessionID: c.To})
		if err != nil {
			return nil, err
		}
		// What the framework has of each event, and nothing else, goes into the other session.
		for event := range found.Session.Events().All() {
			if err := sessions.AppendEvent(ctx, to.Session, event); err != nil {
				return nil, err
			}
		}
		return answer{}, nil
	case "increment":
		values, err := sessions.Apply(ctx, found.Session, sessiond.Change{
			Ops: []sessiond.Op{{Op: "increment", Key: c.Key, Value: c.By}},
		})
		return answer{"value": values[c.Key]}, err
	}
	return nil, fmt.Errorf("there is no command %q", c.Do)
}

func doWithFiles(ctx context.Context, files *sessiond.Artifacts, c command) (answer, error) {
	switch c.Do {
	case "save":
		part := &genai.Part{InlineData: &genai.Blob{Data: c.Data, MIMEType: c.MIMEType, DisplayName: c.DisplayName}}
		if c.Text != nil {
			part = genai.NewPartFromText(*c.Text)
		}
		said, err := files.Save(ctx, &artifact.SaveRequest{
			AppName: c.App, UserID: c.User, SessionID: c.Session, FileName: c.Name, Part: part,
		})
		if err != nil {
			return nil, err
		}
		return answer{"version": said.Version}, nil
	case "load":
		said, err := files.Load(ctx, &artifact.LoadRequest{
			AppName: c.App, UserID: c.User, SessionID: c.Session, FileName: c.Name, Version: c.Version,
		})
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return answer{}, nil
		case err != nil:
			return nil, err
		case said.Part.InlineData == nil:
			return answer{"text": said.Part.Text}, nil
		}
		blob := said.Part.InlineData
		file := answer{"data": blob.Data, "mimeType": blob.MIMEType}
		if blob.DisplayName != "" {
			file["displayName"] = blob.DisplayName
		}
		return file, nil
	}
	said, err := files.List(ctx, &artifact.ListRequest{AppName: c.App, UserID: c.User, SessionID: c.Session})
	if err != nil {
		return nil, err
	}
	return answer{"names": said.FileNames}, nil
}

func watch(ctx context.Context, sessions *sessiond.Service, c command) (answer, error) {
	ids := []string{}
	request := &sessiond.WatchRequest{AppName: c.App, UserID: c.User, SessionID: c.Session}
	if c.Count <= 0 {
		return answer{"events": ids}, nil
	}
	for item, err := range sessions.Watch(ctx, request) {
		if err != nil {
			return nil, err
		}
		if event, ok := item.(sessiond.EventItem); ok {
			if ids = append(ids, event.Event.ID); len(ids) == c.Count {
				break
			}
		}
	}
	return answer{"events": ids}, nil
}

func state(of session.Session) map[string]any {
	values := map[string]any{}
	for key, value := range of.State().All() {
		values[key] = value
	}
	return values
}
