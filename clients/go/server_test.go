package sessiond

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"google.golang.org/adk/v2/platform"
	"google.golang.org/adk/v2/session"
)

// shared is a server for all tests that do not stop it.
var shared *server

func TestMain(m *testing.M) {
	// The tests say themselves which credential is sent.
	_ = os.Unsetenv("SESSIOND_TOKEN")
	folder, err := os.MkdirTemp("", "sessiond-go-")
	if err != nil {
		panic(err)
	}
	shared = &server{folder: folder}
	if err := shared.start(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		_ = os.RemoveAll(folder)
		os.Exit(1)
	}
	code := m.Run()
	shared.signal("TERM")
	_ = os.RemoveAll(folder)
	os.Exit(code)
}

// server is a running sessiond on SQLite.
type server struct {
	folder  string
	address string
	process *exec.Cmd
	stdin   io.WriteCloser
}

// Runs the program `$@`, and sends it the signal that the line on its input names: KILL if that ends without one, as when
// the tests are killed. So the program never outlives them.
const guard = `"$@" </dev/null & read -r signal; kill "-${signal:-KILL}" $!; wait $!`

// ownServer starts a server for one test, which may stop and start it.
func ownServer(t *testing.T) *server {
	t.Helper()
	s := &server{folder: t.TempDir()}
	check(t, s.start())
	t.Cleanup(func() { s.signal("KILL") })
	return s
}

// start starts the server, at its address if it had one.
func (s *server) start() error {
	program := os.Getenv("SESSIOND_BIN")
	if program == "" {
		program = "../../target/debug/sessiond"
	}
	program, err := filepath.Abs(program)
	if err != nil {
		return err
	}
	if _, err := os.Stat(program); err != nil {
		return fmt.Errorf("%w: build the server, or say in SESSIOND_BIN where it is", err)
	}
	address := s.address
	if address == "" {
		address = "127.0.0.1:0"
	}
	log, err := os.Create(filepath.Join(s.folder, "log"))
	if err != nil {
		return err
	}
	defer log.Close()
	s.process = exec.Command("sh", "-c", guard, "guard", program, "serve", "--listen", address,
		"--database-url", "sqlite://"+filepath.Join(s.folder, "db"))
	s.process.Stdout, s.process.Stderr = log, log
	if s.stdin, err = s.process.StdinPipe(); err != nil {
		return err
	}
	if err := s.process.Start(); err != nil {
		return err
	}
	listening := regexp.MustCompile(`"message":"listening","address":"([^"]+)"`)
	for deadline := time.Now().Add(30 * time.Second); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		said, _ := os.ReadFile(log.Name())
		if found := listening.FindSubmatch(said); found != nil {
			s.address = string(found[1])
			return nil
		}
	}
	s.signal("KILL")
	said, _ := os.ReadFile(log.Name())
	return fmt.Errorf("%s does not start: %s", program, said)
}

// signal ends the server and waits for its end.
func (s *server) signal(name string) {
	if s.process != nil {
		_, _ = io.WriteString(s.stdin, name+"\n")
		_ = s.process.Wait()
		s.process = nil
	}
}

func (s *server) url() string { return "http://" + s.address }

var quiet = slog.New(slog.DiscardHandler)

// service returns one of the shared server.
func service(t *testing.T, options ...Option) *Service {
	t.Helper()
	return serviceAt(t, shared.url(), options...)
}

func serviceAt(t *testing.T, url string, options ...Option) *Service {
	t.Helper()
	s := must(New(url, append([]Option{WithLogger(quiet)}, options...)...))
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// app returns the name of an app that no other test uses.
func app() string { return "app_" + platform.NewUUID(context.Background()) }

func create(t *testing.T, s *Service, app, user, id string, state map[string]any) session.Session {
	t.Helper()
	created := must(s.Create(t.Context(), &session.CreateRequest{AppName: app, UserID: user, SessionID: id, State: state}))
	return created.Session
}

func load(t *testing.T, s *Service, of session.Session) session.Session {
	t.Helper()
	found := must(s.Get(t.Context(), &session.GetRequest{AppName: of.AppName(), UserID: of.UserID(), SessionID: of.ID()}))
	return found.Session
}

func event(id string, delta map[string]any) *session.Event {
	return &session.Event{ID: id, Author: "user", InvocationID: "i1", Actions: session.EventActions{StateDelta: delta}}
}

func add(t *testing.T, s *Service, to session.Session, id string, delta map[string]any) *session.Event {
	t.Helper()
	added := event(id, delta)
	check(t, s.AppendEvent(t.Context(), to, added))
	return added
}

func stateOf(s session.Session) map[string]any {
	state := map[string]any{}
	for key, value := range s.State().All() {
		state[key] = value
	}
	return state
}

func idsOf(s session.Session) []string {
	ids := []string{}
	for event := range s.Events().All() {
		ids = append(ids, event.ID)
	}
	return ids
}

// plainly sends a request as another client of the shared server, which knows nothing of ADK.
func plainly(t *testing.T, method, path, body string) (int, string) {
	t.Helper()
	r := must(http.NewRequestWithContext(context.Background(), method, shared.url()+"/v1"+path, strings.NewReader(body)))
	r.Header.Set("Content-Type", "application/json")
	answer := must(http.DefaultClient.Do(r))
	defer answer.Body.Close()
	content := must(io.ReadAll(answer.Body))
	return answer.StatusCode, string(content)
}

// post appends an event as another client.
func post(t *testing.T, to session.Session, event string) {
	t.Helper()
	status, said := plainly(t, "POST", strings.TrimPrefix(to.(*stored).path(), "/v1")+"/events", event)
	if status != http.StatusCreated {
		t.Fatal(status, said)
	}
}

// check ends a test whose call must work and does not.
func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// must returns what a call made that must work.
func must[T any](made T, err error) T {
	if err != nil {
		panic(err)
	}
	return made
}

// is asks for an error of a kind.
func is(t *testing.T, err, kind error) {
	t.Helper()
	if !errors.Is(err, kind) {
		t.Fatalf("%v, and not %v", err, kind)
	}
}

// failureOf asks for an error about a request.
func failureOf(t *testing.T, err error) *Error {
	t.Helper()
	var failure *Error
	if !errors.As(err, &failure) {
		t.Fatal(err)
	}
	return failure
}

func equal(t *testing.T, got, want any) {
	t.Helper()
	// As JSON shows them, with the order of keys fixed, and the kinds of numbers seen.
	a, b := fmt.Sprintf("%#v", got), fmt.Sprintf("%#v", want)
	if a != b {
		t.Fatalf("got  %s\nwant %s", a, b)
	}
}

func jsonOf(t *testing.T, v any) string {
	t.Helper()
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	check(t, encoder.Encode(v))
	return strings.TrimSpace(text.String())
}
