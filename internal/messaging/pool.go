package messaging

import (
	"cmp"
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"net/url"
	"slices"
	"sync"
	"time"
)

// pool keeps the connections for sends. The pool of an http.Transport would not do: there a request
// that must not be written any more takes its connection with it. Here a request first takes a
// connection, then looks whether it is still in time, and puts the connection back unused if it is
// not (docs/protocol.md#posting). A pool is safe for concurrent use.
type pool struct {
	dial    func(context.Context) (*conn, error)
	idleFor time.Duration // a connection that was not used for that is closed
	used    chan struct{} // has an element for each connection that is in use, or being made

	mu    sync.Mutex
	idle  []*conn     // the one that was used last comes last
	sweep *time.Timer // closes the first of idle; nil: no connection is idle
}

// newPool makes a pool of up to most connections to the host of base, which it dials as t does.
func newPool(t *http.Transport, base *url.URL, most int, idleFor time.Duration) *pool {
	port := cmp.Or(base.Port(), map[string]string{"https": "443"}[base.Scheme], "80")
	address := net.JoinHostPort(base.Hostname(), port)
	return &pool{
		idleFor: idleFor, used: make(chan struct{}, most),
		dial: func(ctx context.Context) (*conn, error) {
			var config *tls.Config
			if base.Scheme == "https" {
				config = t.TLSClientConfig.Clone()
				config.ServerName = base.Hostname()
			}
			return dial(ctx, t.DialContext, address, config, t.TLSHandshakeTimeout)
		},
	}
}

// take returns a connection for one exchange: an idle one, else a new one. It waits for one while
// the most are in use. The caller gives it back with put or discard.
func (p *pool) take(ctx context.Context) (*conn, error) {
	select {
	case p.used <- struct{}{}:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if c := p.pop(); c != nil {
		return c, nil
	}
	c, err := p.dial(ctx)
	if err != nil {
		<-p.used
		return nil, err
	}
	return c, nil
}

// pop removes the idle connection that was used last, unless its peer has closed it.
func (p *pool) pop() *conn {
	for {
		c := p.last()
		if c == nil {
			return nil
		}
		if time.Since(c.idle) < p.idleFor && c.silent() { // without the lock, because it may listen for 1 ms
			return c
		}
		c.Close()
	}
}

// last removes the connection that was used last, or returns nil.
func (p *pool) last() *conn {
	p.mu.Lock()
	defer p.mu.Unlock()
	n := len(p.idle) - 1
	if n < 0 {
		return nil
	}
	c := p.idle[n]
	p.idle = slices.Delete(p.idle, n, n+1)
	return c
}

// put gives back a connection that wrote nothing, or whose answer was read to its end. Another
// exchange can use it.
func (p *pool) put(c *conn) {
	if !c.open { // the peer closes it, or the end of the answer was not read
		p.discard(c)
		return
	}
	p.mu.Lock()
	c.idle = time.Now()
	p.idle = append(p.idle, c)
	if p.sweep == nil {
		p.sweep = time.AfterFunc(p.idleFor, p.expire)
	}
	p.mu.Unlock()
	<-p.used
}

// discard closes a connection.
func (p *pool) discard(c *conn) {
	c.Close()
	<-p.used
}

// expire closes the connections that were not used for idleFor.
func (p *pool) expire() {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := time.Now()
	for len(p.idle) > 0 && now.Sub(p.idle[0].idle) >= p.idleFor {
		p.idle[0].Close()
		p.idle = slices.Delete(p.idle, 0, 1)
	}
	if p.sweep = nil; len(p.idle) > 0 {
		p.sweep = time.AfterFunc(p.idleFor-now.Sub(p.idle[0].idle), p.expire)
	}
}

// warm makes a connection if none exists.
func (p *pool) warm(ctx context.Context) error {
	if len(p.used) > 0 {
		return nil
	}
	c, err := p.take(ctx)
	if err == nil {
		p.put(c)
	}
	return err
}

// close closes the idle connections.
func (p *pool) close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range p.idle {
		c.Close()
	}
	p.idle = nil
}
