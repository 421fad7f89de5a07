package sessiond

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	mathrand "math/rand/v2"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"sync"
	"time"

	"google.golang.org/adk/v2/agent"
	"google.golang.org/adk/v2/plugin"
	"google.golang.org/adk/v2/session"
)

// For how long one request waits for a lease, so that a wait survives what closes idle connections.
const oneWait = 30 * time.Second

// leases are those of a service's turns.
type leases struct {
	client *client
	wait   time.Duration
	ttl    time.Duration

	mu   sync.Mutex
	held map[*lease]struct{}
}

// lease is that of an invocation which runs on a session object. Guarded by the turn of that object.
type lease struct {
	path         string
	invocationID string
	// What the writes of the turn carry.
	token string
	grant grant
	// Forgets to release it when the context of the invocation is done.
	forget func() bool
}

type grant struct {
	Epoch       int64  `json:"epoch"`
	Incarnation string `json:"incarnation"`
	Revision    int64  `json:"revision"`
}

func newLeases(client *client, c *config) *leases {
	return &leases{client: client, wait: c.leaseWait, ttl: c.leaseTTL, held: map[*lease]struct{}{}}
}

// Plugin returns what tells the service that an invocation has ended, which ADK tells plugins only: give it to the
// runner with [ConcurrencyLease], as a plugin of PluginConfig. Without it, the turn of an invocation ends when the
// context of its Run is done, when another invocation begins on the same session object, or with [Service.Release] or
// [Service.Close], and others wait until then, or until it has stored nothing for the TTL.
func (s *Service) Plugin() *plugin.Plugin {
	ending, err := plugin.New(plugin.Config{
		Name: "sessiond",
		AfterRunCallback: func(ctx agent.InvocationContext) {
			if err := s.Release(context.WithoutCancel(ctx), ctx.Session()); err != nil {
				s.client.logger.WarnContext(ctx, "sessiond: the lease of a turn was not released; it expires", "error", err)
			}
		},
	})
	if err != nil {
		// ADK refuses no such plugin.
		panic(err)
	}
	return ending
}

// Release ends the turn of the invocation that appended to the session last, with [ConcurrencyLease]: others need not
// wait any more. An invocation that goes on all the same may do so until another one takes the lease.
func (s *Service) Release(ctx context.Context, cur session.Session) error {
	target, err := own(cur)
	if err != nil || s.leases == nil {
		return err
	}
	if err := target.lock(ctx); err != nil {
		return err
	}
	defer target.unlock()
	if target.lease == nil {
		return nil
	}
	return s.leases.release(ctx, target.lease)
}

// take sees to it that the invocation has the lease of the session, whose lock is held, and that the session object
// shows what others have appended until then.
func (l *leases) take(ctx context.Context, service *Service, target *stored, invocationID string) error {
	held := target.lease
	if invocationID != "" && (held == nil || held.invocationID != invocationID) {
		if held != nil {
			l.end(ctx, held)
			target.lease = nil
		}
		taken := &lease{path: target.path(), invocationID: invocationID}
		if target.owner == "" {
			// Not one of the process, two objects of which may run the same invocation.
			host, _ := os.Hostname()
			target.owner = fmt.Sprintf("%.64s/%d/%s", host, os.Getpid(), rand.Text())
		}
		if err := l.ask(ctx, target.owner, taken); err != nil {
			return err
		}
		taken.token = fmt.Sprintf("%d-%s", taken.grant.Epoch, taken.grant.Incarnation)
		l.mu.Lock()
		l.held[taken] = struct{}{}
		taken.forget = context.AfterFunc(ctx, func() { l.end(ctx, taken) })
		l.mu.Unlock()
		target.lease, held = taken, taken
	}
	if held == nil {
		return nil
	}
	for missed := held.grant.Revision - target.seen(); missed > 0; {
		query := url.Values{"numRecentEvents": {strconv.FormatInt(missed, 10)}}
		if service.history == HistoryEffective {
			query = url.Values{"history": {"effective"}}
		}
		later, err := service.read(ctx, request{method: http.MethodGet, path: target.path(), query: query})
		if err == nil && service.history == HistoryEffective {
			later.whole = true
		} else if err == nil && later.rewound {
			if later, err = service.get(ctx, target.path(), nil); err == nil {
				later.whole = later.rewound
			}
		}
		if err != nil {
			return err
		}
		// Those who take no turns may have appended more meanwhile.
		now := later.revision - target.seen()
		if now == missed {
			target.catchUp(later)
			break
		}
		missed = now
	}
	return nil
}

// ask waits for the lease.
func (l *leases) ask(ctx context.Context, owner string, taken *lease) error {
	r := request{
		method: http.MethodPost,
		path:   taken.path + "/lease",
		body: map[string]any{
			"owner":        owner,
			"invocationId": taken.invocationID,
			"ttl":          l.ttl.Seconds(),
		},
	}
	deadline := time.Now().Add(l.wait)
	for {
		answer, err := l.client.send(ctx, r)
		if err == nil {
			return decode(answer, &taken.grant)
		}
		left := time.Until(deadline)
		if !errors.Is(err, ErrBusy) || left <= 0 {
			return err
		}
		if r.patience > 0 {
			// The server ended the wait early, or another one was first.
			select {
			case <-time.After(min(left, 200*time.Millisecond+mathrand.N(300*time.Millisecond))):
			case <-ctx.Done():
				return ctx.Err()
			}
		}
		r.patience = max(time.Second, min(oneWait, left.Truncate(time.Second)))
		r.query = url.Values{"wait": {strconv.Itoa(int(r.patience / time.Second))}}
	}
}

// refused forgets a lease that was superseded. The turn goes on showing it, and so stores nothing any more.
func (l *leases) refused(target *stored, err error) {
	var failure *Error
	if target.lease != nil && errors.As(err, &failure) && failure.Code == "fenced" {
		l.drop(target.lease)
	}
}

// drop tells whether the lease was held until now.
func (l *leases) drop(one *lease) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	_, held := l.held[one]
	delete(l.held, one)
	one.forget()
	return held
}

// end releases a lease, whatever became of the context of its invocation.
func (l *leases) end(ctx context.Context, one *lease) {
	if err := l.release(context.WithoutCancel(ctx), one); err != nil {
		l.client.logger.WarnContext(ctx, "sessiond: the lease of a turn was not released; it expires", "error", err)
	}
}

// release gives a lease back, once.
func (l *leases) release(ctx context.Context, one *lease) error {
	if !l.drop(one) {
		return nil
	}
	_, err := l.client.send(ctx, request{
		method: http.MethodDelete,
		path:   one.path + "/lease",
		query:  url.Values{"epoch": {strconv.FormatInt(one.grant.Epoch, 10)}, "incarnation": {one.grant.Incarnation}},
	})
	if errors.Is(err, ErrNotFound) {
		return nil
	}
	return err
}

func (l *leases) releaseAll() error {
	l.mu.Lock()
	held := make([]*lease, 0, len(l.held))
	for one := range l.held {
		held = append(held, one)
	}
	l.mu.Unlock()
	var failures []error
	for _, one := range held {
		failures = append(failures, l.release(context.Background(), one))
	}
	return errors.Join(failures...)
}
