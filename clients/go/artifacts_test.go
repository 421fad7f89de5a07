package sessiond

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/adk/v2/agent"
	"google.golang.org/adk/v2/agent/llmagent"
	"google.golang.org/adk/v2/artifact"
	"google.golang.org/adk/v2/model"
	"google.golang.org/adk/v2/runner"
	"google.golang.org/adk/v2/session"
	"google.golang.org/adk/v2/tool"
	"google.golang.org/genai"
)

// cabinet is the files of a session.
type cabinet struct {
	t       *testing.T
	files   *Artifacts
	app, id string
}

func newCabinet(t *testing.T, s *Service) *cabinet {
	t.Helper()
	c := &cabinet{t, s.Artifacts(), app(), "s"}
	create(t, service(t), c.app, "u", c.id, nil)
	return c
}

func (c *cabinet) save(name string, part *genai.Part) (int64, error) {
	said, err := c.files.Save(c.t.Context(), &artifact.SaveRequest{
		AppName: c.app, UserID: "u", SessionID: c.id, FileName: name, Part: part,
	})
	if err != nil {
		return 0, err
	}
	return said.Version, nil
}

// saved saves a file, which must work.
func (c *cabinet) saved(name string, part *genai.Part) int64 {
	c.t.Helper()
	return must(c.save(name, part))
}

func (c *cabinet) load(name string, version int64) (*genai.Part, error) {
	said, err := c.files.Load(c.t.Context(), &artifact.LoadRequest{
		AppName: c.app, UserID: "u", SessionID: c.id, FileName: name, Version: version,
	})
	if err != nil {
		return nil, err
	}
	return said.Part, nil
}

// loaded asks for a version to be a part.
func (c *cabinet) loaded(name string, version int64, want *genai.Part) {
	c.t.Helper()
	equal(c.t, jsonOf(c.t, must(c.load(name, version))), jsonOf(c.t, want))
}

func (c *cabinet) list() []string {
	c.t.Helper()
	return must(c.files.List(c.t.Context(), &artifact.ListRequest{AppName: c.app, UserID: "u", SessionID: c.id})).FileNames
}

func (c *cabinet) versions(name string) ([]int64, error) {
	said, err := c.files.Versions(c.t.Context(), &artifact.VersionsRequest{
		AppName: c.app, UserID: "u", SessionID: c.id, FileName: name,
	})
	if err != nil {
		return nil, err
	}
	return said.Versions, nil
}

func (c *cabinet) about(name string, version int64) (*artifact.ArtifactVersion, error) {
	said, err := c.files.GetArtifactVersion(c.t.Context(), &artifact.GetArtifactVersionRequest{
		AppName: c.app, UserID: "u", SessionID: c.id, FileName: name, Version: version,
	})
	if err != nil {
		return nil, err
	}
	return said.ArtifactVersion, nil
}

func (c *cabinet) remove(name string, version int64) {
	c.t.Helper()
	check(c.t, c.files.Delete(c.t.Context(), &artifact.DeleteRequest{
		AppName: c.app, UserID: "u", SessionID: c.id, FileName: name, Version: version,
	}))
}

// gone asks for an error that says that there is nothing.
func gone(t *testing.T, err error) {
	t.Helper()
	is(t, err, fs.ErrNotExist)
	is(t, err, ErrNotFound)
}

func plainText(text string) *genai.Part { return genai.NewPartFromBytes([]byte(text), "text/plain") }

// The cases that ADK has for its own services, whose suite is internal.
func TestCasesOfADKForFiles(t *testing.T) {
	for _, name := range []string{"file1", "user:file1"} {
		t.Run(name, func(t *testing.T) {
			c := newCabinet(t, service(t))
			other := strings.Replace(name, "1", "3", 1)
			for i := range 3 {
				equal(t, c.saved(name, plainText(fmt.Sprint("file v", i+1))), int64(i+1))
			}
			equal(t, c.saved("file2", plainText("file v3")), int64(1))
			equal(t, c.saved(other, genai.NewPartFromText("file v1")), int64(1))
			c.loaded(name, 0, plainText("file v3"))
			c.loaded(name, 1, plainText("file v1"))
			c.loaded(name, 2, plainText("file v2"))
			c.loaded(other, 0, genai.NewPartFromText("file v1"))
			names := []string{"file2", name, other}
			slices.Sort(names)
			equal(t, c.list(), names)
			equal(t, must(c.versions(name)), []int64{3, 2, 1})
			for asked, want := range map[int64]int64{0: 3, 2: 2} {
				about := must(c.about(name, asked))
				equal(t, []any{about.Version, about.MimeType}, []any{want, "text/plain"})
			}
			_, err := c.about(name, 99)
			gone(t, err)
			c.remove(name, 3)
			c.loaded(name, 0, plainText("file v2"))
			_, err = c.load(name, 3)
			gone(t, err)
			c.remove(name, 0)
			_, err = c.load(name, 0)
			gone(t, err)
			_, err = c.versions(name)
			gone(t, err)
			equal(t, c.list(), slices.DeleteFunc(names, func(one string) bool { return one == name }))
			// What was deleted stays deleted: no later version has its number.
			equal(t, c.saved(name, plainText("file v4")), int64(4))
		})
	}
}

func TestCasesOfADKForNoFiles(t *testing.T) {
	c := newCabinet(t, service(t))
	for _, id := range []string{"s", "no such session"} {
		c.id = id
		for _, name := range []string{"file", "user:file"} {
			_, err := c.load(name, 0)
			gone(t, err)
			_, err = c.versions(name)
			gone(t, err)
			_, err = c.about(name, 0)
			gone(t, err)
			c.remove(name, 0)
			c.remove(name, 1)
		}
		equal(t, c.list(), []string{})
	}
}

func TestFilesOfAUserNeedNoSession(t *testing.T) {
	c := newCabinet(t, service(t))
	c.saved("user:f", plainText("1"))
	c.id = "no such session"
	equal(t, c.saved("user:f", plainText("2")), int64(2))
	c.loaded("user:f", 0, plainText("2"))
	equal(t, c.list(), []string{"user:f"})
	_, err := c.save("f", plainText("1"))
	gone(t, err)
	failure := failureOf(t, err)
	equal(t, []string{failure.Code, failure.Outcome}, []string{"session_not_found", "not_applied"})
}

func TestAPartComesBackAsItWasSaved(t *testing.T) {
	c := newCabinet(t, service(t))
	for _, part := range []*genai.Part{
		genai.NewPartFromText("a “text”\x00\r\n"),
		genai.NewPartFromText(`{"like": "JSON"}`),
		plainText("bytes that look like a text"),
		genai.NewPartFromBytes([]byte{}, "application/x-nothing"),
		genai.NewPartFromBytes([]byte(`{"a": 1}`), "application/json"),
		genai.NewPartFromBytes([]byte("<script>"), `text/html; charset="utf-8"`),
		{InlineData: &genai.Blob{Data: []byte("x"), MIMEType: "a/b", DisplayName: `My "Bericht" (ü) 100% + 1.png`}},
		genai.NewPartFromURI("gs://bucket/a file", "image/png"),
		{FileData: &genai.FileData{FileURI: "gs://bucket/a", DisplayName: "ü"}},
	} {
		version := c.saved("f", part)
		c.loaded("f", 0, part)
		c.loaded("f", version, part)
	}
	c.saved("f", &genai.Part{InlineData: &genai.Blob{Data: []byte("x")}})
	c.loaded("f", 0, genai.NewPartFromBytes([]byte("x"), "application/octet-stream"))
	c.saved("f", &genai.Part{InlineData: &genai.Blob{}})
	c.loaded("f", 0, genai.NewPartFromBytes([]byte{}, "application/octet-stream"))
}

func TestAFileMayHaveAnyName(t *testing.T) {
	c := newCabinet(t, service(t))
	names := []string{"a/b", "a/b/", "a", "a b", " ", "%", "%2F", "100%", "ä/ö 😀", "a?b#c", "..a", "a\\b", "versions", "user:x/ü %", "e\u0301", "é"}
	for _, name := range names {
		equal(t, c.saved(name, plainText(name)), int64(1))
	}
	for _, name := range names {
		c.loaded(name, 0, plainText(name))
		equal(t, must(c.versions(name)), []int64{1})
	}
	slices.Sort(names)
	equal(t, c.list(), names)
	for _, name := range names {
		c.remove(name, 0)
	}
	equal(t, c.list(), []string{})
	for _, name := range []string{".", "..", "a\nb", strings.Repeat("x", 257)} {
		_, err := c.save(name, plainText(""))
		equal(t, failureOf(t, err).Code, "invalid_argument")
	}
}

func TestALargeFile(t *testing.T) {
	c := newCabinet(t, service(t))
	data := make([]byte, 5<<20)
	_, _ = rand.Read(data)
	c.saved("large", genai.NewPartFromBytes(data, "application/octet-stream"))
	part := must(c.load("large", 0))
	if !bytes.Equal(part.InlineData.Data, data) {
		t.Fatal("other bytes")
	}
}

func TestSaversAtTheSameTimeGetVersionsWithoutAGap(t *testing.T) {
	c := newCabinet(t, service(t))
	var wait sync.WaitGroup
	const savers, each = 2, 10
	got := make([][]int64, savers)
	for i := range savers {
		wait.Go(func() {
			other := &cabinet{t, service(t).Artifacts(), c.app, c.id}
			for at := range each {
				version, err := other.save("f", plainText(fmt.Sprint(i, " ", at)))
				if err != nil {
					t.Error(err)
					return
				}
				got[i] = append(got[i], version)
			}
		})
	}
	wait.Wait()
	all := slices.Concat(got...)
	slices.Sort(all)
	want := make([]int64, savers*each)
	for i := range want {
		want[i] = int64(i + 1)
	}
	equal(t, all, want)
	for i := range savers {
		for at, version := range got[i] {
			c.loaded("f", version, plainText(fmt.Sprint(i, " ", at)))
		}
	}
}

func TestAVersionThatTheCallerChooses(t *testing.T) {
	c := newCabinet(t, service(t))
	for _, part := range []*genai.Part{plainText("x"), genai.NewPartFromText("x")} {
		latest := c.saved("f", part)
		save := func(version int64) (*artifact.SaveResponse, error) {
			return c.files.Save(t.Context(), &artifact.SaveRequest{
				AppName: c.app, UserID: "u", SessionID: c.id, FileName: "f", Part: part, Version: version,
			})
		}
		equal(t, must(save(latest+4)).Version, latest+4)
		for _, taken := range []int64{1, latest + 3, latest + 4} {
			_, err := save(taken)
			is(t, err, ErrExists)
		}
		if _, err := save(-1); err == nil || errors.As(err, new(*Error)) {
			t.Fatal(err)
		}
	}
}

func TestWhatIsKnownOfAVersion(t *testing.T) {
	c := newCabinet(t, service(t))
	before := time.Now()
	c.saved("a b/ü", plainText("x"))
	c.saved("user:f", genai.NewPartFromText("x"))
	about := must(c.about("a b/ü", 0))
	if about.CreateTime.Before(before.Add(-time.Minute)) || about.CreateTime.After(time.Now().Add(time.Minute)) {
		t.Error(about.CreateTime)
	}
	equal(t, about.CanonicalURI, "sessiond://apps/"+c.app+"/users/u/sessions/s/artifacts/a%20b%2F%C3%BC/versions/0")
	equal(t, about.CustomMetadata, map[string]any(nil))
	status, said := plainly(t, "PUT", "/apps/"+c.app+"/users/u/artifacts/f?metadata=%7B%22n%22:9007199254740993%7D", "{}")
	if status != http.StatusCreated {
		t.Fatal(status, said)
	}
	about = must(c.about("user:f", 2))
	equal(t, about.CanonicalURI, "sessiond://apps/"+c.app+"/users/u/artifacts/user:f/versions/1")
	equal(t, about.CustomMetadata, map[string]any{"n": json.Number("9007199254740993")})
	equal(t, about.MimeType, "application/json")
}

func TestAListOfManyPages(t *testing.T) {
	asked := 0
	s := serviceAt(t, stub(t, func(w http.ResponseWriter, r *http.Request) {
		asked++
		if r.URL.Query().Get("pageToken") == "" {
			_, _ = io.WriteString(w, `{"artifacts":[{"name":"a","version":0}],"nextPageToken":"t"}`)
			return
		}
		_, _ = io.WriteString(w, `{"artifacts":[{"name":"b","version":0}]}`)
	}))
	said := must(s.Artifacts().List(t.Context(), &artifact.ListRequest{AppName: "a", UserID: "u", SessionID: "s"}))
	equal(t, said.FileNames, []string{"a", "b"})
	equal(t, asked, 2)
}

func TestWhatIsMissingInACallAboutFilesIsSaid(t *testing.T) {
	files, ctx := service(t).Artifacts(), t.Context()
	for name, call := range map[string]func() error{
		"Save": func() error {
			_, err := files.Save(ctx, &artifact.SaveRequest{AppName: "a", UserID: "u", SessionID: "s", FileName: "f"})
			return err
		},
		"empty": func() error {
			_, err := files.Save(ctx, &artifact.SaveRequest{AppName: "a", UserID: "u", SessionID: "s", FileName: "f", Part: &genai.Part{}})
			return err
		},
		"Load": func() error {
			_, err := files.Load(ctx, &artifact.LoadRequest{AppName: "a", UserID: "u", SessionID: "s"})
			return err
		},
		"List": func() error { _, err := files.List(ctx, &artifact.ListRequest{AppName: "a", UserID: "u"}); return err },
		"Delete": func() error {
			return files.Delete(ctx, &artifact.DeleteRequest{AppName: "a", FileName: "f", SessionID: "s"})
		},
		"Versions": func() error { _, err := files.Versions(ctx, &artifact.VersionsRequest{UserID: "u"}); return err },
		"Get": func() error {
			_, err := files.GetArtifactVersion(ctx, &artifact.GetArtifactVersionRequest{AppName: "a"})
			return err
		},
	} {
		if err := call(); err == nil || (errors.As(err, new(*Error)) && !errors.Is(err, ErrInput)) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestALostAnswerToASaveDoublesNothing(t *testing.T) {
	p := newProxy(t)
	c := newCabinet(t, serviceAt(t, p.url()))
	for i, part := range []*genai.Part{plainText("bytes"), genai.NewPartFromText("text"), plainText("bytes")} {
		p.losses.Store(1)
		equal(t, c.saved("f", part), int64(i+1))
		if p.losses.Load() >= 1 {
			t.Fatal("no answer was lost")
		}
		p.losses.Store(1)
		c.loaded("f", 0, part)
	}
	equal(t, must(c.versions("f")), []int64{3, 2, 1})
}

func TestSilenceEndsATransferAndSlownessDoesNot(t *testing.T) {
	limit := 300 * time.Millisecond
	slow := serviceAt(t, stub(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set(kindHeader, "bytes")
		w.Header().Set("Content-Type", "a/b")
		// Longer than the limit, and never silent for as long as that.
		for range 20 {
			time.Sleep(limit / 10)
			_, _ = io.WriteString(w, "x")
			w.(http.Flusher).Flush()
		}
	}), WithTimeout(limit), WithRetry(1, 0))
	c := &cabinet{t, slow.Artifacts(), "a", "s"}
	c.loaded("f", 0, genai.NewPartFromBytes([]byte(strings.Repeat("x", 20)), "a/b"))

	listener := must(net.Listen("tcp", "127.0.0.1:0"))
	defer listener.Close()
	silent := serviceAt(t, "http://"+listener.Addr().String(), WithTimeout(limit), WithRetry(1, 0))
	c = &cabinet{t, silent.Artifacts(), "a", "s"}
	_, err := c.load("f", 0)
	is(t, err, context.DeadlineExceeded)
	_, err = c.save("f", plainText(strings.Repeat("x", 64<<20)))
	is(t, err, context.DeadlineExceeded)
	equal(t, failureOf(t, err).Outcome, "unknown")
}

func TestAnAnswerThatIsNoFile(t *testing.T) {
	s := serviceAt(t, stub(t, func(w http.ResponseWriter, r *http.Request) { _, _ = io.WriteString(w, "<html>") }))
	c := &cabinet{t, s.Artifacts(), "a", "s"}
	_, err := c.load("f", 0)
	equal(t, failureOf(t, err).Status, http.StatusOK)
}

func TestEventsNameVersionsAsADKForGoCountsThem(t *testing.T) {
	s := service(t)
	one := create(t, s, app(), "u", "s", nil)
	path := strings.TrimPrefix(one.(*stored).path(), "/v1")
	post(t, one, `{"id":"other","author":"a","actions":{"artifactDelta":{"f":0,"user:g":6}}}`)
	one = load(t, s, one)
	equal(t, one.Events().At(0).Actions.ArtifactDelta, map[string]int64{"f": 1, "user:g": 7})
	own := &session.Event{ID: "own", Author: "a", Actions: session.EventActions{ArtifactDelta: map[string]int64{"f": 2}}}
	check(t, s.AppendEvent(t.Context(), one, own))
	equal(t, own.Actions.ArtifactDelta, map[string]int64{"f": 2})
	equal(t, load(t, s, one).Events().At(1).Actions.ArtifactDelta, map[string]int64{"f": 2})
	_, said := plainly(t, "GET", path+"/events/own", "")
	if !strings.Contains(said, `"artifactDelta":{"f":1}`) {
		t.Fatal(said)
	}
	// Read and written again, with and without what is stored, an event is the same.
	other := one.Events().At(0)
	copied := *other
	check(t, s.AppendEvent(t.Context(), one, other))
	for _, event := range []*session.Event{other, &copied} {
		again := must(encodeEvent(event, event))
		differences(t, "", again["actions"].(map[string]any)["artifactDelta"], map[string]any{"f": 0, "user:g": 6})
	}
	// Changed since it was read, it says what it says now.
	other.Actions.ArtifactDelta = map[string]int64{"f": 3}
	again := must(encodeEvent(other, other))
	differences(t, "", again["actions"].(map[string]any)["artifactDelta"], map[string]any{"f": 2})
	for item, err := range s.Watch(t.Context(), &WatchRequest{AppName: one.AppName(), UserID: "u", SessionID: "s"}) {
		check(t, err)
		equal(t, item.(EventItem).Event.Actions.ArtifactDelta, map[string]int64{"f": 1, "user:g": 7})
		break
	}
}

func TestARunnerWithFiles(t *testing.T) {
	s, app := service(t), app()
	var seen []string
	save := newTool("save", func(ctx agent.Context, a arguments) (map[string]any, error) {
		said, err := ctx.Artifacts().Save(ctx, "report/1", plainText("of "+fmt.Sprint(a.N)))
		if err != nil {
			return nil, err
		}
		listed, err := ctx.Artifacts().List(ctx)
		if err != nil {
			return nil, err
		}
		return map[string]any{"version": said.Version, "files": listed.FileNames}, nil
	})
	clerk := must(llmagent.New(llmagent.Config{
		Name: "clerk", Instruction: "Report: {artifact.note}", Tools: []tool.Tool{save},
		Model: scripted(func(req *model.LLMRequest) *genai.Part {
			last := req.Contents[len(req.Contents)-1].Parts[0]
			seen = append(seen, jsonOf(t, req.Config.SystemInstruction)+jsonOf(t, last))
			if last.FunctionResponse != nil {
				return genai.NewPartFromText("done")
			}
			return genai.NewPartFromFunctionCall("save", map[string]any{"n": 5})
		}),
	}))
	create(t, s, app, "u", "s", nil)
	c := &cabinet{t, s.Artifacts(), app, "s"}
	c.saved("note", genai.NewPartFromText("a note"))
	r := must(runner.New(runner.Config{AppName: app, Agent: clerk, SessionService: s, ArtifactService: s.Artifacts()}))
	picture := genai.NewPartFromBytes([]byte{1, 2, 3}, "image/png")
	for range 2 {
		said := genai.NewContentFromParts([]*genai.Part{picture}, genai.RoleUser)
		for _, err := range r.Run(t.Context(), "u", "s", said, agent.RunConfig{SaveInputBlobsAsArtifacts: true}) {
			check(t, err)
		}
	}
	c.loaded("report/1", 2, plainText("of 5"))
	var deltas []map[string]int64
	for event := range loadByID(t, s, app, "s").Events().All() {
		if len(event.Actions.ArtifactDelta) > 0 {
			deltas = append(deltas, event.Actions.ArtifactDelta)
		}
	}
	equal(t, deltas, []map[string]int64{{"report/1": 1}, {"report/1": 2}})
	if !strings.Contains(seen[0], "Report: a note") || !strings.Contains(seen[1], "report/1") {
		t.Fatal(seen)
	}
	uploads := slices.DeleteFunc(c.list(), func(name string) bool { return !strings.HasPrefix(name, "artifact_") })
	equal(t, len(uploads), 2)
	c.loaded(uploads[0], 1, picture)
}
