package sender_test

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"campaignd/campaign"
	"campaignd/campaign/sender"
	"campaignd/internal/ledger"
	"campaignd/internal/ledger/sqlite"
	"campaignd/internal/ledger/sqlite/sqlitetest"
	"campaignd/internal/messaging"
	"campaignd/internal/messaging/service"
	"campaignd/internal/sandbox"
	"campaignd/internal/sandbox/inprocess"
	"campaignd/internal/webhooks"
	"campaignd/throttle"
)

// world is what outlives a process: the service, the network, the disk, and the operator at a desk
// of their own.
type world struct {
	seed    uint64
	load    workload
	dir     string
	service *sandbox.Sandbox
	wire    http.RoundTripper // to the service
	desk    campaign.Ledger   // the operator's handle: another process, no sender
	current atomic.Pointer[incarnation]
	started time.Time

	mu       sync.Mutex
	trace    io.Writer // what happened, in order; nil: nobody reads it
	sum      uint64
	events   int
	counts   map[string]int
	problems []string
	arrivals map[uint64]uint64 // webhooks that came, by what they say
	seen     witness
	policy   policy
}

// incarnation is one process of campaignd between its start and its death.
type incarnation struct {
	gate   *gate
	intake *webhooks.Intake
}

// mix spreads a word over all its bits (splitmix64).
func mix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// hash is FNV-1a.
func hash(s string) uint64 {
	h := fnv.New64a()
	_, _ = io.WriteString(h, s) // never fails
	return h.Sum64()
}

// draw is a number below n drawn from what it is about, never from a shared generator.
func (w *world) draw(purpose string, n int, about ...uint64) int {
	h := mix(w.seed) ^ hash(purpose)
	for _, a := range about {
		h = mix(h ^ a)
	}
	return int(mix(h) % uint64(n)) //nolint:gosec // below n
}

// chance is true in percent of the seeds.
func (w *world) chance(purpose string, percent int) bool { return w.draw(purpose, 100) < percent }

func (w *world) count(what string) {
	w.mu.Lock()
	w.counts[what]++
	w.mu.Unlock()
}

// bad notes a broken promise.
func (w *world) bad(format string, args ...any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.worse(format, args...)
}

// worse is bad for a caller that holds the lock.
func (w *world) worse(format string, args ...any) {
	if len(w.problems) < 20 {
		w.problems = append(w.problems, fmt.Sprintf("%.6fs: ", time.Since(w.started).Seconds())+fmt.Sprintf(format, args...))
	}
}

// note adds one event to the trace. The sum counts every event with its instant, in whole
// nanoseconds. The order of events that share an instant is not part of it: those that a death cuts
// off have none.
func (w *world) note(what string, err error) {
	said := ""
	if err != nil {
		said = err.Error()
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	at := time.Since(w.started)
	w.sum += mix(mix(uint64(at)^hash(what)) ^ hash(said))
	w.events++
	if w.trace != nil {
		fmt.Fprintf(w.trace, "%15d %s %s\n", at, what, said)
	}
}

// jitter makes every wait end at an instant of its own: no two timers tie, so the order of
// goroutines is that of their instants (docs/protocol.md#simulation).
func (w *world) jitter(life int) func(string, time.Duration) time.Duration {
	var mu sync.Mutex
	nth := map[string]uint64{}
	return func(purpose string, d time.Duration) time.Duration {
		mu.Lock()
		nth[purpose]++
		k := nth[purpose]
		mu.Unlock()
		if strings.HasSuffix(purpose, " slot") && w.draw("late "+purpose, 100, uint64(life), k) < w.load.late {
			d += time.Duration(w.draw("how late "+purpose, 70_000_001, uint64(life), k))
		}
		return d + time.Duration(1+w.draw(purpose, 899_981, uint64(life), k))
	}
}

// latency passes some microseconds that belong to one effect of one process alone.
func (w *world) latency(life int, name string, nth uint64) {
	time.Sleep(time.Duration(1 + w.draw(name, 99_991, uint64(life), nth)))
}

// RoundTrip delivers a webhook to the live process; without one, the connection is refused. Each
// takes its own time, so that those refused together do not return together.
func (w *world) RoundTrip(r *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(r.Body)
	r.Body.Close()
	if err != nil {
		return nil, err
	}
	says := hash(string(body)) ^ hash(r.Header.Get("X-Service-Signature"))
	w.mu.Lock()
	w.arrivals[says]++
	nth := w.arrivals[says]
	w.mu.Unlock()
	time.Sleep(time.Duration(1 + w.draw("webhook", 9_999_991, says, nth)))
	in := w.current.Load()
	if in == nil || in.gate.dead.Load() {
		w.count("webhook found nobody")
		return nil, errors.New("connect: connection refused")
	}
	again := r.Clone(r.Context())
	again.Body = io.NopCloser(&unread{body})
	resp, err := inprocess.NewTransport(in.intake).RoundTrip(again)
	if in.gate.dead.Load() { // the answer of a dead process does not arrive
		if resp != nil {
			resp.Body.Close()
		}
		return nil, io.ErrUnexpectedEOF
	}
	return resp, err
}

// unread reads a slice once.
type unread struct{ left []byte }

func (u *unread) Read(p []byte) (int, error) {
	if len(u.left) == 0 {
		return 0, io.EOF
	}
	n := copy(p, u.left)
	u.left = u.left[n:]
	return n, nil
}

type closer struct {
	io.ReadCloser
	done func()
}

func (c *closer) Close() error { defer c.done(); return c.ReadCloser.Close() }

const simKey, simSecret = "simulation-key", "simulation-secret-of-32-bytes-or-more"

// newYear is when the workloads begin. A bubble's own year 2000 is before the platform's time, and
// no event's timestamp of then would be believed.
var newYear = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// newWorld makes the service with the workload and the faults of the seed.
func newWorld(t *testing.T, seed uint64, trace io.Writer) *world {
	w := &world{
		seed: seed, trace: trace, counts: map[string]int{}, arrivals: map[uint64]uint64{},
		policy: newPolicy(),
		seen: witness{granted: map[sent][]time.Time{}, posted: map[sent]int{}, tried: map[sent]int{}, posts: map[string][]time.Time{},
			suppressed: map[string]time.Time{}},
	}
	w.load = w.drawWorkload()
	w.load.stalls = w.drawStalls()
	time.Sleep(time.Until(newYear.Add(w.load.begins)))
	w.started = time.Now()
	base := "/dev/shm"
	if _, err := os.Stat(base); err != nil {
		base = ""
	}
	var err error
	if w.dir, err = os.MkdirTemp(base, "campaignd-sim-"); err != nil {
		t.Fatal(err)
	}
	share := func(name string, most int) float64 { return float64(w.draw("share "+name, most+1)) / 100 }
	w.service, err = sandbox.New(sandbox.Options{
		Seed: seed, Keys: []sandbox.Key{{Token: simKey}}, Templates: w.load.templates, Connections: w.load.connections,
		WebhookURL: "http://campaignd.test/hooks", WebhookSecret: simSecret, Transport: w,
		RetrySchedule: []time.Duration{time.Second, 5 * time.Second, 20 * time.Second, 40 * time.Second, time.Minute},
		Allowance:     w.load.allowance, EnforceThroughput: true,
		Faults: sandbox.Faults{
			Latency: sandbox.Delay{Median: time.Duration(20+w.draw("latency", 200)) * time.Millisecond, Sigma: 0.7},
			TooMany: share("429", 4), RetryAfter: []time.Duration{time.Second, 5 * time.Second}[w.seed%2], ServerError: share("5xx", 4),
			LostBefore: share("lost before", 5),
			HangBefore: share("hang before", 2), HangFor: 20 * time.Second,
			LostAfter: share("lost after", 8), HangAfter: share("hang after", 2), ErrorAfter: share("error after", 6),
			NoID: share("no id", 2), CutBody: share("cut body", 2), SlowBody: share("slow body", 3),
			Early: share("early", 30), Late: share("late", 10), LateBy: sandbox.Delay{Median: 8 * time.Second, Sigma: 0.5},
			Doubled: share("doubled", 20), Reordered: share("reordered", 30),
			ReadFirst: share("read first", 10), FailedFirst: share("failed first", 5), Forged: share("forged", 5), Orphan: share("orphan", 3),
			Refusals: []sandbox.Refusal{{Code: 131056, Share: share("pair", 3), Times: 1}, {Code: 131000, Share: share("131000", 3), Times: 1}},
		},
		Statuses: sandbox.StatusProfile{
			Unreachable: share("unreachable", 5), Failed: []sandbox.Failure{{Code: 131049, Share: share("131049", 10)}},
			Undelivered: share("undelivered", 5), Unread: share("unread", 40), Stop: share("stop", 8),
		},
		OnEvent: func(e sandbox.Event) { w.note("service "+e.Kind+" "+e.To+" "+e.Detail, nil) },
	})
	if err != nil {
		t.Fatal(err)
	}
	w.wire = inprocess.NewTransport(w.service)
	sqlitetest.New(t, w.file())
	if w.desk, err = w.open(t.Context(), false); err != nil {
		t.Fatal(err)
	}
	return w
}

func (w *world) file() string { return filepath.Join(w.dir, "campaignd.db") }

func (w *world) open(ctx context.Context, sender bool) (campaign.Ledger, error) {
	return sqlite.Open(ctx, w.file(), ledger.Options{Sender: sender, Origin: simOrigin})
}

// backoff is the first wait after a refusal that may be retried.
const backoff = 2 * time.Second

// live runs one incarnation until it is killed or ctx ends. It returns when all of its goroutines
// have ended.
func (w *world) live(ctx context.Context, t *testing.T, nth int, d death) {
	store, err := w.open(ctx, true)
	if err != nil {
		w.bad("process %d cannot open the ledger: %v", nth, err)
		return
	}
	g := &gate{Ledger: store, w: w, life: nth, nth: map[string]uint64{}, death: d}
	if w.draw("commit lost", 4, uint64(nth)) == 0 {
		g.commitLost = 1 + w.draw("which commit", 20, uint64(nth))
	}
	g.ctx, g.end = context.WithCancel(ctx)
	defer g.end()
	client, err := service.New(service.Options{BaseURL: "http://127.0.0.1", APIKey: messaging.NewSecret(simKey), Transport: g,
		Timeout: 10 * time.Second})
	if err != nil {
		t.Error(err)
		return
	}
	verifier, err := messaging.NewVerifier(messaging.SignatureForm{}, messaging.NewSecret(simSecret))
	if err != nil {
		t.Error(err)
		return
	}
	intake, err := webhooks.New(g, verifier, webhooks.Options{Sweep: w.load.sweep, SweepJitter: 999_983 * time.Nanosecond,
		Seed: w.seed + uint64(nth), Origin: simOrigin})
	if err != nil {
		t.Error(err)
		return
	}
	w.policy.begin(w)
	wire, err := w.openWire(ctx, store, g, nth)
	if err != nil {
		t.Error(err)
		return
	}
	engine, err := sender.New(g, simDialer{client, g}, leased{throttle.NewLocal(), w, g}, sender.Options{
		Owner: fmt.Sprintf("process %d", nth), Jitter: w.jitter(nth), Pace: w.load.pace, Tick: w.load.tick, Backoff: backoff,
		MaxInFlight: w.load.inFlight, Wire: wire, Origin: simOrigin,
	})
	if err != nil {
		t.Error(err)
		return
	}
	w.current.Store(&incarnation{gate: g, intake: intake})
	var running sync.WaitGroup
	running.Go(func() { _ = engine.Run(g.ctx) })
	running.Go(func() { _ = intake.Run(g.ctx) })
	running.Wait()
	w.current.Store(nil)
	if err := wire.Close(); err != nil {
		w.bad("process %d cannot close its wire log: %v", nth, err)
	}
	if err := store.Close(); err != nil {
		w.bad("process %d cannot close the ledger: %v", nth, err)
	}
}
