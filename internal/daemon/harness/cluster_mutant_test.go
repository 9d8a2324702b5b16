//go:build mutants

package harness

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"campaignd/internal/sandbox"
)

// scene is a cluster under faults chosen for one mistake, and how the mistake must show.
type scene struct {
	rows   int
	change func(*sandbox.Options)
	// faults are made while sending is under way, again and again until the mistake shows.
	faults func(x *trouble)
	// shows compares what happened so far.
	shows func(c *cluster) []problem
}

// noStatuses: the service tells nothing, so that no webhook makes good what an answer would have told.
func noStatuses(o *sandbox.Options) { o.Statuses.Silent = 1 }

// slowly: and it takes its time to answer, so that a death leaves many requests in flight.
func slowly(o *sandbox.Options) {
	noStatuses(o)
	o.Faults.Latency = sandbox.Delay{Median: 300 * time.Millisecond, Max: 500 * time.Millisecond}
}

var (
	// Killed owners leave deliveries in doubt. Who takes them up and sends them again, as a job queue does, sends twice.
	deadOwners = scene{
		rows: 6000, change: slowly,
		faults: func(x *trouble) {
			if r := x.idle(); r != nil {
				x.kill(r, 0)
			}
			time.Sleep(leaseTime + 2*time.Second)
		},
		shows: func(c *cluster) []problem { return twice(c.sent("order_update")) },
	}
	// A server that dies forgets what it had not written: intents whose deliveries were posted. Its own writer, which
	// would write them a little later, is late. Replicas that live remember their marks and raise them again, so they die too.
	deadServer = scene{
		rows: 6000, change: slowly,
		faults: func(x *trouble) {
			writer := x.logWriter()
			x.signal(writer, syscall.SIGSTOP)
			time.Sleep(time.Second)
			x.killAll()
			x.signal(writer, syscall.SIGKILL) // the server ends all its processes, and what was in their memory
			x.restartPostgres()
			x.startAll()
			time.Sleep(leaseTime + 2*time.Second)
		},
		shows: func(c *cluster) []problem { return twice(c.sent("order_update")) },
	}
	// Redis forgets while leases are in three processes' hands.
	emptiedRedis = scene{
		rows: 6000,
		faults: func(x *trouble) {
			for range 40 {
				x.redis.Do("FLUSHALL")
				time.Sleep(50 * time.Millisecond)
			}
			time.Sleep(time.Second)
		},
		shows: func(c *cluster) (found []problem) {
			for _, n := range c.service.Stats().Connections {
				if n.WorstSecond > n.Limit {
					found = append(found, problem{"too fast", fmt.Sprintf("%s: %d POSTs in one second, its limit is %d", n.Connection, n.WorstSecond, n.Limit)})
				}
			}
			return found
		},
	}
)

// logWriter is the process of the server that writes the log for commits that nobody waits for.
func (c *cluster) logWriter() int {
	c.t.Helper()
	server, err := c.postgres.PID()
	if err != nil {
		c.t.Fatal(err)
	}
	found, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		c.t.Fatal(err)
	}
	for _, file := range found {
		name, err := os.ReadFile(file)
		if err != nil || !strings.HasPrefix(string(name), "postgres: walwriter") {
			continue // it may have ended meanwhile
		}
		status, err := os.ReadFile(filepath.Join(filepath.Dir(file), "status"))
		if pid, e := strconv.Atoi(filepath.Base(filepath.Dir(file))); err == nil && e == nil && strings.Contains(string(status), fmt.Sprintf("\nPPid:\t%d\n", server)) {
			return pid
		}
	}
	c.t.Fatalf("no walwriter among %d processes", len(found))
	return 0
}

// signal sends a signal to a process of the server.
func (c *cluster) signal(pid int, s syscall.Signal) {
	c.t.Helper()
	if err := syscall.Kill(pid, s); err != nil {
		c.t.Fatal(err)
	}
}

// TestClusterMutantsAreCaught plants the mistakes that many replicas can make and requires that real processes over
// real servers show them; the same scenes without a mistake leave nothing to complain of (reliability.md 4.6).
func TestClusterMutantsAreCaught(t *testing.T) {
	// The other three need replicas that meet in the midst of a transaction: TestClusterZombiesAreFenced,
	// TestClusterSweeperLosesNothing.
	for _, tt := range []struct {
		mistake string
		scene   scene
		repeat  int // of the faults, at most
	}{
		{"job_queue_rescue", deadOwners, 4},
		{"asynchronous_commit", deadServer, 3},
		{"missing_key_full_bucket", emptiedRedis, 2},
	} {
		t.Run(tt.mistake, func(t *testing.T) {
			t.Parallel() // they wait, nearly all the time
			caught(t, tt.mistake, func(mistake string) []problem { return play(t, tt.scene, mistake, tt.repeat) })
		})
	}
}

// caught plays without the mistake, which must show nothing, and with it until it shows, six times at most: whether it does
// may be a matter of milliseconds.
func caught(t *testing.T, mistake string, play func(mistake string) []problem) {
	t.Helper()
	if found := play(""); len(found) > 0 {
		t.Fatalf("without a mistake: %s", report(found))
	}
	for range 6 {
		if found := play(mistake); len(found) > 0 {
			t.Logf("caught %d times: %s", len(found), found[0].what)
			return
		}
	}
	t.Fatal("the mistake survived")
}

// play runs a scene with a mistake planted in every replica, and returns what shows.
func play(t *testing.T, s scene, mistake string, repeat int) []problem {
	t.Helper()
	draw := drawOf(t)
	c := newCluster(t, 3, standard, s.change)
	c.env = append(c.env, "CAMPAIGND_MUTANT="+mistake)
	c.schedule("orders", "order_update", listOf(s.rows, draw), all, held...)
	c.startAll()
	defer c.killAll()
	c.until(time.Minute, "the campaign is fired and sent", func() bool { return c.accepted() > 50 })
	x := c.trouble(draw)
	for range repeat {
		s.faults(x)
		x.healing.Wait()
		if found := s.shows(c); len(found) > 0 {
			return found
		}
	}
	return nil
}

// killAll ends what is left of a scene.
func (c *cluster) killAll() {
	for _, r := range c.replicas {
		r.mu.Lock()
		if r.p != nil {
			r.p.kill()
			r.p = nil
		}
		r.mu.Unlock()
	}
}
