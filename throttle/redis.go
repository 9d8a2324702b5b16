package throttle

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/logging"
	"github.com/redis/go-redis/v9/maintnotifications"

	"campaignd/internal/mutant"
)

// slots is the whole of the limiter's arithmetic.
//
//go:embed slots.lua
var slots string

// Guard is where a cursor starts that is missing, rewound or in doubt: later than any lease
// that may still be in somebody's hands, which end within Horizon + Lateness, with a margin
// for the way (throttle.md 5.1). It is the price of an incident: 400 ms of silence, more of a
// key with less than 7 slots a second (guardOf).
const Guard = 400 * time.Millisecond

// Options of NewRedis. The zero value is what a daemon uses.
type Options struct {
	Log *slog.Logger // incidents: the server lost, back, replaced; default: slog.DiscardHandler
}

// Redis paces a number over all processes that share one Redis server. It is as good as
// Local wherever Redis is well, and sends less, never more, when it is not: a server that is
// away, slow, restarted, emptied, rolled back or replaced by a stale copy costs silence (the
// outage and at most a second), no second above the rate.
//
// The instants are Redis's, carried over to the local monotonic clock: within one process
// never closer than the interval, between processes off by the difference of their round
// trips, a fraction of a millisecond. Pace below the number's limit by 2 % or more
// (Number.Pace does). A slot that is already later than Lateness when the reply comes in is
// forfeited.
//
// One server, 5 or newer, at an address that follows its master. It should not evict keys
// (maxmemory-policy noeviction): a lost cursor is safe but costs the guard.
type Redis struct {
	log    *slog.Logger
	script string // SHA-1, as EVALSHA wants it
	server server
	clock  clock

	mu    sync.Mutex
	keys  map[string]*memory
	swept time.Time // when idle keys were last forgotten
}

// memory is what this process knows of a key. One lease at a time: the answer to one
// is an argument of the next.
type memory struct {
	busy     chan struct{} // holds one token; taken while a lease is under way
	cursor   string        // as the script last returned it after a grant; microseconds, "0": never
	incident int64         // the server's count of incidents that this key has been guarded for
	end      time.Time     // the local instant after the last slot handed out
	used     time.Time
}

var _ Limiter = (*Redis)(nil)

// NewRedis speaks to the server at url: redis://user:password@host:port/db, rediss:// for TLS,
// unix:///path. The error is about the url alone. A server that does not answer yet is not an error:
// leases are ErrUnavailable until it does. Ping asks.
func NewRedis(ctx context.Context, url string, o Options) (*Redis, error) {
	options, err := redis.ParseURL(url)
	if err != nil {
		// Not err itself: net/url quotes the address with its password.
		return nil, errors.New("redis: the address cannot be read; want redis://host:6379, rediss://user:password@host:6379/0 or unix:///path")
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	options.MaxRetries = -1   // a late script has run: replayed, it takes its slots twice (throttle.md 5.2)
	options.DialerRetries = 1 // the breaker tries again, the sender does not wait
	options.DialTimeout = 500 * time.Millisecond
	options.ReadTimeout = 200 * time.Millisecond
	options.WriteTimeout = 200 * time.Millisecond
	options.ContextTimeoutEnabled = true
	options.PoolSize = 8
	options.PoolTimeout = 200 * time.Millisecond
	options.DisableIdentity = true // CLIENT SETINFO is noise on servers before 7.2
	options.MaintNotificationsConfig = &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}

	// Its pools write a line to standard error for every failed dial; Options.Log says each incident once.
	logging.Disable()

	r := &Redis{
		log:    o.Log,
		script: redis.NewScript(slots).Hash(),
		clock:  clock{base: time.Now()},
		keys:   make(map[string]*memory),
	}
	r.server.init(options, o.Log)
	if err := r.Ping(ctx); err != nil {
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

// Close ends the connections. Leases handed out stay valid.
func (r *Redis) Close() error { return r.server.close() }

// Lease hands out slots as Limiter says. It blocks on Redis only, for 200 ms at most after a
// connection stands, 500 ms while connecting, and not at all while the server is known to be away. The
// error wraps ErrUnavailable whenever it is Redis's.
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
	reply, err := r.server.eval(ctx, r.script, slots, "{n:"+key+"}:tat", m.args(every, n, incident)...)
	if err != nil {
		r.clock.forget()
		return Slots{}, fmt.Errorf("%w: redis: %w", ErrUnavailable, err)
	}
	granted, err := parseGrant(reply)
	if err != nil {
		r.server.doubt()
		return Slots{}, fmt.Errorf("%w: redis: %w", ErrUnavailable, err)
	}
	if !r.clock.observe(asked, granted.now) {
		// Another clock than before: these instants may be another server's, or an hour off.
		r.server.doubt()
		r.log.Warn("the clock of redis stepped: slots are dropped", "key", key)
		return Slots{Interval: every, Wait: Lateness}, nil
	}
	if granted.n > 0 || granted.reset {
		m.cursor = granted.cursor
	}
	if r.server.incidents() != incident {
		// On the way a connection was made to a server that is not the one of before: it was not
		// told to be careful. The next lease tells it.
		return Slots{Interval: every, Wait: time.Millisecond}, nil
	}
	m.incident = incident
	return r.hand(m, granted, every), nil
}

// args are the script's. The planted mistake is the one most limiters make: no cursor means
// that nothing was sent, so a full bucket.
func (m *memory) args(every time.Duration, n int, incident int64) []any {
	suspect, guard, cursor := 0, guardOf(every).Microseconds(), m.cursor
	if m.incident != incident {
		suspect = 1
	}
	if mutant.On("missing_key_full_bucket") {
		suspect, guard, cursor = 0, 0, "0"
	}
	return []any{
		fmt.Sprintf("%.3f", float64(every)/float64(time.Microsecond)),
		n, Horizon.Microseconds(), guard, cursor, suspect,
	}
}

// guardOf is the guard of a key with an interval. The slot after an incident lies an interval behind the last
// one of before, which may lie a Horizon ahead; a second is enough, because the promise is about a second.
func guardOf(every time.Duration) time.Duration {
	return max(Guard, Horizon+min(every, time.Second))
}

// hand turns a grant into local instants.
func (r *Redis) hand(m *memory, g grant, every time.Duration) Slots {
	now := time.Now()
	first := r.clock.local(g.first)
	if g.n == 0 {
		return Slots{Interval: every, Wait: max(first.Sub(now)-Horizon, time.Millisecond)}
	}
	n := g.n
	if first.Before(m.end) {
		// The estimate of Redis's clock got better in between. What then lies beyond the horizon
		// is given up, or the delay would stay.
		first = m.end
		n = fit(first, now, every, n)
	}
	s := Slots{First: first, Interval: every, N: n}
	m.end = s.At(s.N)
	if late := now.Sub(first) - Lateness; late > 0 { // the reply was late: forfeit, never catch up
		gone := min(s.N, int((late+every-1)/every))
		s.First, s.N = s.At(gone), s.N-gone
	}
	if s.N == 0 {
		return Slots{Interval: every, Wait: time.Millisecond}
	}
	return s
}

// recall finds or begins what is remembered of key, and once a minute forgets what was idle for one.
func (r *Redis) recall(key string) *memory {
	now := time.Now()
	r.mu.Lock()
	defer r.mu.Unlock()
	if now.Sub(r.swept) > forgetAfter {
		r.swept = now
		for k, m := range r.keys {
			// Not while a lease is under way, nor before its last slot is long past.
			if len(m.busy) == 0 && now.Sub(m.used) > forgetAfter && now.Sub(m.end) > forgetAfter {
				delete(r.keys, k)
			}
		}
	}
	m := r.keys[key]
	if m == nil {
		m = &memory{busy: make(chan struct{}, 1), cursor: "0"}
		r.keys[key] = m
	}
	m.used = now
	return m
}

// grant is the script's reply.
type grant struct {
	n          int
	now, first time.Duration // since 1970, by Redis's clock
	cursor     string
	reset      bool
}

func parseGrant(reply any) (grant, error) {
	bad := fmt.Errorf("the script answered %v", reply)
	parts, ok := reply.([]any)
	if !ok || len(parts) != 5 {
		return grant{}, bad
	}
	n, ok1 := parts[0].(int64)
	now, ok2 := micros(parts[1])
	first, ok3 := micros(parts[2])
	cursor, ok4 := parts[3].(string)
	reset, ok5 := parts[4].(int64)
	if !ok1 || !ok2 || !ok3 || !ok4 || !ok5 || n < 0 {
		return grant{}, bad
	}
	return grant{n: int(n), now: now, first: first, cursor: cursor, reset: reset == 1}, nil
}

// micros reads "1763694000123456.250" to the nanosecond, which a float64 could not hold.
func micros(v any) (time.Duration, bool) {
	s, ok := v.(string)
	if !ok {
		return 0, false
	}
	whole, part, _ := strings.Cut(s, ".")
	d, err := time.ParseDuration(whole + "us")
	if err != nil {
		return 0, false
	}
	if part != "" {
		ns, err := time.ParseDuration((part + "000")[:3] + "ns")
		if err != nil {
			return 0, false
		}
		d += ns
	}
	return d, true
}
