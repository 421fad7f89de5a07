package sessiond

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"go.opentelemetry.io/otel/propagation"
)

// The pause before the first further attempt, four times as long before each one up to the second number, and spread by
// jitter: five attempts outlast some 12 s.
const firstPause, longestPause = 200 * time.Millisecond, 8 * time.Second

// client sends requests that may be sent twice, and does so if an answer does not come.
type client struct {
	base       string
	http       *http.Client
	credential *credential
	timeout    time.Duration
	tries      int
	retryFor   time.Duration
	// The pauses before the second attempt, and before later ones at most.
	firstPause, longestPause time.Duration
	logger                   *slog.Logger
}

type request struct {
	method string
	// Percent-encoded, see segments.
	path   string
	query  url.Values
	header map[string]string
	// Sent as it is if it is a payload, else as JSON if it is not nil.
	body any
	// Whether the answer is bytes of an artifact, and not JSON.
	wantsBytes bool
	// For how long the server is asked to hold the answer back, on top of the time for the attempts.
	patience time.Duration
}

// payload is the body of a request.
type payload struct {
	bytes    []byte
	mimeType string
}

// reply is a success.
type reply struct {
	header http.Header
	body   []byte
}

func newClient(base string, c *config) (*client, error) {
	address, err := url.Parse(base)
	if err != nil || (address.Scheme != "http" && address.Scheme != "https") || address.Host == "" ||
		address.User != nil || address.RawQuery != "" || address.Fragment != "" {
		// Not as it was given: it may have a credential in it.
		return nil, errors.New("sessiond: the URL is http://HOST:PORT or https://HOST, without a user, a query and a fragment")
	}
	credential, err := newCredential(c)
	if err != nil {
		return nil, err
	}
	sender := *c.http
	if sender.CheckRedirect == nil {
		// What answers with a redirect is not sessiond, and shall not get the credential.
		sender.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	}
	return &client{
		base:         strings.TrimRight(base, "/"),
		http:         &sender,
		credential:   credential,
		timeout:      c.timeout,
		tries:        c.tries,
		retryFor:     c.retryFor,
		firstPause:   firstPause,
		longestPause: longestPause,
		logger:       c.logger,
	}, nil
}

// send returns the success of a request that has the same effect when it is sent twice. Otherwise it returns an *Error.
func (c *client) send(ctx context.Context, r request) (*reply, error) {
	body, isPayload := r.body.(payload)
	if r.body != nil && !isPayload {
		text, err := json.Marshal(r.body)
		if err != nil {
			return nil, fmt.Errorf("sessiond: not JSON: %w", err)
		}
		body = payload{text, "application/json"}
	}
	began := time.Now()
	inDoubt := false
	for attempt := 1; ; attempt++ {
		answer, failure := c.attempt(ctx, r, body)
		if failure == nil {
			return answer, nil
		}
		again := tryAgain(failure)
		if again {
			inDoubt = inDoubt || (failure.Outcome != "not_applied" && !notSent(failure.Err))
		}
		pause := min(c.firstPause<<(2*min(attempt-1, 3)), c.longestPause)
		pause = max(pause, retryAfter(answer)) + rand.N(pause/2)
		elapsed := time.Since(began)
		if !again || ctx.Err() != nil || attempt >= c.tries || elapsed+pause > c.retryFor+r.patience {
			failure.Attempts, failure.Elapsed = attempt, elapsed
			switch {
			case r.method == http.MethodGet:
				failure.Outcome = ""
			case !again && failure.Status != 0 && !errors.Is(failure, ErrDenied):
				// What the server says of this attempt holds for those before: it looks for the event's id first.
			case inDoubt:
				failure.Outcome = "unknown"
			default:
				failure.Outcome = "not_applied"
			}
			return nil, failure
		}
		c.logger.WarnContext(ctx, "sessiond: a request is tried again", "method", r.method, "url", failure.URL,
			"attempt", attempt, "pause", pause, "status", failure.Status, "code", failure.Code, "error", failure.Err)
		select {
		case <-time.After(pause):
		case <-ctx.Done():
		}
	}
}

// attempt sends a request once, and once more if another token may help. It returns the answer also of a failure, if
// there is one.
func (c *client) attempt(ctx context.Context, r request, body payload) (*reply, *Error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	limit := c.timeout + r.patience
	timer := time.AfterFunc(limit, func() { cancel(context.DeadlineExceeded) })
	defer timer.Stop()
	// How long bytes of an artifact take depends on how many there are: of them, it is silence that ends an attempt.
	moved := func() {}
	if _, isPayload := r.body.(payload); isPayload || r.wantsBytes {
		moved = func() { timer.Reset(limit) }
	}
	response, failure := c.open(ctx, r, body, moved)
	if failure != nil {
		return nil, failure
	}
	defer func() { _ = response.Body.Close() }()
	content, err := io.ReadAll(observed{response.Body, moved})
	if err != nil {
		return nil, &Error{Method: r.method, URL: c.base + r.path, Err: err}
	}
	answer := &reply{header: response.Header, body: content}
	switch {
	case response.StatusCode == http.StatusNoContent:
		return answer, nil
	case r.wantsBytes && response.StatusCode == http.StatusOK && response.Header.Get(kindHeader) != "":
		return answer, nil
	case !r.wantsBytes && response.StatusCode < 300 && len(content) > 0 && content[0] == '{':
		return answer, nil
	}
	return answer, c.refusal(r, response.StatusCode, content)
}

// observed is a reader that says when something was read.
type observed struct {
	io.ReadCloser
	moved func()
}

func (o observed) Read(into []byte) (int, error) {
	n, err := o.ReadCloser.Read(into)
	if n > 0 {
		o.moved()
	}
	return n, err
}

// open sends a request, and once more with another token if the first was refused. The body is the caller's to close. It
// calls moved when something was sent.
func (c *client) open(ctx context.Context, r request, body payload, moved func()) (*http.Response, *Error) {
	address := c.base + r.path
	fail := func(err error) *Error {
		// Of the URL, net/http shows the query as well.
		var wrapped *url.Error
		if errors.As(err, &wrapped) {
			err = wrapped.Err
		}
		// The transport may know no more than that the context is done.
		if cause := context.Cause(ctx); cause != nil && errors.Is(err, context.Canceled) {
			err = cause
		}
		return &Error{Method: r.method, URL: address, Err: err}
	}
	full := address
	if len(r.query) > 0 {
		full += "?" + r.query.Encode()
	}
	version := 0
	for {
		sent, err := http.NewRequestWithContext(ctx, r.method, full, bytes.NewReader(body.bytes))
		if err != nil {
			return nil, fail(err)
		}
		if again := sent.GetBody; len(body.bytes) > 0 {
			sent.Body = observed{sent.Body, moved}
			sent.GetBody = func() (io.ReadCloser, error) {
				unread, err := again()
				return observed{unread, moved}, err
			}
		}
		sent.Header.Set("User-Agent", "sessiond-go/"+Version)
		if body.mimeType != "" {
			sent.Header.Set("Content-Type", body.mimeType)
		}
		for name, value := range r.header {
			sent.Header.Set(name, value)
		}
		propagation.TraceContext{}.Inject(ctx, propagation.HeaderCarrier(sent.Header))
		first := version == 0
		if c.credential != nil {
			var token string
			if token, version, err = c.credential.laterThan(ctx, version); err != nil {
				return nil, fail(err)
			}
			sent.Header.Set("Authorization", "Bearer "+token)
		}
		response, err := c.http.Do(sent)
		if err != nil {
			return nil, fail(err)
		}
		if response.StatusCode != http.StatusUnauthorized || c.credential == nil || c.credential.source == nil || !first {
			return response, nil
		}
		_ = response.Body.Close()
	}
}

func (c *client) refusal(r request, status int, body []byte) *Error {
	failure := refusal(status, body)
	failure.Method, failure.URL = r.method, c.base+r.path
	if status == http.StatusUnauthorized && c.credential == nil {
		failure.Detail += "; no token was sent: see WithToken, or set SESSIOND_TOKEN"
	}
	return failure
}

// tryAgain tells whether the same request may have another end.
func tryAgain(failure *Error) bool {
	switch failure.Status {
	case 0:
		return !errors.Is(failure.Err, ErrDenied)
	case http.StatusRequestTimeout, http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return true
	}
	return failure.Outcome == "unknown"
}

// notSent tells whether the server cannot have seen anything of the request.
func notSent(err error) bool {
	var network *net.OpError
	return errors.As(err, &network) && network.Op == "dial"
}

// retryAfter returns for how long the answer asks to wait, which proxies may say as a date.
func retryAfter(answer *reply) time.Duration {
	if answer == nil {
		return 0
	}
	return retryAfterOf(answer.header)
}

func retryAfterOf(header http.Header) time.Duration {
	value := header.Get("Retry-After")
	if seconds, err := strconv.ParseFloat(value, 64); err == nil && seconds >= 0 && seconds < 1e9 {
		return time.Duration(seconds * float64(time.Second))
	}
	if date, err := http.ParseTime(value); err == nil {
		return max(0, time.Until(date))
	}
	return 0
}

// segments returns ids as segments of a path, each with its slash before it, percent-encoded.
func segments(ids ...string) string {
	var path strings.Builder
	for _, id := range ids {
		path.WriteByte('/')
		if id == "." || id == ".." {
			// A proxy may resolve such segments: the server must see and refuse them.
			path.WriteString(strings.ReplaceAll(id, ".", "%2E"))
		} else {
			path.WriteString(url.PathEscape(id))
		}
	}
	return path.String()
}
