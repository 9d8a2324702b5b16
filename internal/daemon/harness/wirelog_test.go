//go:build mutants

package harness

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"

	"campaignd/internal/sandbox"
)

var wireKills = flag.Int("wirekills", 8, "number of processes that each scene of the wire log kills")

// The scenes of the wire log send 2,000/s over four numbers, if the machine can: the pace is 9.7 %
// below the limit (docs/limits.md#pace).
const (
	wireRate = 560 // the limit of each number
	wireRows = 700 // for each kill
)

// quick makes a service that answers at once and sends every status.
func quick(o *sandbox.Options) {
	o.Faults = sandbox.Faults{Latency: sandbox.Delay{Median: 20 * time.Millisecond, Sigma: 0.5, Max: 100 * time.Millisecond}}
}

// wirePoints are where a process ends itself: with groups granted, with one attempt about to be
// noted, and between the log's write and the socket's.
var wirePoints = []string{"", "intent_committed", "before_post", "wire_noted"}

// wireNth draws at which passing of a point a process ends itself. A commit of intents grants up to
// 300 rows on a busy machine, so the rows would not last for many.
func wireNth(point string, draw *rand.Rand) int {
	if point == "intent_committed" {
		return 2 + draw.IntN(6)
	}
	return 5 + draw.IntN(40)
}

// fastest is the most messages that the numbers together were sent in a second: the sum of their
// worst ones.
func (w *world) fastest() (n int) {
	for _, c := range w.service.Stats().Connections {
		n += c.WorstSecond
	}
	return n
}

// unsure returns the rows without a message that ended as unknown: those that the service saw, and
// those that were never posted.
func (w *world) unsure(lines []line) (swallowed, unposted []string) {
	posted := map[string]bool{}
	for pair := range w.service.Truth().Posts {
		posted[pair.To] = true
	}
	for _, l := range lines {
		switch {
		case l["status"] != "unknown" && l["status"] != "in_doubt":
		case posted[l["to"]]:
			swallowed = append(swallowed, l["to"])
		default:
			unposted = append(unposted, l["to"])
		}
	}
	return swallowed, unposted
}

// A killed process leaves nobody in doubt who was not on the wire. The exception is an attempt that
// was noted and not written: at most three for each death exactly there, because several posts may
// be at that point.
func TestAKillLeavesOnlyTheWireInDoubt(t *testing.T) {
	t.Parallel()
	draw := drawOf(t)
	w := newWorld(t, wireRate, quick)
	list := listOf(wireRows**wireKills, draw)
	w.campaign("orders", "order_update", list)
	noted := 0
	for i := range *wireKills {
		begin := func(env ...string) *process { return w.run("orders", env...) }
		if i%3 == 2 {
			begin = w.serve
		}
		d := death{window: anywhere, event: "post", nth: 1 + draw.IntN(200), delay: time.Duration(draw.IntN(150)) * time.Millisecond}
		if point := wirePoints[i%len(wirePoints)]; point != "" {
			d = death{window: beforePost, point: point, nth: wireNth(point, draw)}
		}
		hit, why := w.kill(d, begin)
		if !hit {
			t.Fatalf("%s: got %s, want the kill", d, why)
		}
		if d.point == "wire_noted" {
			noted++
		}
	}
	w.finish("orders", time.Minute)
	want(t, w.deliver(3*time.Minute, func() []problem { return compare(list, w.lines("latest"), w.sent("order_update")) }))
	want(t, w.audited("latest"))
	swallowed, unposted := w.unsure(w.lines("latest"))
	t.Logf("%d kills, %d messages, up to %d in a second; "+
		"unknown: %d that the service swallowed, %d that were noted and not posted in %d deaths there",
		*wireKills, len(w.sent("order_update")), w.fastest(), len(swallowed), len(unposted), noted)
	// A kill at a random time may hit the same few microseconds.
	if most := 3*noted + 1 + *wireKills/20; len(unposted) > most {
		t.Errorf("got %d rows in doubt that were never posted, want at most %d: %v", len(unposted), most, unposted)
	}
}

// A log that is damaged, or of an earlier boot, proves nothing: the deliveries stay in doubt, and
// nobody is sent to twice.
func TestAWireLogThatProvesNothing(t *testing.T) {
	t.Parallel()
	for name, spoil := range map[string]func(w *world, path string) (env string){
		"torn": func(w *world, path string) string {
			if err := os.Truncate(path, 5000); err != nil {
				w.t.Fatal(err)
			}
			return ""
		},
		"of another boot": func(*world, string) string { return "CAMPAIGND_BOOT_ID=00000000-0000-4000-8000-000000000001" },
		"missing":         func(w *world, path string) string { return w.remove(path) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, wireRate, func(o *sandbox.Options) { quick(o); o.Statuses.Silent = 1 })
			list := listOf(2000, drawOf(t))
			w.campaign("orders", "order_update", list)
			d := death{window: beforePost, point: "before_post", nth: 100}
			if hit, why := w.kill(d, func(env ...string) *process { return w.run("orders", env...) }); !hit {
				t.Fatalf("%s: got %s, want the kill", d, why)
			}
			logs, err := filepath.Glob(w.path("campaignd.db.wire-*"))
			if err != nil || len(logs) != 1 {
				t.Fatalf("got the wire logs %v (%v), want one", logs, err)
			}
			if env := spoil(w, logs[0]); env != "" {
				w.env = append(w.env, env)
			}
			w.finish("orders", time.Minute)
			want(t, compare(list, w.lines("latest"), w.sent("order_update")))
			if _, unposted := w.unsure(w.lines("latest")); len(unposted) == 0 {
				t.Error("got nobody in doubt, want those that were granted and not posted")
			}
		})
	}
}

// remove removes a file.
func (w *world) remove(path string) string {
	w.t.Helper()
	if err := os.Remove(path); err != nil {
		w.t.Fatal(err)
	}
	return ""
}

// wireLogs gives each replica a data_dir of its own.
func (c *cluster) wireLogs() {
	c.t.Helper()
	for i, r := range c.replicas {
		dir := c.path(fmt.Sprintf("replica-%d", i+1))
		if err := os.Mkdir(dir, 0o700); err != nil {
			c.t.Fatal(err)
		}
		r.env = append(r.env, "CAMPAIGND_DATA_DIR="+dir)
	}
}
