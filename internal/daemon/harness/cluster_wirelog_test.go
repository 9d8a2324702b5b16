//go:build mutants

package harness

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// A killed replica states what it had not posted when it is back: at once, or after another one has
// taken its segments over. Nobody is sent to twice, and nobody is in doubt who was not on the wire.
func TestClusterAKillLeavesOnlyTheWireInDoubt(t *testing.T) {
	t.Parallel()
	c := newCluster(t, 3, wireRate, quick)
	c.wireLogs()
	x := c.trouble(drawOf(t))
	list := listOf(2*wireRows**wireKills, x.draw) // the first replicas go on meanwhile
	c.schedule("orders", "order_update", list, all, held...)
	c.startAll()
	c.until(3*time.Minute, "the replicas send", func() bool { return c.accepted() > 100 })
	noted := 0
	for i := range *wireKills {
		time.Sleep(x.millis(100, 400))
		r := x.idle()
		for ; r == nil; r = x.idle() {
			time.Sleep(20 * time.Millisecond)
		}
		if point := wirePoints[i%len(wirePoints)]; point != "" && i%2 == 1 {
			if x.die(r, point, wireNth(point, x.draw)); point == "wire_noted" {
				noted++
			}
			continue
		}
		// Half of them come back after the lease has run out.
		x.kill(r, x.millis(0, 2*int(leaseTime/time.Millisecond)))
	}
	x.ending.Wait()
	left := c.state
	x.log("all killed: %v, %d messages accepted", x.counts, c.accepted())
	want(t, c.finished(2*time.Minute, func() []problem { return compare(list, c.lines("latest"), c.sent("order_update")) }))
	want(t, c.counted())
	state, totals := left("latest")
	swallowed, unposted := c.unsure(c.lines("latest"))
	x.log("%s: %v; up to %d in a second; unknown: %d that the service swallowed, %d that were noted and not posted in %d deaths there",
		state, totals, c.fastest(), len(swallowed), len(unposted), noted)
	if most := 3*noted + 1 + *wireKills/20; len(unposted) > most {
		t.Errorf("got %d rows in doubt that were never posted, want at most %d: %v", len(unposted), most, unposted)
	}
	c.stopAll()
}

func TestClusterTwoProcessesInOneFolderAreRefused(t *testing.T) {
	t.Parallel()
	c := newCluster(t, 2, standard, nil)
	c.wireLogs()
	c.replicas[0].revive()
	p := c.replicas[1].start(c.replicas[0].env[len(c.replicas[0].env)-1])
	if code := p.wait(lifeLimit); code != 1 {
		t.Errorf("%s: exit code %d, want 1", p, code)
	}
	said, first := strings.TrimSpace(p.stderr.String()), c.replicas[0].process().cmd.Process.Pid
	if strings.Contains(said, "\n") || !strings.Contains(said, fmt.Sprint(first)) || !strings.Contains(said, "data_dir") {
		t.Errorf("got %q, want one line with the process %d and data_dir", said, first)
	}
	if code := c.stop(c.replicas[0].process()); code != 0 {
		t.Errorf("exit code %d after SIGTERM, want 0", code)
	}
}
