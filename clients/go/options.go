package sessiond

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"os"
	"time"
)

// Version is that of this module, as in the header User-Agent.
const Version = "0.1.0"

// Concurrency is what happens if several writers append to one session.
type Concurrency int

const (
	// ConcurrencyNone appends unconditionally: events of several writers interleave, and for each key the last writer
	// wins. This is the default.
	ConcurrencyNone Concurrency = iota
	// ConcurrencySession refuses to append to a session that others have appended to since it was loaded, with
	// [ErrStale].
	ConcurrencySession
	// ConcurrencyLease lets the invocations of a session take turns, those of all services in this mode, in all
	// processes. The first event of an invocation takes the lease of its session; see [Service.Plugin] for its end.
	// Meanwhile others wait, and then see what that turn did, or get [ErrBusy] ([WithLeaseWait]). One that was
	// superseded stores no event any more and gets [ErrStale]. Events without an invocation take no lease.
	ConcurrencyLease
)

// History is which events of a session [Service.Get] loads.
type History int

const (
	// HistoryFull loads all events, except what was rewound. This is the default.
	HistoryFull History = iota
	// HistoryEffective leaves out what compactions cover, too, and shows the summary of each as the content of its event,
	// in the order of a prompt. (ADK for Go makes no compactions, and reads none: with [HistoryFull] its agents see what
	// they cover, and no summary.) NumRecentEvents counts what is left. A runner finds nothing that is covered: a
	// response to a call there needs [HistoryFull], and if the last reply is covered, the root agent goes on. A turn
	// ([ConcurrencyLease]) that sees what others did loads all that is left.
	HistoryEffective
)

// Option is a setting of [New].
type Option func(*config) error

type config struct {
	token       string
	tokenSource func(context.Context) (string, error)
	hasToken    bool
	http        *http.Client
	timeout     time.Duration
	tries       int
	retryFor    time.Duration
	concurrency Concurrency
	history     History
	leaseWait   time.Duration
	leaseTTL    time.Duration
	logger      *slog.Logger
}

// WithToken sets the credential: an API key, a user token or a JWT. White space around it is left out. "" sends none,
// whatever the variable SESSIOND_TOKEN says, which is the default.
func WithToken(token string) Option {
	return func(c *config) error {
		c.token, c.tokenSource, c.hasToken = token, nil, true
		return nil
	}
}

// WithTokenSource sets a function that returns the credential. It is called for the first request, its token is kept,
// and it is called again when the server refuses that one (401): once for all requests that wait, each of which is then
// sent once more.
func WithTokenSource(source func(context.Context) (string, error)) Option {
	return func(c *config) error {
		if source == nil {
			return errors.New("sessiond: the token source is nil")
		}
		c.token, c.tokenSource, c.hasToken = "", source, true
		return nil
	}
}

// WithHTTPClient sets what sends the requests. It should have no timeout of its own, which would end each watch. The
// default has a pool of its own and connects within 2 s.
func WithHTTPClient(client *http.Client) Option {
	return func(c *config) error {
		if client == nil {
			return errors.New("sessiond: the HTTP client is nil")
		}
		c.http = client
		return nil
	}
}

// WithTimeout sets for how long one attempt may take, from the connection to the last byte of the answer: 15 s by
// default. While bytes of a file are sent or read, it is for how long none may come or go.
func WithTimeout(timeout time.Duration) Option {
	return func(c *config) error {
		if timeout <= 0 {
			return errors.New("sessiond: the timeout is not positive")
		}
		c.timeout = timeout
		return nil
	}
}

// WithRetry sets how often a request is tried that finds no connection, gets no answer, or is refused for now: 5 times
// by default, none of which begins after 30 s, with growing pauses, and never sooner than the server asks for.
func WithRetry(tries int, within time.Duration) Option {
	return func(c *config) error {
		if tries < 1 {
			return errors.New("sessiond: a request is tried at least once")
		}
		c.tries, c.retryFor = tries, within
		return nil
	}
}

// WithConcurrency sets what happens if several writers append to one session.
func WithConcurrency(mode Concurrency) Option {
	return func(c *config) error {
		if mode < ConcurrencyNone || mode > ConcurrencyLease {
			return errors.New("sessiond: there is no such concurrency mode")
		}
		c.concurrency = mode
		return nil
	}
}

// WithHistory sets which events of a session are loaded.
func WithHistory(history History) Option {
	return func(c *config) error {
		if history < HistoryFull || history > HistoryEffective {
			return errors.New("sessiond: there is no such history")
		}
		c.history = history
		return nil
	}
}

// WithLeaseWait sets for how long [ConcurrencyLease] waits for the turn of another before it gives up with [ErrBusy]:
// 5 min by default. 0 fails at once.
func WithLeaseWait(wait time.Duration) Option {
	return func(c *config) error {
		c.leaseWait = wait
		return nil
	}
}

// WithLeaseTTL sets for how long an invocation may store nothing before another one may take over, from 1 s to 15 min:
// 60 s by default. It should be longer than the longest silence of an invocation, such as a slow tool.
func WithLeaseTTL(ttl time.Duration) Option {
	return func(c *config) error {
		if ttl < time.Second || ttl > 15*time.Minute {
			return errors.New("sessiond: the TTL of a lease is 1 s to 15 min")
		}
		c.leaseTTL = ttl
		return nil
	}
}

// WithLogger sets where the service warns of requests that are tried again, of watches that come back, and of events
// that ADK cannot read: [slog.Default] by default. No token, query or body is ever logged.
func WithLogger(logger *slog.Logger) Option {
	return func(c *config) error {
		if logger == nil {
			return errors.New("sessiond: the logger is nil")
		}
		c.logger = logger
		return nil
	}
}

func configure(options []Option) (*config, error) {
	c := &config{
		timeout:   15 * time.Second,
		tries:     5,
		retryFor:  30 * time.Second,
		leaseWait: 5 * time.Minute,
		leaseTTL:  time.Minute,
		logger:    slog.Default(),
	}
	for _, option := range options {
		if err := option(c); err != nil {
			return nil, err
		}
	}
	if !c.hasToken {
		c.token = os.Getenv("SESSIOND_TOKEN")
	}
	if c.http == nil {
		c.http = &http.Client{Transport: &http.Transport{
			Proxy:               http.ProxyFromEnvironment,
			DialContext:         (&net.Dialer{Timeout: 2 * time.Second}).DialContext,
			TLSHandshakeTimeout: 5 * time.Second,
			ForceAttemptHTTP2:   true,
			MaxIdleConnsPerHost: 32,
			// Less than the 75 s after which sessiond closes a connection that nobody uses.
			IdleConnTimeout: 60 * time.Second,
		}}
	}
	return c, nil
}
