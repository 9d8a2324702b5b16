//go:build mutants

package harness

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"campaignd/campaign"
	"campaignd/internal/sandbox"
	"campaignd/throttle/throttletest"
)

// An operator's hold stops a number on three replicas within 2 s, also if one of them is killed and
// another one started meanwhile, and its lift lets the number go on within 2 s. The other numbers
// keep their pace.
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
	stopped := c.falls(tape, silence, "conn_1").Add(1)
	late := watched()
	tape.steady(t, standard, began, time.Now(), late, all[1:]...)
	if took := stopped.Sub(added); took > 2*time.Second && late <= throttletest.Busy { // 1 s between two readings, and what was due
		t.Errorf("the last post came %v after the hold, want it within 2 s", took)
	}
	x := c.trouble(drawOf(t))
	x.kill(x.idle(), 0)
	x.ending.Wait()
	time.Sleep(2 * time.Second) // the new process reads the hold, too
	if n := tape.count("conn_1", stopped, time.Now()); n > 0 {
		t.Errorf("%d posts over a held number from %v after the hold on, want 0", n, stopped.Sub(added))
	}
	lifted := time.Now()
	c.hold("lift", campaign.HoldConnection, "conn_1")
	c.goesOn(tape, lifted, 2*time.Second+time.Since(lifted), "conn_1")
	c.closeAll(lists)
	c.withinLimits()
}

// Three replicas share the breaker of a number that leaves requests unanswered. Each may have 30
// unanswered; then one replica tests it, with 3 requests at a time. Another replica's restart
// changes nothing.
func TestClusterReplicasShareABreaker(t *testing.T) {
	t.Parallel()
	c := newCluster(t, 3, standard, noStatuses)
	list := people(0, 6000)
	c.schedule("orders", "order_update", list, all[:2], held...)
	tape := c.record()
	c.startAll()
	c.until(lifeLimit, "500 messages are sent", func() bool { return c.accepted() >= 500 })
	healthy := c.service.Faults()
	watched := throttletest.Watch()
	if err := c.service.SetFaults(sandbox.Faults{Pages: []sandbox.Page{{Status: 0, Share: 1, Connections: all[:1]}}}); err != nil {
		t.Fatal(err)
	}
	failed := time.Now()
	c.until(lifeLimit, "the breaker is open", func() bool { return slices.Equal(c.held(), []string{"connection conn_1 breaker"}) })
	opened := c.falls(tape, 2*time.Second, "conn_1").Add(1)
	x := c.trouble(drawOf(t))
	x.kill(x.idle(), 0)
	x.ending.Wait()
	time.Sleep(time.Until(failed.Add(9 * time.Second)))
	recovered := time.Now()
	most := 3 * unanswered(standard, 50*time.Millisecond+watched())
	if n := tape.count("conn_1", failed, opened); n > most || n < 20 {
		t.Errorf("%d posts before the breaker opened, want 20 to %d", n, most)
	}
	if n, most := tape.count("conn_1", opened, recovered), 3*int(1+recovered.Sub(failed)/(10*time.Second)); n > most {
		t.Errorf("%d posts after the breaker had opened, want at most %d: 3 of each test", n, most)
	}
	if err := c.service.SetFaults(healthy); err != nil {
		t.Fatal(err)
	}
	c.goesOn(tape, recovered, 20*time.Second, "conn_1") // a rest of 10 s before
	c.closeAll(map[string][]entry{"orders": list})
}

// closeAll stops all replicas but one, and closes the world with that.
func (c *cluster) closeAll(lists map[string][]entry) {
	c.t.Helper()
	c.balance.to(c.replicas[0].hooks) // half of ten tries would go to a replica that has ended
	for _, r := range c.replicas[1:] {
		if code := c.stop(r.process()); code != 0 && code != 130 {
			c.t.Errorf("%s: exit code %d after SIGTERM, want 0 or 130\n%s", r.name, code, tail(r.process().stderr.String(), 20))
		}
	}
	c.close(c.replicas[0].process(), lists)
}
