package sessiond

import (
	"bufio"
	"bytes"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/adk/v2/agent"
	"google.golang.org/adk/v2/agent/llmagent"
	"google.golang.org/adk/v2/tool"
)

// build returns a program of a folder.
func build(t *testing.T, folder, program string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "program")
	command := exec.CommandContext(t.Context(), "go", "build", "-o", path, program)
	command.Dir = folder
	if said, err := command.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, said)
	}
	return path
}

// start runs a program on a server, until the test ends, when its input does; it returns what the program prints.
func start(t *testing.T, on *server, path string, arguments ...string) *bufio.Scanner {
	t.Helper()
	command := exec.Command(path, arguments...)
	command.Env = append(os.Environ(), "SESSIOND_URL="+on.url())
	input := must(command.StdinPipe())
	output := must(command.StdoutPipe())
	var said bytes.Buffer
	command.Stderr = &said
	check(t, command.Start())
	t.Cleanup(func() {
		_ = input.Close()
		_ = command.Wait()
		if t.Failed() {
			t.Log(said.String())
		}
	})
	return bufio.NewScanner(output)
}

func TestTheCafe(t *testing.T) {
	const example = "../../examples/adk-go"
	readme := must(os.ReadFile(filepath.Join(example, "README.md")))
	// Its commands count from one.
	own := ownServer(t)
	cafe := build(t, example, ".")
	for _, c := range [][]string{
		{"ada", "I am Ada. A green tea, please."}, {"bob", "I am Bob. A coffee, please."}, {"ada", "The usual, please."},
	} {
		command := exec.CommandContext(t.Context(), cafe, c...)
		command.Env = append(os.Environ(), "SESSIOND_URL="+own.url())
		said, err := command.CombinedOutput()
		if err != nil {
			t.Fatalf("%v: %s", err, said)
		}
		if shown := fmt.Sprintf("$ go run . %s \"%s\"\n%s", c[0], c[1], said); !bytes.Contains(readme, []byte(shown)) {
			t.Errorf("README.md does not show\n%s", shown)
		}
	}

	// ADK's launcher, and one who follows what is said there.
	listener := must(net.Listen("tcp", "127.0.0.1:0"))
	_, port, _ := net.SplitHostPort(listener.Addr().String())
	_ = listener.Close()
	start(t, own, "sh", "-c", guard, "guard", build(t, example, "./serve"), "web", "-port", port, "api")
	api := "http://127.0.0.1:" + port + "/api"
	sessions := serviceAt(t, own.url())
	created := create(t, sessions, "cafe", "user", "s", nil)
	said := `{"appName":"cafe","userId":"user","sessionId":"s","newMessage":{"role":"user","parts":[{"text":"I am Eve. A mint tea, please."}]}}`
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(20 * time.Millisecond) {
		answer, err := http.Post(api+"/run", "application/json", strings.NewReader(said))
		if err == nil {
			defer answer.Body.Close()
			equal(t, answer.StatusCode, http.StatusOK)
			break
		}
		if time.Now().After(deadline) {
			t.Fatal(err)
		}
	}
	output := start(t, own, "sh", "-c", guard, "guard", build(t, example, "./follow"), "user")
	for _, want := range []string{
		"user: I am Eve. A mint tea, please.", "waiter: Coming.", "barista: one mint tea, hot",
		"server: Order 4: one mint tea, hot, for Eve.",
	} {
		if !output.Scan() || output.Text() != want {
			t.Fatal(output.Text(), output.Err())
		}
	}
	remove(t, sessions, created)
	if !output.Scan() || output.Text() != "The session is gone: deleted." {
		t.Fatal(output.Text(), output.Err())
	}
}

// An agent in a process of its own, whose tool dies where it is told to.
func TestProgramThatDies(t *testing.T) {
	where := os.Getenv("TEST_DIES")
	if where == "" {
		t.Skip("a process of the test below")
	}
	s := must(New(os.Getenv("TEST_URL")))
	order := newTool("order", func(ctx agent.Context, _ arguments) (map[string]any, error) {
		number, err := Once("number of tea").Increment(ctx, "app:orders", 1)
		if err != nil {
			return nil, err
		}
		if where == "in the middle" {
			os.Exit(9)
		}
		items, err := Once("items of tea").Append(ctx, "user:items", "tea")
		if err != nil {
			return nil, err
		}
		if where == "at the end" {
			os.Exit(9)
		}
		fmt.Println("made:", number, items)
		return map[string]any{"number": number}, nil
	})
	waiter := must(llmagent.New(llmagent.Config{
		Name: "waiter", Model: callThen("order", map[string]any{"n": 1}, "Done."), Tools: []tool.Tool{order},
	}))
	must(run(t, newRunner(s, os.Getenv("TEST_APP"), waiter), "s", agent.StreamingModeNone))
}

func TestAToolThatDiesAndRunsAgainChangesEachThingOnce(t *testing.T) {
	s, app := service(t), app()
	create(t, s, app, "u", "s", nil)
	for _, one := range []struct {
		where, said string
		code        int
	}{{"in the middle", "", 9}, {"at the end", "", 9}, {"nowhere", "made: 1 [tea]", 0}, {"nowhere", "made: 1 [tea]", 0}} {
		program := exec.Command(os.Args[0], "-test.run", "^TestProgramThatDies$", "-test.v")
		program.Env = append(os.Environ(), "TEST_DIES="+one.where, "TEST_URL="+s.client.base, "TEST_APP="+app)
		said, _ := program.CombinedOutput()
		if code := program.ProcessState.ExitCode(); code != one.code || !strings.Contains(string(said), one.said) {
			t.Fatalf("%s: %d, %s", one.where, code, said)
		}
	}
	found := loadByID(t, s, app, "s")
	equal(t, stateOf(found), map[string]any{"app:orders": 1.0, "user:items": []any{"tea"}})
	made := slices.DeleteFunc(idsOf(found), func(id string) bool { return !strings.HasSuffix(id, " of tea") })
	equal(t, made, []string{"number of tea", "items of tea"})
}
