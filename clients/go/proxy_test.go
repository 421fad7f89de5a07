package sessiond

import (
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"
)

// proxy forwards connections to the shared server, and loses answers.
type proxy struct {
	listener net.Listener
	// How many answers are still to be lost: the connection ends when the answer comes, after the request was handled.
	losses atomic.Int32

	mu   sync.Mutex
	open map[net.Conn]struct{}
}

func newProxy(t *testing.T) *proxy {
	t.Helper()
	listener := must(net.Listen("tcp", "127.0.0.1:0"))
	p := &proxy{listener: listener, open: map[net.Conn]struct{}{}}
	t.Cleanup(func() {
		_ = listener.Close()
		p.cut()
	})
	go func() {
		for {
			near, err := listener.Accept()
			if err != nil {
				return
			}
			go p.forward(near)
		}
	}()
	return p
}

func (p *proxy) url() string { return "http://" + p.listener.Addr().String() }

// cut ends all connections.
func (p *proxy) cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for connection := range p.open {
		_ = connection.Close()
	}
}

func (p *proxy) forward(near net.Conn) {
	defer near.Close()
	far, err := net.Dial("tcp", shared.address)
	if err != nil {
		return
	}
	defer far.Close()
	p.mu.Lock()
	p.open[near] = struct{}{}
	p.mu.Unlock()
	defer func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		delete(p.open, near)
	}()
	go func() {
		defer far.Close()
		pump(near, far, func() bool { return true })
	}()
	pump(far, near, func() bool { return p.losses.Add(-1) < 0 })
}

func pump(from, to net.Conn, pass func() bool) {
	buffer := make([]byte, 64<<10)
	for {
		n, err := from.Read(buffer)
		if n > 0 && !pass() {
			return
		}
		if _, failed := to.Write(buffer[:n]); err != nil || failed != nil {
			return
		}
	}
}

// stub answers in place of sessiond.
func stub(t *testing.T, answer http.HandlerFunc) string {
	t.Helper()
	s := httptest.NewServer(answer)
	t.Cleanup(s.Close)
	return s.URL
}
