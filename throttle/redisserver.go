package throttle

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

// The breaker and the watchdog (throttle.md 10, P11 and P12): a server that is away must cost
// the sender nothing, and a client that is stuck on the wrong node must not stay.
const (
	breakerFailures = 3
	breakerProbe    = 200 * time.Millisecond
	watchdogAfter   = 10 * time.Second
)

var errBreaker = errors.New("no answer; asking again in a moment")

// server is the connection to Redis and what went wrong with it.
type server struct {
	log     *slog.Logger
	options *redis.Options

	mu       sync.Mutex
	client   *redis.Client
	closed   bool
	failures int       // in a row
	since    time.Time // of the first of them; moved on when the client is replaced
	probeAt  time.Time // with the breaker open: when the next call may try
	renewed  bool      // the client was replaced during this outage
	count    int64     // incidents: whatever may have lost or rewound a cursor
	runID    string    // which server process we spoke to last
	warned   string    // the eviction policy that was warned of
}

func (s *server) init(options *redis.Options, log *slog.Logger) {
	s.log, s.options = log, options
	options.OnConnect = s.greet
	s.client = redis.NewClient(options)
}

func (s *server) close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	return s.client.Close()
}

// incidents counts whatever may have lost or rewound a cursor. A lease after a new one is
// guarded, whichever key it is for.
func (s *server) incidents() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.count
}

// doubt counts an incident.
func (s *server) doubt() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.count++
}

// greet runs on every new connection. A restarted or replaced server shows no error to a client
// that was idle meanwhile (the pool redials on its own), but it has another run id.
func (s *server) greet(ctx context.Context, conn *redis.Conn) error {
	text, err := conn.Info(ctx).Result()
	id := infoField(text, "run_id")
	policy := infoField(text, "maxmemory_policy")
	s.mu.Lock()
	defer s.mu.Unlock()
	if err != nil || id == "" || s.runID != "" && s.runID != id {
		s.count++ // INFO refused: no telling, so every connection is guarded
	}
	if id != "" {
		s.runID = id
	}
	if policy != "" && policy != "noeviction" && s.warned != policy {
		s.warned = policy
		s.log.Warn("redis may evict limits, each time 400 ms of silence: set maxmemory-policy noeviction", "policy", policy)
	}
	return nil
}

func infoField(text, name string) string {
	for scan := bufio.NewScanner(strings.NewReader(text)); scan.Scan(); {
		if value, ok := strings.CutPrefix(scan.Text(), name+":"); ok {
			return strings.TrimSpace(value)
		}
	}
	return ""
}

// eval runs a script by its hash, and by its text when the server does not have it: NOSCRIPT is
// the one error that proves that nothing ran.
func (s *server) eval(ctx context.Context, sha, text, key string, args ...any) (any, error) {
	reply, err := s.do(ctx, append([]any{"evalsha", sha, 1, key}, args...)...)
	if err != nil && redis.HasErrorPrefix(err, "NOSCRIPT") {
		reply, err = s.do(ctx, append([]any{"eval", text, 1, key}, args...)...)
	}
	return reply, err
}

// once is a command that is never sent twice. MaxRetries -1 says so to a plain client, but a
// cluster client's own loop does not ask it (throttle.md 8).
type once struct{ *redis.Cmd }

// NoRetry is asked by go-redis before it replays a command.
func (once) NoRetry() bool { return true }

// do sends one command unless the breaker is open.
func (s *server) do(ctx context.Context, args ...any) (any, error) {
	client, err := s.admit()
	if err != nil {
		return nil, err
	}
	cmd := once{redis.NewCmd(ctx, args...)}
	err = client.Process(ctx, cmd)
	if err != nil && redis.HasErrorPrefix(err, "NOSCRIPT") {
		s.settle(nil)
		return nil, err
	}
	err = explain(err)
	s.settle(err)
	return cmd.Val(), err
}

// explain says what to do about what a server refuses.
func explain(err error) error {
	for _, refusal := range []struct{ prefix, remedy string }{
		{"WRONGPASS", "it refuses the user or password: check the address in `redis`"},
		{"NOAUTH", "it wants a password: give redis://:PASSWORD@HOST:PORT"},
		{"NOPERM", "its user may not do that: allow evalsha, eval, ping and info on all keys"},
		{"READONLY", "it is a replica: name the master"},
	} {
		if err != nil && redis.HasErrorPrefix(err, refusal.prefix) {
			return fmt.Errorf("%s: %w", refusal.remedy, err)
		}
	}
	return err
}

// admit gives the client, or an error at once while the breaker is open and it is not yet time to
// try. A client that has failed for long is replaced.
func (s *server) admit() (*redis.Client, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, redis.ErrClosed
	}
	now := time.Now()
	if s.failures >= breakerFailures {
		if now.Before(s.probeAt) {
			return nil, errBreaker
		}
		s.probeAt = now.Add(breakerProbe) // this one tries, the others go on waiting
	}
	if s.failures > 0 && now.Sub(s.since) > watchdogAfter {
		if !s.renewed { // once, not every 10 s
			s.log.Error("no answer from redis for 10 s: connecting anew until it answers, nothing is sent meanwhile", "failures", s.failures)
		}
		_ = s.client.Close() // its calls fail, as they have
		s.client, s.since, s.renewed = redis.NewClient(s.options), now, true
	}
	return s.client, nil
}

// settle counts how a command went. An error is an incident also when Redis itself answered it: READONLY,
// LOADING and the like come from a server that has just changed.
func (s *server) settle(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err == nil {
		if s.failures >= breakerFailures {
			s.log.Info("redis answers again", "failures", s.failures)
		}
		s.failures, s.renewed = 0, false
		return
	}
	s.count++
	if errors.Is(err, context.Canceled) {
		return // the caller left: its lease is in doubt, the server is not
	}
	if s.failures == 0 {
		s.since = time.Now()
	}
	s.failures++
	if s.failures == breakerFailures {
		s.probeAt = time.Now().Add(breakerProbe)
		s.log.Warn("redis is away: slots in hand are used, then nothing is sent", "err", err)
	}
}
