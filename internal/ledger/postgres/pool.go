package postgres

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"campaignd/internal/ledger"

	"github.com/jackc/pgx/v5"
)

// poolSize is how many connections a pool has. Each kind of work has a pool of its own, so no
// report delays a webhook, and no webhook an intent (docs/protocol.md#postgresql).
const poolSize = 4

// connLife is how long a connection is used. After a failover behind a proxy, every connection
// reaches the new server within this time. Up to a quarter is added, so that they do not end
// together.
const connLife = 30 * time.Minute

// pool keeps the connections of one kind of work and opens them when they are needed. After a
// failure it waits before it connects again, so that many replicas do not connect at once when
// their server returns. It has no goroutine.
type pool struct {
	name   string
	config *pgx.ConnConfig
	within time.Duration                          // time limit of a call that only reads: Ledger.ask
	check  func(context.Context, *pgx.Conn) error // refuses a server that must not be written to

	inUse chan struct{} // has an element for each connection in use
	over  chan struct{} // closed when the pool is
	mu    sync.Mutex
	idle  []*conn
	shut  bool
	fails int
	next  time.Time // when a connection may be tried again
	last  error     // why the last try failed
}

// conn is a connection of a pool.
type conn struct {
	*pgx.Conn
	expires time.Time // then the pool closes it

	changed bool // a statement of its transaction has changed rows
}

func newPool(name string, config *pgx.ConnConfig, within time.Duration, check func(context.Context, *pgx.Conn) error) *pool {
	return &pool{name: name, config: config, within: within, check: check, inUse: make(chan struct{}, poolSize), over: make(chan struct{})}
}

// acquire takes an idle connection, or opens one. It waits while all are in use, and fails at once
// while the pool pauses after a failure.
func (p *pool) acquire(ctx context.Context) (*conn, error) {
	select {
	case p.inUse <- struct{}{}:
	case <-p.over:
		return nil, ledger.ErrClosed
	case <-ctx.Done():
		return nil, fmt.Errorf("wait for a %s connection: %w", p.name, ctx.Err())
	}
	c, err := p.take(ctx)
	if err != nil {
		<-p.inUse
	}
	return c, err
}

func (p *pool) take(ctx context.Context) (*conn, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	now := time.Now()
	p.mu.Lock()
	if p.shut {
		p.mu.Unlock()
		return nil, ledger.ErrClosed
	}
	var c *conn
	var expired []*conn
	for n := len(p.idle); n > 0 && c == nil; n = len(p.idle) {
		if one := p.idle[n-1]; !one.IsClosed() && now.Before(one.expires) {
			c = one
		} else {
			expired = append(expired, one)
		}
		p.idle = p.idle[:n-1]
	}
	wait, last := p.next.Sub(now), p.last
	p.mu.Unlock()
	endAll(expired)
	if c != nil {
		return c, nil
	}
	if wait > 0 {
		return nil, &awayError{last}
	}
	return p.open(ctx)
}

// awayError says that the last connection failed and that the pool still pauses.
type awayError struct{ err error }

func (e *awayError) Error() string { return e.err.Error() }

func (e *awayError) Unwrap() error { return e.err }

func (p *pool) open(ctx context.Context) (*conn, error) {
	c, err := pgx.ConnectConfig(ctx, p.config.Copy())
	if err == nil && p.check != nil {
		if err = p.check(ctx, c); err != nil {
			(&conn{Conn: c}).end()
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if err == nil {
		p.fails, p.next, p.last = 0, time.Time{}, nil
		return &conn{Conn: c, expires: time.Now().Add(connLife + rand.N(connLife/4))}, nil
	}
	if ctx.Err() == nil { // otherwise the caller's time ended
		// Between a half and the whole of 25, 50, 100 ... 1600 ms.
		pause := 25 * time.Millisecond << min(p.fails, 6)
		p.fails++
		p.next, p.last = time.Now().Add(pause/2+rand.N(pause/2)), err
	}
	return nil, err
}

// release gives a connection back. It closes one that has an open transaction.
func (p *pool) release(c *conn) {
	defer func() { <-p.inUse }()
	p.mu.Lock()
	keep := !p.shut && !c.IsClosed() && c.PgConn().TxStatus() == 'I'
	if keep {
		p.idle = append(p.idle, c)
	}
	p.mu.Unlock()
	if !keep {
		c.end()
	}
}

// forget closes the idle connections: after one broke, the others are probably broken too.
func (p *pool) forget() {
	p.mu.Lock()
	idle := p.idle
	p.idle = nil
	p.mu.Unlock()
	endAll(idle)
}

// close ends the pool and waits for the connections in use.
func (p *pool) close() {
	p.mu.Lock()
	p.shut = true
	p.mu.Unlock()
	close(p.over)
	p.forget()
	for range cap(p.inUse) {
		p.inUse <- struct{}{}
	}
}

// end closes the connection, and tells the server if that takes no more than a second.
func (c *conn) end() {
	if c.IsClosed() {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	_ = c.Close(ctx)
}

// endAll closes connections beside each other, because a silent server delays each by a second.
func endAll(all []*conn) {
	var ending sync.WaitGroup
	for _, c := range all {
		ending.Go(c.end)
	}
	ending.Wait()
}

// isAway reports whether err comes from a pool that pauses after a failure.
func isAway(err error) bool {
	var away *awayError
	return errors.As(err, &away)
}
