package daemon

import (
	"context"
	"fmt"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"campaignd/campaign"
	"campaignd/campaign/sender"
	"campaignd/throttle/throttletest"
)

// sendingReplica is a replica whose engine runs.
type sendingReplica struct {
	owner string
	stop  context.CancelFunc
	ended sync.WaitGroup
}

// send starts the engine of a new replica, which change may alter first.
func (c *cluster) send(change func(*Daemon)) *sendingReplica {
	c.Helper()
	d := c.replica()
	if change != nil {
		change(d)
	}
	e, err := d.engine(0)
	if err != nil {
		c.Fatal(err)
	}
	return c.run(d, e)
}

// run runs e until the replica is stopped or the test ends.
func (c *cluster) run(d *Daemon, e *sender.Engine) *sendingReplica {
	ctx, stop := context.WithCancel(c.Context())
	s := &sendingReplica{owner: d.owner, stop: stop}
	s.ended.Go(func() {
		if err := e.Run(ctx); err != nil {
			c.Error(err)
		}
	})
	c.Cleanup(func() {
		stop()
		s.ended.Wait()
	})
	return s
}

// owned returns the marks of the run's unfinished segments that owner has, by index.
func (c *cluster) owned(no campaign.RunNo, owner string) map[int64]int64 {
	c.Helper()
	all, err := c.ledger.SegmentStates(context.WithoutCancel(c.Context()), no)
	if err != nil {
		c.Fatal(err)
	}
	found := map[int64]int64{}
	for _, s := range all {
		if s.Owner == owner && !s.Done {
			found[s.Index] = s.Mark
		}
	}
	return found
}

// longWait bounds each wait for what a busy machine may take long for. A wait ends as soon as its
// condition holds.
const longWait = 4 * time.Minute

// until waits until ok returns true, at most longWait, and returns how long it took.
func (c *cluster) until(what string, ok func() bool) time.Duration {
	c.Helper()
	began := time.Now()
	for !ok() {
		if time.Since(began) > longWait {
			c.Fatalf("got nothing within %v, want that %s", longWait, what)
		}
		time.Sleep(5 * time.Millisecond)
	}
	return time.Since(began)
}

// launched imports a list of rows for one number and returns its run.
func (c *cluster) launched(rows int) campaign.Run {
	c.Helper()
	d := c.replica()
	c.campaign(c.dir, "spring", "", rows)
	l, err := d.schedule.Launch(filepath.Join(c.dir, "spring.yaml"), "").Start(c.Context())
	if err != nil {
		c.Fatal(err)
	}
	return l.Run
}

// A replica that is stopped hands its segments over. The other replica continues them within 2 s,
// although it has segments of its own, and sends nothing twice.
func TestAStoppedReplicaHandsOverInTwoSeconds(t *testing.T) {
	c := newCluster(t, "STANDARD", 15*time.Second)
	run := c.launched(5*campaign.SegmentSize + 100)
	a, b := c.send(nil), c.send(nil)
	var left map[int64]int64
	c.until("both replicas own a segment and one has begun its own", func() bool {
		left = c.owned(run.No, a.owner)
		begun := false
		for index, mark := range left {
			begun = begun || mark > index*campaign.SegmentSize
		}
		return begun && len(c.owned(run.No, b.owner)) > 0
	})
	watched := throttletest.Watch()
	a.stop()
	took := c.until("the other continues the begun segments", func() bool {
		mine := c.owned(run.No, b.owner)
		for index, mark := range left {
			if mark == index*campaign.SegmentSize {
				continue // nothing of it was sent, so it has no priority
			}
			if now, ok := mine[index]; !ok || now <= mark {
				return false
			}
		}
		return true
	})
	a.ended.Wait()
	if n := len(c.owned(run.No, a.owner)); n > 0 {
		t.Errorf("%d segments were not handed back, want none", n)
	}
	throttletest.Soon(t, "the hand-over", took, 2*time.Second, watched())
	b.stop()
	b.ended.Wait()
	c.nobodyTwice(run.No)
}

// The segments of a dead replica stay until their leases run out. Then the other replica takes them
// over at once.
func TestADeadReplicasSegmentsAreTakenOverAfterItsLease(t *testing.T) {
	t.Parallel()
	const leaseTime = 1200 * time.Millisecond
	c := newCluster(t, "STANDARD", 15*time.Second) // the other replica keeps its own leases
	run := c.launched(5*campaign.SegmentSize + 100)
	// The dead replica claims and never renews. The ledger counts its lease in whole milliseconds.
	claimed := time.Now().Truncate(time.Millisecond)
	dead, err := c.ledger.Claim(t.Context(), campaign.Claim{
		Owner: "dead", Connection: "conn_1", Runs: []campaign.RunNo{run.No}, Max: 2, Lease: leaseTime,
	})
	if err != nil || len(dead) != 2 {
		t.Fatalf("claimed %d segments and %v, want 2", len(dead), err)
	}
	intent := campaign.Intent{Lease: dead[0], Connection: "conn_1", To: 4, Keys: make([]int64, 4)}
	if g, err := c.ledger.Intend(t.Context(), []campaign.Intent{intent}); err != nil || g[0].To != 4 {
		t.Fatalf("granted %+v and %v, want up to 4", g, err)
	}
	watched := throttletest.Watch()
	b := c.send(nil)
	c.until("the other takes both over and continues them", func() bool {
		mine := c.owned(run.No, b.owner)
		_, second := mine[dead[1].Index]
		return mine[dead[0].Index] > 4 && second
	})
	took := time.Since(claimed)
	if took < leaseTime {
		t.Errorf("taken over after %v, want it after the lease of %v", took, leaseTime)
	}
	// With the default lease of 15 s, 5 s more are the 20 s of docs/operations.md#several-replicas.
	throttletest.Soon(t, fmt.Sprint("taking over from a lease of ", leaseTime), took, leaseTime+5*time.Second, watched())
	b.stop()
	b.ended.Wait()
	c.nobodyTwice(run.No)
	totals := map[campaign.Status]int64{}
	tallies, _, err := c.ledger.Tallies(t.Context(), run.No)
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range tallies {
		totals[x.Status] += x.N
	}
	if totals[campaign.InDoubt] != 4 {
		t.Errorf("got totals %v, want the 4 granted to the dead replica in doubt", totals)
	}
}

// Two runs share a number from the start, although the first alone has enough rows for an hour.
func TestEveryRunHasASegmentOfItsOwn(t *testing.T) {
	t.Parallel()
	c := newCluster(t, "STANDARD", 15*time.Second)
	long := c.launched(8 * campaign.SegmentSize)
	c.first = 1e6
	c.campaign(c.dir, "short", "", 50)
	short, err := c.replica().schedule.Launch(filepath.Join(c.dir, "short.yaml"), "").Start(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	b := c.send(nil)
	c.until("both runs are sent", func() bool {
		r, err := c.ledger.Run(t.Context(), short.Run.No)
		if err != nil {
			t.Fatal(err)
		}
		return r.State == campaign.Finished && len(c.owned(long.No, b.owner)) > 0
	})
	if n := len(c.owned(long.No, b.owner)); n > 3 {
		t.Errorf("the replica holds %d segments of the long run, want at most 3, which a death would strand", n)
	}
	b.stop()
	b.ended.Wait()
	c.nobodyTwice(long.No)
}

// nobodyTwice checks that no recipient was sent to twice, that the run's sum balances and that no
// number exceeded its limit.
func (c *cluster) nobodyTwice(no campaign.RunNo) {
	c.Helper()
	for p, n := range c.service.Truth().Posts {
		if n > 1 {
			c.Errorf("%s got %d requests from %s, want 1", p.To, n, p.Connection)
		}
	}
	problems, _, err := c.ledger.Audit(c.Context(), no, 5)
	if err != nil || len(problems) > 0 {
		c.Errorf("audit = %v and %v, want no problem", problems, err)
	}
	for _, n := range c.service.Stats().Connections {
		if n.WorstSecond > n.Limit {
			c.Errorf("%s: %d requests in a second, want at most its limit, %d", n.Connection, n.WorstSecond, n.Limit)
		}
	}
}
