package sessiond

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"sync"
	"time"
)

// What RFC 6750, section 2.1, lets a token consist of.
var tokenForm = regexp.MustCompile(`^[A-Za-z0-9._~+/-]+=*$`)

// credential is the token that requests show, asked for again when it is refused.
type credential struct {
	source  func(context.Context) (string, error)
	timeout time.Duration

	mu    sync.Mutex
	token string
	// How many tokens there were: the source may give the same one twice.
	version int
	// The call of the source that is under way, if any.
	asking *asking
}

type asking struct {
	done    chan struct{}
	token   string
	version int
	err     error
}

// newCredential returns nil if there is none to show.
func newCredential(c *config) (*credential, error) {
	if c.tokenSource != nil {
		return &credential{source: c.tokenSource, timeout: c.timeout}, nil
	}
	if c.token == "" {
		return nil, nil
	}
	token, err := checkedToken(c.token)
	if err != nil {
		return nil, err
	}
	return &credential{token: token, version: 1}, nil
}

// laterThan returns the token and its version, after the source was asked if there is none later than that.
func (c *credential) laterThan(ctx context.Context, version int) (string, int, error) {
	c.mu.Lock()
	if c.version > version {
		defer c.mu.Unlock()
		return c.token, c.version, nil
	}
	call := c.asking
	if call == nil {
		call = &asking{done: make(chan struct{})}
		c.asking = call
		// For all who wait: it goes on if the one who asks gives up.
		go c.ask(context.WithoutCancel(ctx), call)
	}
	c.mu.Unlock()
	select {
	case <-call.done:
		return call.token, call.version, call.err
	case <-ctx.Done():
		return "", 0, ctx.Err()
	}
}

func (c *credential) ask(ctx context.Context, call *asking) {
	ctx, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	token, err := c.source(ctx)
	if err == nil {
		token, err = checkedToken(token)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.asking = nil
	if err != nil {
		call.err = fmt.Errorf("%w: the token source failed: %w", ErrDenied, err)
	} else {
		c.version++
		c.token = token
		call.token, call.version = token, c.version
	}
	close(call.done)
}

// checkedToken leaves out white space around a token, which a file may have.
func checkedToken(token string) (string, error) {
	token = strings.TrimSpace(token)
	if !tokenForm.MatchString(token) {
		return "", errors.New("sessiond: the token is empty, or has characters that no token has")
	}
	return token, nil
}
