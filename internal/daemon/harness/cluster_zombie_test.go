//go:build mutants

package harness

import (
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"
)

// zombies is a scene of two replicas and one segment. The first stops itself until the second has taken the segment
// over; the second may stop itself in its own intent for the same delivery, or behind it.
type zombies struct {
	rows          int
	first, second string // where they stop, as CAMPAIGND_STOP
	// open: the first stops in a transaction, which the server must end before anybody can take the segment over.
	open bool
	// meet brings them back, once the first has stopped and the second has taken over.
	meet func(c *cluster, first, second *process)
	// shows compares what became of it in the end.
	shows func(c *cluster) []problem
}

var (
	// The second has not committed when the server dies, and reads back what became of it. The first, whose intent was
	// planned under the epoch before, must not move the mark meanwhile: the second would take that for its own commit.
	lateSwap = zombies{
		rows: 2, shows: (*cluster).sentTwice,
		first: "intent_planned:1", second: "intent_before_commit:1",
		meet: func(c *cluster, first, second *process) {
			if err := c.postgres.Restart(); err != nil {
				c.t.Fatal(err)
			}
			first.signal(syscall.SIGCONT)
			time.Sleep(500 * time.Millisecond)
			second.signal(syscall.SIGCONT)
		},
	}
	// The first has not committed when the server ends its transaction, and reads back what became of it. The second has moved the
	// mark to the same value by then: the first must not take that for its own commit.
	lateReadBack = zombies{
		rows: 2, shows: (*cluster).sentTwice,
		first: "intent_before_commit:1", second: "intent_committed:1", open: true,
		meet: func(_ *cluster, first, second *process) {
			first.signal(syscall.SIGCONT)
			time.Sleep(500 * time.Millisecond)
			second.signal(syscall.SIGCONT)
		},
	}
	// The first has read an answer and not written it. To the second the delivery is a doubt: the answer must end it, although
	// it is written under an epoch that has passed. The service tells nothing that would end it.
	lateAnswer = zombies{
		rows: 1, shows: (*cluster).answersKept,
		first: "answer_read:1",
		meet:  func(_ *cluster, first, _ *process) { first.signal(syscall.SIGCONT) },
	}
)

// sentTwice is who got the campaign more than once.
func (c *cluster) sentTwice() []problem { return twice(c.sent("order_update")) }

// answersKept finds messages that the report does not show, of a service whose answers were all read.
func (c *cluster) answersKept() (found []problem) {
	rows := map[string]line{}
	for _, l := range c.lines("latest") {
		rows[l["to"]] = l
	}
	for _, m := range c.sent("order_update") {
		if l := rows[m.To]; l["message_id"] != m.ID {
			found = append(found, problem{lost, fmt.Sprintf("row %s is %s: its answer %s was read and not kept", l["row"], l["status"], m.ID)})
		}
	}
	return found
}

// signal sends a signal to a process that lives.
func (p *process) signal(s syscall.Signal) {
	p.t.Helper()
	if err := p.cmd.Process.Signal(s); err != nil {
		p.t.Fatal(err)
	}
}

// stopped reports whether a signal has stopped the process.
func (p *process) stopped() bool {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.cmd.Process.Pid))
	return err == nil && strings.Contains(string(status), "\nState:\tT")
}

// Whoever lost a segment while it stood still in the midst of an intent sends nothing of it; the epoch tells. Without
// it, in the swap of the mark or in reading back what became of a commit, people get two messages (reliability.md 1.3).
// What it learnt is kept all the same: facts merge, decisions are fenced.
func TestClusterZombiesAreFenced(t *testing.T) {
	for _, tt := range []struct {
		mistake string
		scene   zombies
	}{
		{"no_epoch_in_swap", lateSwap},
		{"readback_without_epoch", lateReadBack},
		{"results_fenced_away", lateAnswer},
	} {
		t.Run(tt.mistake, func(t *testing.T) {
			t.Parallel()
			caught(t, tt.mistake, func(mistake string) []problem { return tt.scene.play(t, mistake) })
		})
	}
}

// play lets the replicas meet and returns what shows.
func (z zombies) play(t *testing.T, mistake string) []problem {
	t.Helper()
	// One segment that one intent covers: both move the mark to the same value. There is nothing behind it whose intent
	// would tell the first that it is fenced, and its lease ends by our hand, not by time, so that no renewal tells it either.
	c := newCluster(t, 2, 20, noStatuses)
	c.env = append(c.env, "CAMPAIGND_MUTANT="+mistake, "CAMPAIGND_SENDING_LEASE=60s")
	list := make([]entry, z.rows)
	for i := range list {
		to := fmt.Sprintf("+234803%07d", i)
		list[i] = entry{to: to, text: to + ",A,B"}
	}
	c.schedule("orders", "order_update", list, all[:1], held...)
	defer c.killAll()
	first := c.replicas[0].start("CAMPAIGND_STOP=" + z.first)
	c.until(time.Minute, "the first stops in an intent", first.stopped)
	if z.open {
		if err := c.postgres.Restart(); err != nil {
			t.Fatal(err)
		}
	}
	if err := c.postgres.Exec("UPDATE segment SET lease_until = 0"); err != nil {
		t.Fatal(err)
	}
	second := c.replicas[1].start("CAMPAIGND_STOP=" + z.second)
	c.until(time.Minute, "the second takes over", func() bool {
		if z.second != "" {
			return second.stopped()
		}
		return c.holds("SELECT 1 FROM outcome WHERE state IN (3, 4)") // a doubt, or unknown already
	})
	z.meet(c, first, second)
	return c.finished(time.Minute, func() []problem { return z.shows(c) })
}
