//go:build mutants

package harness

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"campaignd/internal/ledger"
	"campaignd/internal/ledger/backend"
	"campaignd/internal/ledger/pgtest"
	"campaignd/internal/sandbox"
	"campaignd/throttle/redistest"
)

var (
	// all lists the connections of the service.
	all = []string{"conn_1", "conn_2", "conn_3", "conn_4"}
	// held are the policies for doubts: they become unknown after a window that a test can wait for.
	held = []string{"on_uncertain: hold", "doubt_window: " + doubtWindow.String()}
)

// cluster is a world whose processes are replicas of `campaignd serve` over one PostgreSQL and one
// Redis. The service's webhooks are spread over the replicas.
type cluster struct {
	*world
	postgres *pgtest.Server
	redis    *redistest.Server
	replicas []*replica
	balance  *balancer
}

// replica is one member of a cluster. Its processes follow each other.
type replica struct {
	*cluster
	name  string
	hooks string // address of the webhook listener
	admin string // address of the metrics
	env   []string

	mu   sync.Mutex
	p    *process
	busy atomic.Bool // a fault is being made to this replica
}

// balancer distributes the webhooks: each delivery goes to the next replica, whether that is alive
// or not.
type balancer struct {
	addrs atomic.Pointer[[]string]
	next  atomic.Uint64
	via   http.Transport
}

// to makes addrs the addresses of the next deliveries.
func (b *balancer) to(addrs ...string) { b.addrs.Store(&addrs) }

// RoundTrip implements http.RoundTripper.
func (b *balancer) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	addrs := *b.addrs.Load()
	r.URL.Host = addrs[b.next.Add(1)%uint64(len(addrs))]
	return b.via.RoundTrip(r)
}

// newCluster starts PostgreSQL, Redis and the service, and no replica yet. rate is the limit of
// each number in messages per second.
func newCluster(t *testing.T, replicas, rate int, change func(*sandbox.Options)) *cluster {
	t.Helper()
	// Eight replicas at most, with twelve connections each, need 96.
	postgres, err := pgtest.Start("max_connections=200")
	pgtest.Require(t, err)
	t.Cleanup(postgres.Stop)
	c := &cluster{postgres: postgres, redis: redistest.Start(t), balance: &balancer{}}
	c.world = newWorld(t, rate, func(o *sandbox.Options) {
		o.EnforceThroughput = true
		o.Transport = c.balance
		o.WebhookTimeout = 2 * time.Second // a stopped replica accepts the connection and does not answer
		if change != nil {
			change(o)
		}
	})
	t.Cleanup(c.balance.via.CloseIdleConnections)
	c.world.env = append(c.world.env, "CAMPAIGND_LEDGER="+c.postgres.URL("postgres"),
		"CAMPAIGND_REDIS="+c.redis.URL(0))
	var intakes []string
	for i := range replicas {
		public, admin := quietAddress(t), quietAddress(t)
		r := &replica{cluster: c, name: fmt.Sprintf("replica %d", i+1), hooks: public, admin: admin}
		r.env = []string{"CAMPAIGND_LISTEN_PUBLIC=" + public, "CAMPAIGND_LISTEN_ADMIN=" + admin}
		c.replicas = append(c.replicas, r)
		intakes = append(intakes, public)
	}
	c.balance.to(intakes...)
	return c
}

// output returns what a process wrote to standard error, once it has ended.
func (p *process) output() string {
	select {
	case <-p.done:
		return p.stderr.String()
	default:
		return "(runs)"
	}
}

// start starts a replica's next process.
func (r *replica) start(env ...string) *process {
	r.t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	// Concat makes a new slice, because replicas are started at the same time.
	env = slices.Concat(r.world.env, r.env, env)
	r.p = startProgram(r.t, r.program, r.dir, env, "serve", "--config", "campaignd.yaml", "--log-level", "warn")
	return r.p
}

// revive starts the replica's next process, and another when that ends because PostgreSQL is away,
// as a supervisor does. It returns once the process takes webhooks, or has ended itself at a point.
func (r *replica) revive(env ...string) {
	client := http.Client{Timeout: time.Second}
	defer client.CloseIdleConnections()
	var last error
	for deadline := time.Now().Add(lifeLimit); ; {
		p := r.start(env...)
		for over := false; !over; {
			a, err := client.Get("http://" + r.hooks + "/healthz")
			if err == nil {
				_ = a.Body.Close()
				return
			}
			last = err
			select {
			case <-p.done:
				over = true
			case <-time.After(20 * time.Millisecond):
				if time.Now().After(deadline) { // SIGQUIT prints its goroutines
					_ = p.cmd.Process.Signal(syscall.SIGQUIT)
					<-p.done
				}
			}
		}
		if p.killed() {
			return
		}
		if time.Now().After(deadline) {
			r.t.Errorf("%s: got no answer within %v (%v), want that it takes webhooks\n%s", r.name, lifeLimit, last, tail(p.output(), 20))
			return
		}
	}
}

// process returns the replica's present process, nil before the first.
func (r *replica) process() *process {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.p
}

// startAll starts every replica at the same time and waits until all take webhooks.
func (c *cluster) startAll() {
	c.t.Helper()
	var starting sync.WaitGroup
	for _, r := range c.replicas {
		starting.Go(func() { r.revive() })
	}
	starting.Wait()
}

// alive fails the test when the process of a replica has ended without a fault.
func (c *cluster) alive() {
	c.t.Helper()
	for _, r := range c.replicas {
		p := r.process()
		if p == nil { // not started yet
			continue
		}
		select {
		case <-p.done:
			if !r.busy.Load() {
				c.t.Fatalf("%s: got %v without a fault, want it running\n%s", r.name, p.cmd.ProcessState, tail(p.stderr.String(), 30))
			}
		default:
		}
	}
}

// until waits until ok returns true, and returns how long it took. After limit it fails the test.
func (c *cluster) until(limit time.Duration, what string, ok func() bool) time.Duration {
	c.t.Helper()
	began := time.Now()
	for !ok() {
		if time.Since(began) > limit {
			c.t.Fatalf("got nothing within %v, want that %s\n%s", limit, what, c.output(10))
		}
		c.alive()
		time.Sleep(50 * time.Millisecond)
	}
	return time.Since(began)
}

// output returns the last lines that each replica wrote.
func (c *cluster) output(lines int) string {
	var b strings.Builder
	for _, r := range c.replicas {
		if p := r.process(); p != nil {
			fmt.Fprintf(&b, "%s: %s\n", r.name, tail(p.output(), lines))
		}
	}
	return b.String()
}

// accepted returns how many messages the service has accepted.
func (c *cluster) accepted() (n int64) {
	for _, x := range c.service.Stats().Connections {
		n += x.Accepted
	}
	return n
}

// finished waits for the end of the run and until the service has delivered its webhooks. It
// returns the problems that check still finds after the sweeper has had sweepLimit.
func (c *cluster) finished(limit time.Duration, check func() []problem) []problem {
	c.t.Helper()
	c.until(limit, "the run is finished", func() bool {
		state, totals := c.state("latest")
		if state != "finished" {
			time.Sleep(500 * time.Millisecond)
		}
		return state == "finished" && totals["queued"]+totals["sending"]+totals["in_doubt"] == 0
	})
	ctx, cancel := context.WithTimeout(c.t.Context(), limit)
	defer cancel()
	if err := c.service.Settle(ctx); err != nil {
		c.t.Fatalf("the service still has %d webhooks to deliver after %v, want none", c.service.Pending(), limit)
	}
	found := check()
	for deadline := time.Now().Add(sweepLimit); len(found) > 0 && time.Now().Before(deadline); found = check() {
		time.Sleep(500 * time.Millisecond)
	}
	return found
}

// counted audits run 1 once its replicas have kept a summary of each segment. The audit compares
// these summaries with the rows.
func (c *cluster) counted() []problem {
	c.t.Helper()
	l, err := backend.Open(context.WithoutCancel(c.t.Context()), c.postgres.URL("postgres"), ledger.Options{})
	if err != nil {
		c.t.Fatal(err)
	}
	defer l.Close()
	segments, err := l.SegmentStates(c.t.Context(), 1)
	if err != nil || len(segments) == 0 {
		c.t.Fatalf("got %d segments, %v, want some", len(segments), err)
	}
	var audit struct{ Summaries int }
	c.until(3*time.Minute, "a summary of each segment is kept", func() bool {
		_, out := c.ask("audit", "1", "-o", "json")
		return json.Unmarshal([]byte(out), &audit) == nil && audit.Summaries == len(segments)
	})
	return c.audited("1")
}

// stopAll ends every replica with SIGTERM.
func (c *cluster) stopAll() {
	c.t.Helper()
	for _, r := range c.replicas {
		if err := r.process().cmd.Process.Signal(syscall.SIGTERM); err != nil {
			c.t.Fatal(err)
		}
	}
	for _, r := range c.replicas {
		p := r.process()
		if code := p.wait(lifeLimit); code != 0 && code != 130 {
			c.t.Errorf("%s: exit code %d after SIGTERM, want 0 or 130\n%s", r.name, code, tail(p.stderr.String(), 20))
		}
	}
}
