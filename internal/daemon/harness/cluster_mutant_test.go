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

// scene is a cluster under the faults that show a mutation.
type scene struct {
	rows   int
	change func(*sandbox.Options)
	// faults makes the faults while the cluster sends. It is called until the mutation shows.
	faults func(x *trouble)
	// shows returns the problems that show the mutation.
	shows func(c *cluster) []problem
}

// noStatuses makes the service send no statuses, so that no webhook replaces a lost answer.
func noStatuses(o *sandbox.Options) { o.Statuses.Silent = 1 }

// slowly also makes the service answer slowly, so that a death leaves many requests in flight.
func slowly(o *sandbox.Options) {
	noStatuses(o)
	o.Faults.Latency = sandbox.Delay{Median: 300 * time.Millisecond, Max: 500 * time.Millisecond}
}

var (
	// Killed owners leave deliveries in doubt. A new owner that sends them again, as a job queue does,
	// sends twice.
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
	// A server that dies loses the commits that it had not written: intents whose deliveries were
	// posted. Its log writer, which would write them a little later, is stopped. Live replicas would
	// remember their marks and raise them again, so they are killed too.
	deadServer = scene{
		rows: 6000, change: slowly,
		faults: func(x *trouble) {
			writer := x.logWriter()
			x.signal(writer, syscall.SIGSTOP)
			time.Sleep(time.Second)
			x.killAll()
			x.signal(writer, syscall.SIGKILL) // the server then ends all its processes and loses their memory
			x.restartPostgres()
			x.startAll()
			time.Sleep(leaseTime + 2*time.Second)
		},
		shows: func(c *cluster) []problem { return twice(c.sent("order_update")) },
	}
	// Redis is emptied while three processes hold leases of slots.
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
				if most := c.mostIn(n.Limit); n.WorstSecond > most {
					found = append(found, problem{"too fast",
						fmt.Sprintf("%s: %d POSTs in one second, at most %d are right", n.Connection, n.WorstSecond, most)})
				}
			}
			return found
		},
	}
)

// logWriter returns the process id of the server's WAL writer, which writes asynchronous commits
// (https://www.postgresql.org/docs/current/wal-async-commit.html).
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
			continue // another process, or one that has ended
		}
		status, err := os.ReadFile(filepath.Join(filepath.Dir(file), "status"))
		pid, e := strconv.Atoi(filepath.Base(filepath.Dir(file)))
		if err == nil && e == nil && strings.Contains(string(status), fmt.Sprintf("\nPPid:\t%d\n", server)) {
			return pid
		}
	}
	c.t.Fatalf("got no WAL writer among %d processes, want one", len(found))
	return 0
}

// signal sends a signal to a process of the server.
func (c *cluster) signal(pid int, s syscall.Signal) {
	c.t.Helper()
	if err := syscall.Kill(pid, s); err != nil {
		c.t.Fatal(err)
	}
}

// Each mutation that only several replicas can show is detected under its faults, and the same
// faults without a mutation show no problem. TestClusterZombiesAreFenced and
// TestClusterSweeperLosesNothing have the mutations that need replicas in the middle of a
// transaction.
func TestClusterMutationsAreDetected(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		mutation string
		scene    scene
		repeat   int // how often the faults are made at most
	}{
		{"job_queue_rescue", deadOwners, 4},
		{"asynchronous_commit", deadServer, 3},
		{"missing_key_full_bucket", emptiedRedis, 2},
	} {
		t.Run(tt.mutation, func(t *testing.T) {
			t.Parallel() // the scenes wait nearly all the time
			detected(t, tt.mutation, func(mutation string) []problem { return play(t, tt.scene, mutation, tt.repeat) })
		})
	}
}

// detected plays a scene without the mutation, which must show no problem, and then with it until
// it shows one. It tries six times, because a few milliseconds may decide.
func detected(t *testing.T, mutation string, play func(mutation string) []problem) {
	t.Helper()
	if found := play(""); len(found) > 0 {
		t.Fatalf("without a mutation: got %s, want no problem", report(found))
	}
	for range 6 {
		if found := play(mutation); len(found) > 0 {
			t.Logf("detected by %d problems: %s", len(found), found[0].what)
			return
		}
	}
	t.Fatalf("the mutation %s: got no problem in six runs, want one", mutation)
}

// play runs a scene with the mutation applied in every replica, and returns the problems that show.
func play(t *testing.T, s scene, mutation string, repeat int) []problem {
	t.Helper()
	draw := drawOf(t)
	c := newCluster(t, 3, standard, s.change)
	c.env = append(c.env, "CAMPAIGND_MUTANT="+mutation)
	c.schedule("orders", "order_update", listOf(s.rows, draw), all, held...)
	c.startAll()
	defer c.killAll()
	c.until(3*time.Minute, "the campaign is fired and being sent", func() bool { return c.accepted() > 50 })
	x := c.trouble(draw)
	for range repeat {
		s.faults(x)
		x.ending.Wait()
		if found := s.shows(c); len(found) > 0 {
			return found
		}
	}
	return nil
}

// killAll kills the process of every replica.
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
