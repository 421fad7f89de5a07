package sessiond

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"strings"
	"time"
)

// What an [Error] may be, for [errors.Is].
var (
	// ErrNotFound: there is no such session or artifact, or no more. It is [fs.ErrNotExist], too.
	ErrNotFound = fmt.Errorf("sessiond: no such session or artifact: %w", fs.ErrNotExist)
	// ErrExists: the session that was to be created is there already, or the version of an artifact that was asked for is
	// not beyond the latest one. What is there was left as it is.
	ErrExists = errors.New("sessiond: the session or the version exists")
	// ErrStale: others have written to the session since it was loaded ([ConcurrencySession]), another turn has taken
	// over from this one ([ConcurrencyLease]), or a [Precondition] does not hold. Nothing was written; load the
	// session again.
	ErrStale = errors.New("sessiond: the session is stale")
	// ErrBusy: another turn has the session ([ConcurrencyLease]).
	ErrBusy = errors.New("sessiond: another turn has the session")
	// ErrInput: what was sent breaks a rule of sessiond (400, 413, 414, 415, 422), or was not sent for that reason (no
	// status), such as a name that is empty. To send it again would not help.
	ErrInput = errors.New("sessiond: the request breaks a rule")
	// ErrDenied: the credential is missing or was refused (401), does not allow the request (403), or the token source
	// failed (no status).
	ErrDenied = errors.New("sessiond: access denied")
	// ErrPositionGone: the place to watch from is not in the log any more. The session was made anew, trimmed, or the
	// database was restored to an earlier moment.
	ErrPositionGone = errors.New("sessiond: the position is gone")
)

var kinds = map[string]error{
	"session_not_found":       ErrNotFound,
	"artifact_not_found":      ErrNotFound,
	"session_already_exists":  ErrExists,
	"artifact_version_exists": ErrExists,
	"revision_mismatch":       ErrStale,
	"fenced":                  ErrStale,
	"lease_held":              ErrBusy,
	"position_gone":           ErrPositionGone,
}

// Error says that sessiond refused a request, or could not be reached for as long as the service keeps trying.
type Error struct {
	// Status is the HTTP status of the last answer; 0 if there was none.
	Status int
	// Code is sessiond's stable word for the error; empty if the answer is not sessiond's.
	Code string
	// Detail says in words what is wrong. It never has a value of state in it.
	Detail string
	// RequestID is what to look for in the server's log.
	RequestID string
	// Outcome is "not_applied", or "unknown" if a write may have happened; empty for reads. It is always safe to append
	// the same event again.
	Outcome string

	// Owner names the process that has the session, and ExpireTime is when others may take over if it writes nothing
	// until then ([ErrBusy]).
	Owner      string
	ExpireTime time.Time
	// Revision is the number of the session's last event ([ErrPositionGone], and [ErrStale] of [ConcurrencySession]).
	Revision int64

	// Method and URL are what was asked for, without the query.
	Method, URL string
	// Attempts is how often it was tried, and Elapsed how long that took together.
	Attempts int
	Elapsed  time.Duration

	// Err is why there was no answer; nil if there was one.
	Err error
}

// Error says what was tried, how often, for how long, and what came of it.
func (e *Error) Error() string {
	if e.Attempts == 0 && e.Status == 0 && e.Err == nil {
		// Nothing was sent.
		return "sessiond: " + e.Detail
	}
	var said strings.Builder
	fmt.Fprintf(&said, "sessiond: %s %s: ", e.Method, e.URL)
	switch {
	case e.Err != nil:
		said.WriteString(e.Err.Error())
	case e.Code != "":
		fmt.Fprintf(&said, "%d %s: %s", e.Status, e.Code, e.Detail)
	default:
		fmt.Fprintf(&said, "%d: the answer is not sessiond's", e.Status)
	}
	tries := "1 attempt"
	if e.Attempts != 1 {
		tries = fmt.Sprintf("%d attempts", e.Attempts)
	}
	fmt.Fprintf(&said, " (%s in %.1f s", tries, e.Elapsed.Seconds())
	if e.Outcome == "unknown" {
		said.WriteString("; it is unknown whether it was applied")
	}
	if e.RequestID != "" {
		said.WriteString("; request " + e.RequestID)
	}
	said.WriteByte(')')
	return said.String()
}

// Is tells which of the errors of this package it is.
func (e *Error) Is(target error) bool {
	switch target {
	case ErrDenied:
		return e.Status == http.StatusUnauthorized || e.Status == http.StatusForbidden
	case ErrInput:
		switch e.Status {
		case 0:
			return e.Code == "invalid_argument"
		case http.StatusBadRequest, http.StatusRequestEntityTooLarge, http.StatusRequestURITooLong,
			http.StatusUnsupportedMediaType, http.StatusUnprocessableEntity:
			return true
		}
		return false
	}
	return errors.Is(kinds[e.Code], target)
}

// Unwrap returns why there was no answer.
func (e *Error) Unwrap() error { return e.Err }

// refusal reads an answer that is an error.
func refusal(status int, body []byte) *Error {
	var problem struct {
		Code, Detail, RequestID, Outcome, Owner string
		ExpireTime                              float64
		Revision                                int64
	}
	failure := &Error{Status: status}
	if json.Unmarshal(body, &problem) != nil {
		// An answer of a proxy.
		return failure
	}
	failure.Code, failure.Detail, failure.RequestID = problem.Code, problem.Detail, problem.RequestID
	failure.Outcome, failure.Owner, failure.Revision = problem.Outcome, problem.Owner, problem.Revision
	if problem.ExpireTime != 0 {
		failure.ExpireTime = unixTime(problem.ExpireTime)
	}
	return failure
}
