package connect

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"campaignd/internal/ledger"

	"github.com/jackc/pgx/v5"
)

// PoolSize is how many connections a pool has by default. Each kind of work has a pool of its own,
// so no report delays a webhook, and no webhook an intent (docs/protocol.md#postgresql).
const PoolSize = 4

// connLife is how long a connection is used. After a failover behind a proxy, every connection
// reaches the new server within this time. Up to a quarter is added, so that they do not end
// together.
const connLife = 30 * time.Minute

// Pool keeps the connections of one kind of work and opens them when they are needed. After a
// failure it waits before it connects again, so that many replicas do not connect at once when
// their server returns. It has no goroutine.
type Pool struct {
	Name   string
	Config *pgx.ConnConfig
	Login  *Login                                 // nil: that of Config
	Within time.Duration                          // time limit of a call that only reads: Ledger.ask
	check  func(context.Context, *pgx.Conn) error // refuses a server that must not be written to

	inUse chan struct{} // has an element for each connection in use
	over  chan struct{} // closed when the pool is
	mu    sync.Mutex
	idle  []*Conn
	shut  bool
	fails int
	next  time.Time // when a connection may be tried again
	last  error     // why the last try failed
}

// Conn is a connection of a pool.
type Conn struct {
	*pgx.Conn
	expires time.Time // then the pool closes it

	Changed bool // a statement of its transaction has changed rows
}

// New returns a pool without connections. login is nil for the one of config. within is the time
// limit of a call that only reads, and check is called with each new connection; nil checks
// nothing. size 0 means PoolSize.
func New(name string, config *pgx.ConnConfig, login *Login, size int, within time.Duration,
	check func(context.Context, *pgx.Conn) error) *Pool {
	return &Pool{Name: name, Config: config, Login: login, Within: within, check: check, inUse: make(chan struct{}, cmp.Or(size, PoolSize)),
		over: make(chan struct{})}
}

// Acquire takes an idle connection, or opens one. It waits while all are in use, and fails at once
// while the pool pauses after a failure.
func (p *Pool) Acquire(ctx context.Context) (*Conn, error) {
	select {
	case p.inUse <- struct{}{}:
	case <-p.over:
		return nil, ledger.ErrClosed
	case <-ctx.Done():
		return nil, fmt.Errorf("wait for a %s connection: %w", p.Name, ctx.Err())
	}
	c, err := p.take(ctx)
	if err != nil {
		<-p.inUse
	}
	return c, err
}

func (p *Pool) take(ctx context.Context) (*Conn, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	now := time.Now()
	p.mu.Lock()
	if p.shut {
		p.mu.Unlock()
		return nil, ledger.ErrClosed
	}
	var c *Conn
	var expired []*Conn
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

func (p *Pool) open(ctx context.Context) (*Conn, error) {
	c, err := p.Login.Connect(ctx, p.Config)
	if err == nil && p.check != nil {
		if err = p.check(ctx, c); err != nil {
			(&Conn{Conn: c}).End()
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if err == nil {
		p.fails, p.next, p.last = 0, time.Time{}, nil
		return &Conn{Conn: c, expires: time.Now().Add(connLife + rand.N(connLife/4))}, nil
	}
	if ctx.Err() == nil { // otherwise the caller's time ended
		// Between a half and the whole of 25, 50, 100 ... 1600 ms.
		pause := 25 * time.Millisecond << min(p.fails, 6)
		p.fails++
		p.next, p.last = time.Now().Add(pause/2+rand.N(pause/2)), err
	}
	return nil, err
}

// Release gives a connection back. It closes one that has an open transaction.
func (p *Pool) Release(c *Conn) {
	defer func() { <-p.inUse }()
	p.mu.Lock()
	keep := !p.shut && !c.IsClosed() && c.PgConn().TxStatus() == 'I'
	if keep {
		p.idle = append(p.idle, c)
	}
	p.mu.Unlock()
	if !keep {
		c.End()
	}
}

// Forget closes the idle connections: after one broke, the others are probably broken too.
func (p *Pool) Forget() {
	p.mu.Lock()
	idle := p.idle
	p.idle = nil
	p.mu.Unlock()
	endAll(idle)
}

// Close ends the pool and waits for the connections in use.
func (p *Pool) Close() {
	p.mu.Lock()
	p.shut = true
	p.mu.Unlock()
	close(p.over)
	p.Forget()
	for range cap(p.inUse) {
		p.inUse <- struct{}{}
	}
}

// End closes the connection, and tells the server if that takes no more than a second.
func (c *Conn) End() {
	if c.IsClosed() {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	_ = c.Close(ctx)
}

// endAll closes connections beside each other, because a silent server delays each by a second.
func endAll(all []*Conn) {
	var ending sync.WaitGroup
	for _, c := range all {
		ending.Go(c.End)
	}
	ending.Wait()
}

// isAway reports whether err comes from a pool that pauses after a failure.
func isAway(err error) bool {
	var away *awayError
	return errors.As(err, &away)
}
