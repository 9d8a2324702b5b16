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

// hotConns is how many connections a pool holds: each kind of work has its own, so that
// no report keeps a webhook waiting, and no webhook an intent (reliability.md 2.2).
const hotConns = 4

// connLife is how long a connection is used: after a failover behind a proxy all find
// the new server within it. Up to a quarter is added, so that they do not end together.
const connLife = 30 * time.Minute

// pool holds the connections of one kind of work. It opens them when they are needed,
// and no more often than its pause after a failure allows: replicas whose server comes
// back must not all knock at once. It has no goroutine.
type pool struct {
	name   string
	config *pgx.ConnConfig
	within time.Duration                          // bounds a question: Postgres.ask
	greet  func(context.Context, *pgx.Conn) error // refuses what must not be written to

	slots chan struct{}
	over  chan struct{} // closed by close
	mu    sync.Mutex
	idle  []*conn
	shut  bool
	fails int
	next  time.Time // when a connection may be tried again
	last  error     // why the last one failed
}

// conn is a connection of a pool.
type conn struct {
	*pgx.Conn
	dies time.Time
}

func newPool(name string, config *pgx.ConnConfig, within time.Duration, greet func(context.Context, *pgx.Conn) error) *pool {
	return &pool{name: name, config: config, within: within, greet: greet, slots: make(chan struct{}, hotConns), over: make(chan struct{})}
}

// acquire takes an idle connection, or opens one. It waits while all are in use, and
// fails at once while the server is known to be away.
func (p *pool) acquire(ctx context.Context) (*conn, error) {
	select {
	case p.slots <- struct{}{}:
	case <-p.over:
		return nil, ledger.ErrClosed
	case <-ctx.Done():
		return nil, fmt.Errorf("wait for a %s connection: %w", p.name, ctx.Err())
	}
	c, err := p.take(ctx)
	if err != nil {
		<-p.slots
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
	for n := len(p.idle); n > 0; n = len(p.idle) {
		c := p.idle[n-1]
		p.idle = p.idle[:n-1]
		if !c.IsClosed() && now.Before(c.dies) {
			p.mu.Unlock()
			return c, nil
		}
		c.end()
	}
	wait, last := p.next.Sub(now), p.last
	p.mu.Unlock()
	if wait > 0 {
		return nil, &awayError{last}
	}
	return p.open(ctx)
}

// awayError says that the server was away a moment ago and is not asked again yet.
type awayError struct{ err error }

func (e *awayError) Error() string { return e.err.Error() }

func (e *awayError) Unwrap() error { return e.err }

func (p *pool) open(ctx context.Context) (*conn, error) {
	c, err := pgx.ConnectConfig(ctx, p.config.Copy())
	if err == nil && p.greet != nil {
		if err = p.greet(ctx, c); err != nil {
			(&conn{Conn: c}).end()
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if err == nil {
		p.fails, p.next, p.last = 0, time.Time{}, nil
		return &conn{c, time.Now().Add(connLife + rand.N(connLife/4))}, nil
	}
	if ctx.Err() == nil { // otherwise it is the caller who had no time
		// 25, 50, 100 ... up to 1600 ms, each between a half and the whole of it.
		pause := 25 * time.Millisecond << min(p.fails, 6)
		p.fails++
		p.next, p.last = time.Now().Add(pause/2+rand.N(pause/2)), err
	}
	return nil, err
}

// release gives a connection back. One that is in the middle of something is closed.
func (p *pool) release(c *conn) {
	defer func() { <-p.slots }()
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

// forget closes what is idle: after one connection broke the others are as dead.
func (p *pool) forget() {
	p.mu.Lock()
	idle := p.idle
	p.idle = nil
	p.mu.Unlock()
	var ending sync.WaitGroup // a server that is silent keeps each waiting for a second
	for _, c := range idle {
		ending.Go(c.end)
	}
	ending.Wait()
}

// close ends the pool and waits for the connections in use.
func (p *pool) close() {
	p.mu.Lock()
	p.shut = true
	p.mu.Unlock()
	close(p.over)
	p.forget()
	for range cap(p.slots) {
		p.slots <- struct{}{}
	}
}

// end says good-bye to the server if it listens, and closes.
func (c *conn) end() {
	if c.IsClosed() {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	_ = c.Close(ctx)
}

// isAway reports whether err comes from a pool that does not ask the server yet.
func isAway(err error) bool {
	var away *awayError
	return errors.As(err, &away)
}
