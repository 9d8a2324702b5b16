//go:build mutants

package harness

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"syscall"
	"testing"
	"time"

	"campaignd/internal/sandbox"
)

// The kinds of faults of a cluster.
const (
	killed        = "kill -9"
	died          = "died at a point"
	stopped       = "stopped past its lease"
	postgresDied  = "immediate restart of PostgreSQL"
	redisEmptied  = "FLUSHALL"
	redisDied     = "restart of Redis"
	redisVanished = "Redis away for a second"
)

// least is the number of faults of each kind that a long run must have, 60 in all.
var least = map[string]int{
	killed: 16, died: 8, stopped: 14, postgresDied: 8, redisEmptied: 6, redisDied: 5, redisVanished: 3,
}

// trouble makes faults in a cluster and counts them.
type trouble struct {
	*cluster
	began  time.Time
	draw   *rand.Rand
	ending sync.WaitGroup

	mu     sync.Mutex
	counts map[string]int
}

// trouble makes the faults that draw chooses.
func (c *cluster) trouble(draw *rand.Rand) *trouble {
	return &trouble{cluster: c, began: time.Now(), draw: draw, counts: map[string]int{}}
}

func (x *trouble) count(kind string) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.counts[kind]++
}

func (x *trouble) seen(kind string) int {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.counts[kind]
}

func (x *trouble) log(format string, args ...any) {
	x.t.Helper()
	x.t.Logf("%6.1fs %s", time.Since(x.began).Seconds(), fmt.Sprintf(format, args...))
}

// millis draws a wait of least up to most milliseconds.
func (x *trouble) millis(least, most int) time.Duration {
	return time.Duration(least+x.draw.IntN(most-least)) * time.Millisecond
}

// idle draws a replica without a fault and marks it as busy. It returns nil when there is none.
func (x *trouble) idle() *replica {
	for _, i := range x.draw.Perm(len(x.replicas)) {
		if x.replicas[i].busy.CompareAndSwap(false, true) {
			return x.replicas[i]
		}
	}
	return nil
}

// endLater calls end in the background, after which the replica is free for the next fault.
func (x *trouble) endLater(r *replica, end func()) {
	x.ending.Go(func() {
		defer r.busy.Store(false)
		end()
	})
}

// kill ends a replica's process with SIGKILL and starts the next one after away.
func (x *trouble) kill(r *replica, away time.Duration) {
	if r.process().kill() {
		x.count(killed)
	}
	x.endLater(r, func() {
		time.Sleep(away)
		r.revive()
	})
}

// points are the points at which a process ends itself, the crash points C3, C4, C5 and C6
// (docs/protocol.md#crash-points).
var points = []string{"intent_committed", "before_post", "answer_unread", "answer_read"}

// die starts a process of a replica that ends itself at its nth pass of a point.
func (x *trouble) die(r *replica, point string, nth int) {
	r.process().kill()
	x.endLater(r, func() {
		r.revive(fmt.Sprintf("CAMPAIGND_CRASH=%s:%d", point, nth))
		p := r.process()
		select {
		case <-p.done:
		case <-time.After(lifeLimit):
		}
		if p.kill(); p.byItself() {
			x.count(died)
		}
		r.revive()
	})
}

// stop stops a replica's process and continues it after pause. The process is a zombie when its
// lease has run out meanwhile.
func (x *trouble) stop(r *replica, pause time.Duration) {
	p := r.process()
	if p.cmd.Process.Signal(syscall.SIGSTOP) != nil {
		r.busy.Store(false)
		return
	}
	x.endLater(r, func() {
		time.Sleep(pause)
		if p.cmd.Process.Signal(syscall.SIGCONT) == nil && pause > leaseTime {
			x.count(stopped)
		}
	})
}

// restartPostgres ends the server without a shutdown and starts it again.
func (x *trouble) restartPostgres() {
	x.t.Helper()
	if err := x.postgres.Restart(); err != nil {
		x.t.Fatal(err)
	}
}

// strike makes one fault of a kind. A fault of a replica needs one without another fault.
func (x *trouble) strike(kind string) {
	x.t.Helper()
	switch kind {
	case killed, died, stopped:
		r := x.idle()
		if r == nil {
			return
		}
		switch kind {
		case killed:
			x.kill(r, x.millis(0, 800))
		case died:
			x.die(r, points[x.draw.IntN(len(points))], 1+x.draw.IntN(40))
		case stopped:
			x.stop(r, leaseTime+x.millis(300, 1500))
		}
	case postgresDied:
		x.restartPostgres()
		x.count(kind)
	case redisEmptied:
		x.redis.Do("FLUSHALL")
		x.count(kind)
	case redisDied:
		x.redis.Restart()
		x.count(kind)
	case redisVanished:
		x.redis.Kill()
		time.Sleep(time.Second)
		x.redis.Restart()
		x.count(kind)
	}
}

// plan returns the faults that the run still needs, in a random order.
func (x *trouble) plan() (left []string) {
	for _, kind := range slices.Sorted(maps.Keys(least)) {
		for range least[kind] - x.seen(kind) {
			left = append(left, kind)
		}
	}
	x.draw.Shuffle(len(left), func(i, j int) { left[i], left[j] = left[j], left[i] })
	return left
}

// The long run: three replicas, PostgreSQL and Redis are killed, paused and restarted many times,
// while the service loses answers and webhooks. A scheduled campaign is fired once, no recipient is
// sent to twice, every row has an outcome, and every status is in the report.
func TestClusterNobodyIsSentToTwiceOrLost(t *testing.T) {
	draw := drawOf(t)
	c := newCluster(t, 3, standard, func(o *sandbox.Options) {
		o.Faults = faults()
		o.Statuses.Unread, o.Statuses.Undelivered, o.Statuses.Silent = 0.2, 0.02, 0.01
		o.Statuses.Failed = []sandbox.Failure{{Code: 131026, Share: 0.02, After: sandbox.Delay{Median: 100 * time.Millisecond}}}
		o.Statuses.Stop, o.Statuses.StopAfter = 0.01, sandbox.Delay{Median: 200 * time.Millisecond}
	})
	c.wireLogs()
	list := listOf(20000, draw)
	c.schedule("orders", "order_update", list, all, held...)
	c.startAll()
	c.until(3*time.Minute, "the campaign is fired and being sent", func() bool { return c.accepted() > 100 })

	x := c.trouble(draw)
	deadline := time.Now().Add(15 * time.Minute)
	for plan := x.plan(); len(plan) > 0; plan = x.plan() { // again for the faults that missed
		if time.Now().After(deadline) {
			t.Fatalf("got the faults %v within 15 minutes, want %v\n%s", x.counts, least, c.output(10))
		}
		for _, kind := range plan {
			x.strike(kind)
			time.Sleep(x.millis(300, 1300))
		}
		x.ending.Wait()
		c.alive()
		if state, _ := c.state("latest"); state == "finished" {
			t.Fatalf("the run finished after the faults %v, want a list long enough for %v", x.counts, least)
		}
	}
	sum := 0
	for _, n := range x.counts {
		sum += n
	}
	state, totals := c.state("latest")
	x.log("%d faults: %v; %s: %v", sum, x.counts, state, totals)
	if sum < 60 {
		t.Errorf("%d faults, want at least 60", sum)
	}

	found := c.finished(3*time.Minute, func() []problem {
		return compare(list, c.lines("latest"), c.sent("order_update"))
	})
	x.log("settled")
	want(t, append(found, c.counted()...))
	c.withinLimits()
	c.neverPosted(list)
	var runs []json.RawMessage
	if _, out := c.ask("runs", "-o", "json"); json.Unmarshal([]byte(out), &runs) != nil || len(runs) != 1 {
		t.Errorf("got the runs %s, want one, of one firing", out)
	}
	truth := c.service.Stats()
	_, totals = c.state("latest")
	x.log("%v; service: %v", totals, truth.Fired)
	for _, name := range firing {
		if truth.Fired[name] == 0 {
			t.Errorf("the fault %s fired 0 times, want 1 or more", name)
		}
	}
	if n := truth.Fired["webhook_abandoned"]; n > 0 {
		t.Errorf("the service gave up %d webhooks, want none: its retry schedule is too short for the faults", n)
	}
	c.stopAll()
}
