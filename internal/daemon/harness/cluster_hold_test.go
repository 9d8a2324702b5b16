//go:build mutants

package harness

import (
	"fmt"
	"testing"
	"time"

	"campaignd/campaign"
	"campaignd/throttle/throttletest"
)

// An operator's hold stops a number on three replicas within 2 s, also if one of them is killed and
// another one started meanwhile, and its lift lets the number go on within 2 s. The other numbers keep
// their pace.
func TestClusterOperatorsHoldsUnderLoad(t *testing.T) {
	t.Parallel()
	c := newCluster(t, 3, standard, noStatuses)
	lists := map[string][]entry{}
	for i, connection := range all {
		name := fmt.Sprint("number", i+1)
		lists[name] = people(10_000*i, 6000)
		c.schedule(name, "order_update", lists[name], []string{connection}, held...)
	}
	tape := c.record()
	c.startAll()
	c.until(lifeLimit, "every number sends", func() bool {
		for _, n := range c.service.Stats().Connections {
			if n.Accepted < 50 {
				return false
			}
		}
		return true
	})
	time.Sleep(2 * time.Second) // until every process has its first lease

	began := time.Now()
	watched := throttletest.Watch()
	c.hold("add", campaign.HoldConnection, "conn_1")
	added := time.Now()
	time.Sleep(2 * time.Second) // 1 s between two readings, and what was due
	stopped := time.Now()
	time.Sleep(time.Second)
	tape.steady(t, standard, began, time.Now(), watched(), all[1:]...)
	x := c.trouble(drawOf(t))
	x.kill(x.idle(), 0)
	x.healing.Wait()
	time.Sleep(2 * time.Second) // the new process reads the hold, too
	if n := tape.count("conn_1", stopped, time.Now()); n > 0 {
		t.Errorf("%d posts over a held number from %v after the hold on, want 0", n, stopped.Sub(added))
	}
	lifted := time.Now()
	c.hold("lift", campaign.HoldConnection, "conn_1")
	c.goesOn(tape, lifted, 2*time.Second+time.Since(lifted), "conn_1")
	// The replicas stop first: the last one that is left ends what is cancelled.
	for _, r := range c.replicas[1:] {
		if code := c.stop(r.process()); code != 0 && code != 130 {
			t.Errorf("%s: exit code %d after SIGTERM, want 0 or 130\n%s", r.name, code, tail(r.process().stderr.String(), 20))
		}
	}
	c.close(c.replicas[0].process(), lists)
	c.withinLimits()
}
