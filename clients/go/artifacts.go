package sessiond

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"google.golang.org/adk/v2/artifact"
	"google.golang.org/genai"
)

// kindHeader says whether what was read is bytes or text.
const kindHeader = "Sessiond-Artifact-Kind"

// displayNameHeader is the name for people of what was read, percent-encoded.
const displayNameHeader = "Sessiond-Artifact-Display-Name"

// Artifacts is an artifact service that keeps the files of agents in sessiond, beside their sessions. What it guarantees,
// beyond what ADK asks of one:
//
//   - When Save returns nil, the whole file is on disk, and every later read through any process shows it. If it returns
//     an error, no part of it is there, or it is unknown whether all of it is ([Error.Outcome]).
//   - Versions of a file count 1, 2, 3, … without a gap, whoever saves at the same time, and a version never changes.
//     Those that were deleted are not used again.
//   - A file goes with its session, or with its user if its name begins with "user:".
//
// A file may have any name, also with slashes, of up to 256 bytes. Bytes travel as they are, and are in memory as a whole,
// as in ADK's parts; of a part, its text, its file data, or its inline data are kept. Version 0 is the latest one. A file that a Python agent saved as version 0 is version 1 here.
//
// Errors about a request are an [*Error]: [ErrNotFound], which is [fs.ErrNotExist], if there is no such file, version or
// session to save in. Artifacts may be used by several goroutines.
type Artifacts struct{ client *client }

var _ artifact.Service = (*Artifacts)(nil)

// Artifacts returns the artifact service of the same sessiond, with the same settings. It is the ArtifactService of
// runner.Config and of launcher.Config.
func (s *Service) Artifacts() *Artifacts { return &Artifacts{s.client} }

// Save saves a version of a file, once, also if the first answer gets lost, and returns its number. It is the next one, or
// req.Version, which must be beyond the latest, else the error is [ErrExists]. The session must exist, unless the file is
// the user's.
//
// The session's log is not changed: ADK's runner appends the event that names the version.
func (a *Artifacts) Save(ctx context.Context, req *artifact.SaveRequest) (*artifact.SaveResponse, error) {
	if err := checkNames(req.AppName, req.UserID, ofSession, req.SessionID, ofFile, req.FileName); err != nil {
		return nil, err
	}
	if req.Version < 0 {
		return nil, fmt.Errorf("sessiond: there is no version %d", req.Version)
	}
	place := artifactsPath(req.AppName, req.UserID, req.SessionID, req.FileName)
	// By which sessiond knows what an attempt before has saved.
	header := map[string]string{"Idempotency-Key": rand.Text()}
	r := request{method: http.MethodPost, path: place, header: header}
	body := map[string]any{"name": req.FileName}
	query := url.Values{}
	if !strings.HasPrefix(req.FileName, userPrefix) {
		body["event"] = "none"
		query.Set("event", "none")
	}
	if req.Version > 0 {
		body["version"] = req.Version - 1
		query.Set("version", strconv.FormatInt(req.Version-1, 10))
	}
	r.body = body
	switch part := req.Part; {
	case part != nil && part.InlineData != nil:
		if name := part.InlineData.DisplayName; name != "" {
			query.Set("displayName", name)
		}
		r.method, r.path, r.query = http.MethodPut, place+segments(req.FileName), query
		r.body = payload{part.InlineData.Data, part.InlineData.MIMEType}
	case part != nil && part.FileData != nil:
		body["part"] = map[string]any{"fileData": part.FileData}
	case part != nil && part.Text != "":
		body["part"] = map[string]any{"text": part.Text}
	default:
		return nil, errors.New("sessiond: the part has no InlineData, Text or FileData")
	}
	answer, err := a.client.send(ctx, r)
	if err != nil {
		return nil, err
	}
	var saved wireVersion
	if err := decode(answer, &saved); err != nil {
		return nil, err
	}
	return &artifact.SaveResponse{Version: saved.Version + 1}, nil
}

// Load returns a version of a file, as it was saved: as text, file data, or inline data.
func (a *Artifacts) Load(ctx context.Context, req *artifact.LoadRequest) (*artifact.LoadResponse, error) {
	if err := checkNames(req.AppName, req.UserID, ofSession, req.SessionID, ofFile, req.FileName); err != nil {
		return nil, err
	}
	r := request{
		method:     http.MethodGet,
		path:       artifactPath(req.AppName, req.UserID, req.SessionID, req.FileName),
		query:      url.Values{},
		wantsBytes: true,
	}
	if req.Version > 0 {
		r.query.Set("version", strconv.FormatInt(req.Version-1, 10))
	}
	answer, err := a.client.send(ctx, r)
	if failure := (*Error)(nil); errors.As(err, &failure) && failure.Status == http.StatusUnprocessableEntity {
		// Of file data there are no bytes.
		r.wantsBytes = false
		r.query.Set("as", "part")
		if answer, err = a.client.send(ctx, r); err != nil {
			return nil, err
		}
		part := &genai.Part{}
		return &artifact.LoadResponse{Part: part}, decode(answer, part)
	}
	if err != nil {
		return nil, err
	}
	if answer.header.Get(kindHeader) == "text" {
		return &artifact.LoadResponse{Part: &genai.Part{Text: string(answer.body)}}, nil
	}
	name, err := url.PathUnescape(answer.header.Get(displayNameHeader))
	if err != nil {
		return nil, fmt.Errorf("sessiond: the display name of the file: %w", err)
	}
	blob := &genai.Blob{Data: answer.body, DisplayName: name, MIMEType: answer.header.Get("Content-Type")}
	return &artifact.LoadResponse{Part: &genai.Part{InlineData: blob}}, nil
}

// Delete deletes a version of a file or, of version 0, all of them. There may be none.
func (a *Artifacts) Delete(ctx context.Context, req *artifact.DeleteRequest) error {
	if err := checkNames(req.AppName, req.UserID, ofSession, req.SessionID, ofFile, req.FileName); err != nil {
		return err
	}
	r := request{method: http.MethodDelete, path: artifactPath(req.AppName, req.UserID, req.SessionID, req.FileName)}
	if req.Version < 0 {
		return nil
	}
	if req.Version > 0 {
		r.query = url.Values{"version": {strconv.FormatInt(req.Version-1, 10)}}
	}
	_, err := a.client.send(ctx, r)
	if errors.Is(err, ErrNotFound) {
		return nil
	}
	return err
}

// List returns the names of the files of a session and of its user, in the order of their bytes.
func (a *Artifacts) List(ctx context.Context, req *artifact.ListRequest) (*artifact.ListResponse, error) {
	if err := checkNames(req.AppName, req.UserID, ofSession, req.SessionID); err != nil {
		return nil, err
	}
	listed, err := a.pages(ctx, artifactsPath(req.AppName, req.UserID, req.SessionID, ""))
	if errors.Is(err, ErrNotFound) {
		// Without a session there are still those of the user.
		listed, err = a.pages(ctx, artifactsPath(req.AppName, req.UserID, "", userPrefix))
	}
	if err != nil {
		return nil, err
	}
	names := make([]string, len(listed))
	for i, one := range listed {
		names[i] = one.Name
	}
	return &artifact.ListResponse{FileNames: names}, nil
}

// Versions returns the versions of a file, the latest first.
func (a *Artifacts) Versions(ctx context.Context, req *artifact.VersionsRequest) (*artifact.VersionsResponse, error) {
	if err := checkNames(req.AppName, req.UserID, ofSession, req.SessionID, ofFile, req.FileName); err != nil {
		return nil, err
	}
	listed, err := a.pages(ctx, artifactPath(req.AppName, req.UserID, req.SessionID, req.FileName)+"/versions")
	if err != nil {
		return nil, err
	}
	if len(listed) == 0 {
		return nil, ErrNotFound
	}
	versions := make([]int64, len(listed))
	for i, one := range listed {
		versions[i] = one.Version + 1
	}
	slices.Reverse(versions)
	return &artifact.VersionsResponse{Versions: versions}, nil
}

// GetArtifactVersion returns what is known of a version of a file. Its CanonicalURI says where sessiond has it, with the
// number that sessiond gives the version.
func (a *Artifacts) GetArtifactVersion(
	ctx context.Context, req *artifact.GetArtifactVersionRequest,
) (*artifact.GetArtifactVersionResponse, error) {
	if err := checkNames(req.AppName, req.UserID, ofSession, req.SessionID, ofFile, req.FileName); err != nil {
		return nil, err
	}
	path := artifactPath(req.AppName, req.UserID, req.SessionID, req.FileName)
	var listed []wireVersion
	var err error
	isIt := func(one wireVersion) bool { return one.Version == req.Version-1 }
	if req.Version > 0 {
		listed, err = a.pages(ctx, path+"/versions")
	} else {
		isIt = func(one wireVersion) bool { return one.Name == req.FileName }
		// Of the names that begin with this one, it is the first.
		place := artifactsPath(req.AppName, req.UserID, req.SessionID, req.FileName)
		listed, _, err = a.page(ctx, place, url.Values{"prefix": {req.FileName}, "pageSize": {"1"}})
	}
	if err != nil {
		return nil, err
	}
	at := slices.IndexFunc(listed, isIt)
	if at < 0 {
		return nil, ErrNotFound
	}
	found := listed[at]
	return &artifact.GetArtifactVersionResponse{ArtifactVersion: &artifact.ArtifactVersion{
		Version:        found.Version + 1,
		CanonicalURI:   fmt.Sprintf("sessiond:/%s/versions/%d", strings.TrimPrefix(path, "/v1"), found.Version),
		CustomMetadata: plain(found.Metadata),
		CreateTime:     unixTime(found.CreateTime),
		MimeType:       found.MimeType,
	}}, nil
}

// wireVersion is a version of a file as sessiond answers it.
type wireVersion struct {
	Name       string           `json:"name"`
	Version    int64            `json:"version"`
	MimeType   string           `json:"mimeType"`
	CreateTime float64          `json:"createTime"`
	Metadata   map[string]value `json:"metadata"`
}

// page returns a page of a list, and the token of the next one.
func (a *Artifacts) page(ctx context.Context, path string, query url.Values) ([]wireVersion, string, error) {
	answer, err := a.client.send(ctx, request{method: http.MethodGet, path: path, query: query})
	if err != nil {
		return nil, "", err
	}
	var page struct {
		Artifacts, Versions []wireVersion
		NextPageToken       string
	}
	err = decode(answer, &page)
	return append(page.Artifacts, page.Versions...), page.NextPageToken, err
}

// pages returns all of a list.
func (a *Artifacts) pages(ctx context.Context, path string) ([]wireVersion, error) {
	query := url.Values{"pageSize": {strconv.Itoa(pageSize)}}
	var listed []wireVersion
	for {
		page, next, err := a.page(ctx, path, query)
		if err != nil {
			return nil, err
		}
		listed = append(listed, page...)
		if next == "" {
			return listed, nil
		}
		query.Set("pageToken", next)
	}
}

const userPrefix = "user:"

// artifactsPath is where the files of a session are, or those of a user if a name begins so.
func artifactsPath(app, user, session, name string) string {
	if strings.HasPrefix(name, userPrefix) {
		return "/v1/apps" + segments(app) + "/users" + segments(user) + "/artifacts"
	}
	return sessionPath(app, user, session) + "/artifacts"
}

func artifactPath(app, user, session, name string) string {
	return artifactsPath(app, user, session, name) + segments(name)
}
