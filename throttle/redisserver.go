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

// The breaker keeps a server that is away from delaying the sender. The watchdog replaces a client
// that stays connected to the wrong node (docs/limits.md#when-redis-is-away).
const (
	breakerFailures = 3                      // this many failures in a row open the breaker
	breakerProbe    = 200 * time.Millisecond // while it is open, one call in this time may try
	watchdogAfter   = 10 * time.Second       // without any answer for this long, the client is replaced
)

// ErrCluster says that the server is a node of a Redis cluster. It answers for some keys only, and
// after a failover for others, so the limits of some numbers could not be kept.
var ErrCluster = errors.New("it is a node of a Redis cluster, which campaignd does not support: " +
	"give the address of one Redis server without cluster mode")

var errBreaker = errors.New("no answer; asking again in a moment")

// server is the connection to Redis and the state of its breaker and watchdog.
type server struct {
	log     *slog.Logger
	options *redis.Options
	address func() (string, error) // nil: it does not change

	mu       sync.Mutex
	client   *redis.Client
	closed   bool
	failures int       // in a row
	since    time.Time // when the first of them happened, or when the client was last replaced
	probeAt  time.Time // with the breaker open: when the next call may try
	renewed  bool      // the client was replaced during this outage
	count    int64     // incidents: events that may have lost or rewound a cursor
	runID    string    // run id of the server process of the last connection
	last     error     // the last failure
	warned   string    // the eviction policy that the log has warned of

	user, password string // of the next connection
}

func (s *server) init(options *redis.Options, log *slog.Logger) {
	s.log, s.options = log, options
	options.OnConnect = s.greet
	s.user, s.password = options.Username, options.Password
	options.CredentialsProviderContext = func(context.Context) (user, password string, err error) {
		s.mu.Lock()
		defer s.mu.Unlock()
		return s.user, s.password, nil
	}
	s.client = redis.NewClient(options)
}

func (s *server) close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	return s.client.Close()
}

// incidents counts the events that may have lost or rewound a cursor. After a new one, the next
// lease of every key is guarded.
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

// greet runs on every new connection. A client that was idle while the server was restarted or
// replaced sees no error, since the pool connects again on its own; but the run id differs.
func (s *server) greet(ctx context.Context, conn *redis.Conn) error {
	text, err := conn.Info(ctx).Result()
	id := infoField(text, "run_id")
	policy := infoField(text, "maxmemory_policy")
	if infoField(text, "cluster_enabled") == "1" {
		return ErrCluster
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err != nil || id == "" || s.runID != "" && s.runID != id {
		s.count++ // without a run id the server cannot be identified, so every connection is guarded
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

// eval runs a script by its hash. When the server does not have the script, eval sends the text:
// NOSCRIPT is the one error that proves that nothing ran.
func (s *server) eval(ctx context.Context, sha, text string, keys []string, args ...any) (any, error) {
	rest := []any{len(keys)}
	for _, key := range keys {
		rest = append(rest, key)
	}
	rest = append(rest, args...)
	reply, err := s.do(ctx, append([]any{"evalsha", sha}, rest...)...)
	if err != nil && redis.HasErrorPrefix(err, "NOSCRIPT") {
		reply, err = s.do(ctx, append([]any{"eval", text}, rest...)...)
	}
	return reply, err
}

// once is a command that is never sent twice. MaxRetries -1 prevents retries in a plain client, but
// the retry loop of a cluster client ignores it and asks NoRetry.
type once struct{ *redis.Cmd }

// NoRetry tells go-redis not to send the command again.
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
		s.note(nil)
		return nil, err
	}
	err = explain(err)
	s.note(err)
	return cmd.Val(), err
}

// explain adds the remedy to an error that the server answered.
func explain(err error) error {
	for _, refusal := range []struct{ prefix, remedy string }{
		{"WRONGPASS", "it refuses the user or password: check the address in `redis`"},
		{"NOAUTH", "it wants a password: give redis://:PASSWORD@HOST:PORT"},
		{"NOPERM", "its user may not do that: allow evalsha, eval, ping and info on all keys"},
		{"The user executing the script", "its user may not do that: allow all commands of the scripts on all keys"},
		{"READONLY", "it is a replica: give the address of the master"},
	} {
		if err != nil && redis.HasErrorPrefix(err, refusal.prefix) {
			return fmt.Errorf("%s: %w", refusal.remedy, err)
		}
	}
	return err
}

// admit returns the client. While the breaker is open and the next try is not due, it returns an
// error at once. A client that has failed for 10 s is replaced; fewer failures than open the
// breaker may lie before a time without calls, and say nothing of now.
func (s *server) admit() (*redis.Client, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, redis.ErrClosed
	}
	now := time.Now()
	if s.failures >= breakerFailures {
		if now.Before(s.probeAt) {
			return nil, fmt.Errorf("%w (last error: %w)", errBreaker, s.last)
		}
		s.probeAt = now.Add(breakerProbe) // this call tries, the others go on waiting
	}
	if s.failures >= breakerFailures && now.Sub(s.since) > watchdogAfter {
		if !s.renewed { // log the first replacement of an outage only
			s.log.Error("no answer from redis for 10 s: connecting anew until it answers, nothing is sent meanwhile", "failures", s.failures)
		}
		_ = s.client.Close() // its open calls fail, as all calls did before
		s.client, s.since, s.renewed = redis.NewClient(s.options), now, true
	}
	return s.client, nil
}

// note counts the result of a command. An error that Redis itself answered is an incident, too:
// READONLY, LOADING and the like come from a server that has just changed.
func (s *server) note(err error) {
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
	if redis.HasErrorPrefix(err, "WRONGPASS") {
		s.readLogin()
	}
	if errors.Is(err, context.Canceled) {
		return // the caller gave up: its lease is in doubt, but the server has not failed
	}
	if s.failures == 0 {
		s.since = time.Now()
	}
	s.failures, s.last = s.failures+1, err
	if s.failures == breakerFailures {
		s.probeAt = time.Now().Add(breakerProbe)
		s.log.Warn("redis is away: slots in hand are used, then nothing is sent", "err", err)
	}
}

// readLogin reads the user and the password again, because the server refused them: they may have
// been rotated. The next connection has them. The caller holds mu.
func (s *server) readLogin() {
	if s.address == nil {
		return
	}
	text, err := s.address()
	if err != nil {
		return // the log says that the server refuses the password
	}
	if fresh, err := parseAddress(text); err == nil && (fresh.Username != s.user || fresh.Password != s.password) {
		s.user, s.password = fresh.Username, fresh.Password
		s.log.Warn("redis refused the user or password: read others from the address in `redis`")
	}
}
