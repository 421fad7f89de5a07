package sessiond

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/adk/v2/session"
)

// scale makes pauses short.
const scale = 0.05

// wireCase is what these tests read of a case of clients/wire/requests.json.
type wireCase struct {
	Do       []string
	Only     []string
	Once     bool
	Away     bool
	Attempts int
	Items    int
	Together int
	Token    string
	Tokens   []*string
	RetryFor float64
	Timeout  float64
	Silence  float64
}

// did is what a client made of the answers, as the fake server takes it.
type did struct {
	Language string           `json:"language"`
	URL      string           `json:"url"`
	Scale    float64          `json:"scale"`
	Asked    int32            `json:"asked"`
	Items    []string         `json:"items"`
	Log      []string         `json:"log"`
	Results  []map[string]any `json:"results"`
}

// fakeServer starts clients/wire/fake_server.py. It returns its URL, and one where nobody listens.
func fakeServer(t *testing.T) (url, away string) {
	t.Helper()
	command := exec.Command("python3", "../wire/fake_server.py")
	command.Stderr = os.Stderr
	input, inputErr := command.StdinPipe()
	output, outputErr := command.StdoutPipe()
	check(t, errors.Join(inputErr, outputErr, command.Start()))
	t.Cleanup(func() {
		_ = input.Close()
		_ = command.Wait()
	})
	must(fmt.Fscan(output, &url, &away))
	return url, away
}

// told is an error as the fake server takes it.
func told(t *testing.T, err error) map[string]any {
	var failure *Error
	if err == nil {
		return nil
	}
	kind := "other"
	for word, is := range map[string]error{
		"not_found": ErrNotFound, "exists": ErrExists, "stale": ErrStale, "busy": ErrBusy, "input": ErrInput,
		"denied": ErrDenied, "gone": ErrPositionGone,
	} {
		if errors.Is(err, is) {
			kind = word
		}
	}
	said := map[string]any{"kind": kind, "text": err.Error()}
	if !errors.As(err, &failure) {
		return said
	}
	isSaid := strings.Contains(err.Error(), "unknown") == (failure.Outcome == "unknown")
	if failure.Attempts < 1 || failure.Status == 0 && failure.Err == nil || !isSaid {
		t.Errorf("%+v", failure)
	}
	fields := map[string]string{"code": failure.Code, "outcome": failure.Outcome, "requestId": failure.RequestID}
	for name, text := range fields {
		if text != "" {
			said[name] = text
		}
	}
	if failure.Status != 0 {
		said["status"] = failure.Status
	}
	return said
}

func (c *wireCase) options(asked *atomic.Int32, log *bytes.Buffer) []Option {
	tries, retryFor, timeout := 5, 30*time.Second, 15*time.Second
	if c.Attempts > 0 {
		tries = c.Attempts
	}
	if c.Once {
		tries = 1
	}
	if c.RetryFor > 0 {
		retryFor = seconds(c.RetryFor)
	}
	if c.Timeout > 0 {
		timeout = seconds(c.Timeout)
	}
	options := []Option{WithTimeout(timeout), WithLogger(slog.New(slog.NewTextHandler(log, nil)))}
	if tries != 5 || c.RetryFor > 0 {
		options = append(options, WithRetry(tries, retryFor))
	}
	switch {
	case c.Tokens != nil:
		options = append(options, WithTokenSource(func(context.Context) (string, error) {
			token := c.Tokens[asked.Add(1)-1]
			if token == nil {
				return "", errors.New("there is none")
			}
			return *token, nil
		}))
	case c.Token != "":
		options = append(options, WithToken(c.Token))
	}
	return options
}

func seconds(count float64) time.Duration { return time.Duration(count * float64(time.Second)) }

// do takes a step of a case.
func (c *wireCase) do(ctx context.Context, s *Service, step string, one session.Session, added *session.Event, items *[]string) error {
	var err error
	switch step {
	case "append":
		err = s.AppendEvent(ctx, one, added)
	case "create":
		_, err = s.Create(ctx, &session.CreateRequest{AppName: "a", UserID: "u", SessionID: "s", State: map[string]any{"k": "hunter2"}})
	case "get":
		_, err = s.Get(ctx, &session.GetRequest{AppName: "a", UserID: "u", SessionID: "s"})
	case "list":
		_, err = s.List(ctx, &session.ListRequest{AppName: "a", UserID: "u"})
	case "delete":
		err = s.Delete(ctx, &session.DeleteRequest{AppName: "a", UserID: "u", SessionID: "s"})
	case "watch":
		for item, err := range s.Watch(ctx, watchOf(one)) {
			switch item := item.(type) {
			case nil:
				return err
			case EventItem:
				*items = append(*items, "event "+item.Event.ID+" "+item.Cursor())
			case CaughtUp:
				*items = append(*items, "caught_up "+item.Cursor())
			case Deleted:
				*items = append(*items, "deleted "+item.Cursor())
			}
			if len(*items) == c.Items {
				return nil
			}
		}
	}
	return err
}

func TestEachAnswerIsMetAsTheDataSays(t *testing.T) {
	fake, away := fakeServer(t)
	content := must(os.ReadFile("../wire/requests.json"))
	var wire struct{ Cases map[string]*wireCase }
	check(t, json.Unmarshal(content, &wire))
	// Most cases wait. All at once would take one another's time on a slow machine.
	places := make(chan struct{}, 8)
	var all sync.WaitGroup
	for name, c := range wire.Cases {
		if c.Only == nil || slices.Contains(c.Only, "go") {
			all.Go(func() {
				places <- struct{}{}
				defer func() { <-places }()
				for _, wrong := range c.complaints(t, name, fake, away) {
					t.Error(wrong)
				}
			})
		}
	}
	all.Wait()
}

// complaints returns what the fake server finds wrong after a case.
func (c *wireCase) complaints(t *testing.T, name, fake, away string) (wrong []string) {
	var log bytes.Buffer
	var asked atomic.Int32
	saw := did{Language: "go", URL: fake + "/go/" + name, Scale: scale, Log: []string{}, Items: []string{}}
	if c.Away {
		saw.URL = away + "/go/" + name
	}
	s, err := New(saw.URL+"/", c.options(&asked, &log)...)
	if err != nil {
		return []string{err.Error()}
	}
	defer s.Close()
	s.client.firstPause, s.client.longestPause = seconds(scale*firstPause.Seconds()), seconds(scale*longestPause.Seconds())
	if c.Silence > 0 {
		s.silence = seconds(c.Silence)
	}
	one := &stored{service: s, appName: "a", userID: "u", id: "s", turn: make(chan struct{}, 1), state: map[string]any{}}
	added := event("e1", map[string]any{"k": "hunter2"})
	for _, step := range c.Do {
		results := make([]map[string]any, max(c.Together, 1))
		var all sync.WaitGroup
		for i := range results {
			all.Go(func() { results[i] = told(t, c.do(t.Context(), s, step, one, added, &saw.Items)) })
		}
		all.Wait()
		saw.Results = append(saw.Results, results...)
	}
	saw.Asked = asked.Load()
	for line := range strings.Lines(log.String()) {
		saw.Log = append(saw.Log, line)
	}
	body, err := json.Marshal(saw)
	if err != nil {
		return []string{err.Error()}
	}
	response, err := http.Post(fake+"/check/go/"+name, "application/json", bytes.NewReader(body))
	if err != nil {
		return []string{err.Error()}
	}
	defer response.Body.Close()
	if err := json.NewDecoder(response.Body).Decode(&wrong); err != nil {
		return []string{err.Error()}
	}
	return wrong
}
