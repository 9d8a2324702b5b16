package throttle

import (
	"context"
	"crypto/rand"
	_ "embed"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/url"
	"strconv"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/logging"
	"github.com/redis/go-redis/v9/maintnotifications"
)

// slots is the script that does all arithmetic of a lease: the multiplier first, then the instants.
var slots = adaptLua + slotsLua

//go:embed cubic.lua
var adaptLua string

//go:embed slots.lua
var slotsLua string

// guard is how far ahead of now a cursor starts if it is missing, rewound or in doubt. Leases of
// other processes have ended by then: they end within 285 ms (Horizon, Lateness and the sender's 15
// ms for slots that are used together); the rest is margin for round trips. Each incident costs 400
// ms in which nothing is sent; a key with fewer than 7 slots a second loses more (guardOf).
// docs/limits.md#the-script has the rules.
const guard = 400 * time.Millisecond

// Options of NewRedis. The zero value is usable.
type Options struct {
	// Ledger is the id of the ledger that the processes send from. The counts of quotas and the rates
	// of runs belong to one ledger, so their keys have it; a number is paced for all ledgers.
	Ledger string
	// Address returns the address as the configuration has it now. It is called when the server
	// refuses the user or the password, which may have been rotated. Nil: the address of NewRedis.
	Address func() (string, error)
	// Log receives incidents: the server is lost, back or replaced. Default: slog.DiscardHandler.
	Log *slog.Logger
}

// Redis paces a number over all processes that share one Redis server. While the server works, it
// keeps the same promises as Local. If the server is away, slow, restarted, emptied, rolled back or
// replaced by a stale copy, fewer slots are handed out, never more: none during the outage and at
// most one more second, and no second is above the rate.
//
// The script computes instants in Redis's time; they are converted to the local monotonic clock.
// Within one process two instants are never closer than the interval. Between processes they are
// off by the difference of the round trips, a fraction of a millisecond. Ask for rates at least 2 %
// below the number's limit, as throughput.Number.Pace does. A slot that is older than Lateness when
// the reply arrives is forfeited.
//
// It needs one server, version 5 or newer, at an address that follows the master. The server should
// not evict keys (maxmemory-policy noeviction): a lost cursor is safe but costs the guard.
type Redis struct {
	log    *slog.Logger
	ledger string // Options.Ledger
	// The SHA-1 of the scripts of these names, as EVALSHA wants it.
	slots, allow, bucket, restore, way string
	process                            string        // names this process among those that share
	rebuildAfter, unitsFor             time.Duration // the constants of these names, shorter in tests
	server                             server
	clock                              clock

	mu     sync.Mutex
	news   map[string]*news // by key
	counts map[string]count
	keys   map[string]*memory
	swept  time.Time // when idle keys were last forgotten
}

// memory is what this process knows of a key. A key has one lease at a time, because the reply to a
// lease is an argument of the next one.
type memory struct {
	busy     chan struct{} // a lock, taken while a lease is under way
	cursor   string        // as the script last returned it after a grant; microseconds, "0": never
	incident int64         // the server's count of incidents when this key was last guarded
	end      time.Time     // the local instant after the last slot handed out
	used     time.Time
	part     float64 // the multiplier as the script last returned it
	answers  answers // not sent yet; guarded by Redis.mu
}

var (
	_ Limiter = (*Redis)(nil)
	_ Counter = (*Redis)(nil)
)

// parseAddress reads an address. Its errors do not show it.
func parseAddress(address string) (*redis.Options, error) {
	plain := false
	if u, err := url.Parse(address); err == nil && u.Scheme == "redis" && u.Query().Get("sslmode") == "disable" {
		q := u.Query()
		q.Del("sslmode")
		u.RawQuery, plain = q.Encode(), true
		address = u.String()
	}
	options, err := redis.ParseURL(address)
	if err != nil {
		// Not err itself: net/url quotes the address with its password.
		return nil, errors.New("redis: the address cannot be read; want redis://host:6379, rediss://user:password@host:6379/0 or unix:///path")
	}
	if !plain && options.TLSConfig == nil && options.Network != "unix" && options.Password != "" {
		host, _, err := net.SplitHostPort(options.Addr)
		ip := net.ParseIP(host)
		if err != nil || host != "localhost" && (ip == nil || !ip.IsLoopback()) {
			return nil, fmt.Errorf("redis: the password would travel to %s unencrypted: give rediss://, "+
				"or add ?sslmode=disable to permit it in a network of your own", options.Addr)
		}
	}
	return options, nil
}

// NewRedis connects to the server at url: redis://user:password@host:port/db, rediss:// for TLS,
// unix:///path. It fails only when the url cannot be read, would send a password to another machine
// without TLS (redis://...?sslmode=disable permits that), or leads to a node of a cluster
// (ErrCluster). A server that does not answer yet
// is not an error: leases return ErrUnavailable until it answers. Ping asks whether it does.
func NewRedis(ctx context.Context, address string, o Options) (*Redis, error) {
	options, err := parseAddress(address)
	if err != nil {
		return nil, err
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	options.MaxRetries = -1   // a late script has run: a retry would take its slots twice (docs/limits.md#the-script)
	options.DialerRetries = 1 // one try; the breaker decides when to try again
	options.DialTimeout = 500 * time.Millisecond
	options.ReadTimeout = 200 * time.Millisecond
	options.WriteTimeout = 200 * time.Millisecond
	options.ContextTimeoutEnabled = true
	options.PoolSize = 8
	options.PoolTimeout = 200 * time.Millisecond
	options.DisableIdentity = true // servers before 7.2 answer CLIENT SETINFO with an error
	options.MaintNotificationsConfig = &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}

	// The client's pool writes a line to standard error for every failed dial. Options.Log gets each
	// incident once.
	logging.Disable()

	r := &Redis{
		log:          o.Log,
		ledger:       o.Ledger,
		slots:        redis.NewScript(slots).Hash(),
		allow:        redis.NewScript(allow).Hash(),
		bucket:       redis.NewScript(bucket).Hash(),
		restore:      redis.NewScript(restore).Hash(),
		way:          redis.NewScript(way).Hash(),
		process:      rand.Text(),
		rebuildAfter: rebuildAfter,
		unitsFor:     UnitsFor,
		clock:        clock{base: time.Now()},
		news:         make(map[string]*news),
		counts:       make(map[string]count),
		keys:         make(map[string]*memory),
	}
	r.server.address = o.Address
	r.server.init(options, o.Log)
	if err := r.Ping(ctx); errors.Is(err, ErrCluster) {
		_ = r.Close()
		return nil, err
	} else if err != nil {
		o.Log.Warn("redis cannot be used: nothing is sent until it can", "err", err)
	}
	return r, nil
}

// Ping reports whether the server answers now; the error wraps ErrUnavailable.
func (r *Redis) Ping(ctx context.Context) error {
	if _, err := r.server.do(ctx, "ping"); err != nil {
		return fmt.Errorf("%w: redis: %w", ErrUnavailable, err)
	}
	return nil
}

// Ready reports whether slots can be leased now. A server may answer Ping and refuse the script, so
// it leases one of a key that no number has. The error wraps ErrUnavailable.
func (r *Redis) Ready(ctx context.Context) error {
	_, err := r.Lease(ctx, "/ready", 100, 1)
	return err
}

// Close ends the connections. Slots handed out before stay valid.
func (r *Redis) Close() error { return r.server.close() }

// Lease hands out slots as Limiter says. It blocks on Redis only: at most 200 ms on an open
// connection, 500 ms while connecting, and not at all while the server is known to be away. An
// error of Redis wraps ErrUnavailable.
func (r *Redis) Lease(ctx context.Context, key string, rate float64, n int) (Slots, error) {
	every, err := interval(key, rate, n)
	if err != nil {
		return Slots{}, err
	}
	m := r.recall(key)
	select {
	case m.busy <- struct{}{}:
		defer func() { <-m.busy }()
	case <-ctx.Done():
		return Slots{}, ctx.Err()
	}
	if err := ctx.Err(); err != nil {
		return Slots{}, err
	}
	incident := r.server.incidents()
	asked := r.clock.now()
	heard := r.take(m)
	keys := []string{"{n:" + key + "}:tat", r.cubicKey(key)}
	reply, err := r.server.eval(ctx, r.slots, slots, keys, append(m.args(every, n, incident), heard.args(m.part)...)...)
	if err != nil {
		r.giveBack(m, heard)
		r.clock.forget()
		return Slots{}, fmt.Errorf("%w: redis: %w", ErrUnavailable, err)
	}
	granted, err := parseGrant(reply)
	if err != nil {
		r.server.doubt()
		return Slots{}, fmt.Errorf("%w: redis: %w", ErrUnavailable, err)
	}
	m.part = granted.part
	r.turnTo(m, granted.stage)
	s := Slots{Interval: stretch(every, granted.part), Rate: rate * granted.part, Stage: granted.stage}
	if !r.clock.observe(asked, granted.now) {
		// The clock stepped. The instants may come from another server, or be an hour off.
		r.server.doubt()
		r.log.Warn("the clock of redis stepped: slots are dropped", "key", key)
		s.Wait = Lateness
		return s, nil
	}
	if granted.n > 0 || granted.reset {
		m.cursor = granted.cursor
	}
	if r.server.incidents() != incident {
		// During the call a connection to another server was made. The script did not know of it, so the
		// slots are dropped, and the next lease is guarded.
		s.Wait = time.Millisecond
		return s, nil
	}
	m.incident = incident
	return r.hand(m, granted, s), nil
}

// args are the arguments of the script.
func (m *memory) args(every time.Duration, n int, incident int64) []any {
	suspect, guard, cursor := 0, guardOf(every).Microseconds(), m.cursor
	if m.incident != incident {
		suspect = 1
	}
	return []any{
		strconv.FormatFloat(float64(every)/float64(time.Microsecond), 'f', 3, 64),
		n, Horizon.Microseconds(), guard, cursor, suspect,
	}
}

// guardOf is the guard of a key with this interval. The first slot after an incident must be one
// interval later than the last slot before the incident, which may lie a Horizon ahead. For slow
// keys one second is enough, because the promise is about seconds.
func guardOf(every time.Duration) time.Duration {
	return max(guard, Horizon+min(every, time.Second))
}

// hand gives s the local instants of a grant, or a Wait. Slots whose local instants are not known
// within clockStep are given up.
func (r *Redis) hand(m *memory, g grant, s Slots) Slots {
	now := time.Now()
	first := r.clock.local(g.first)
	s.Wait = time.Millisecond // until there is a slot
	if g.n == 0 {
		s.Wait = max(first.Sub(now)-Horizon, s.Wait)
		return s
	}
	if !r.clock.placed() {
		return s
	}
	n := g.n
	if first.Before(m.end) {
		// The estimate of Redis's clock has improved since the last lease, so the slots are moved back.
		// Slots beyond the horizon are given up; otherwise the delay would stay.
		first = m.end
		n = fit(first, now, s.Interval, n)
	}
	s.First, s.N = first, n
	m.end = s.At(n)
	if late := now.Sub(first) - Lateness; late > 0 { // the reply was late: the older slots are forfeited
		gone := min(n, int((late+s.Interval-1)/s.Interval))
		s.First, s.N = s.At(gone), n-gone
	}
	if s.N > 0 {
		s.Wait = 0
	}
	return s
}

// recall returns the memory of key, and makes it if there is none. Once a minute it forgets keys
// that were idle for a minute.
func (r *Redis) recall(key string) *memory {
	now := time.Now()
	r.mu.Lock()
	defer r.mu.Unlock()
	if now.Sub(r.swept) > forgetAfter {
		r.swept = now
		for k, m := range r.keys {
			// A key is kept while a lease is under way, and until its last slot is a minute past.
			if len(m.busy) == 0 && now.Sub(m.used) > forgetAfter && now.Sub(m.end) > forgetAfter {
				delete(r.keys, k)
			}
		}
	}
	m := r.remember(key)
	m.used = now
	return m
}

// remember is recall without forgetting. The caller holds the lock.
func (r *Redis) remember(key string) *memory {
	m := r.keys[key]
	if m == nil {
		m = &memory{busy: make(chan struct{}, 1), cursor: "0", part: 1, used: time.Now()}
		r.keys[key] = m
	}
	return m
}
