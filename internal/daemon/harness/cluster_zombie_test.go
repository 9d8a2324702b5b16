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

// zombies is a scene of two replicas and one segment. The first replica is stopped until the second
// has taken the segment over. The second may be stopped in its own intent for the same delivery, or
// after it.
type zombies struct {
	rows          int
	first, second string // the points at which they stop, as CAMPAIGND_STOP
	// open means that the first stops in a transaction. The server must end the transaction before
	// the segment can be taken over.
	open bool
	// meet continues the replicas, once the first has stopped and the second has taken over.
	meet func(c *cluster, first, second *process)
	// shows returns the problems that show a mutation.
	shows func(c *cluster) []problem
}

var (
	// The server dies before the second has committed, and the second reads back whether it has. The
	// first, whose intent belongs to the earlier epoch, must not move the mark meanwhile: the second
	// would take that for its own commit.
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
	// The server ends the transaction of the first before its commit, and the first reads back whether
	// it has committed. The second has moved the mark to the same value by then: the first must not
	// take that for its own commit.
	lateReadBack = zombies{
		rows: 2, shows: (*cluster).sentTwice,
		first: "intent_before_commit:1", second: "intent_committed:1", open: true,
		meet: func(_ *cluster, first, second *process) {
			first.signal(syscall.SIGCONT)
			time.Sleep(500 * time.Millisecond)
			second.signal(syscall.SIGCONT)
		},
	}
	// The first has read an answer and not written it. The second puts the delivery in doubt. The
	// answer must end the doubt, although the first writes it under an earlier epoch. No webhook could
	// end it, because the service sends none.
	lateAnswer = zombies{
		rows: 1, shows: (*cluster).answersKept,
		first: "answer_read:1",
		meet:  func(_ *cluster, first, _ *process) { first.signal(syscall.SIGCONT) },
	}
)

// sentTwice returns the recipients who got the campaign more than once.
func (c *cluster) sentTwice() []problem { return twice(c.sent("order_update")) }

// answersKept returns the messages that the report does not show. Every answer of the service was
// read.
func (c *cluster) answersKept() (found []problem) {
	rows := map[string]line{}
	for _, l := range c.lines("latest") {
		rows[l["to"]] = l
	}
	for _, m := range c.sent("order_update") {
		if l := rows[m.To]; l["message_id"] != m.ID {
			found = append(found, problem{lost,
				fmt.Sprintf("row %s is %s: its answer %s was read and not kept", l["row"], l["status"], m.ID)})
		}
	}
	return found
}

// signal sends a signal to a running process.
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

// A replica that lost its segment in the middle of an intent sends nothing of it, because the epoch
// has changed. Without the epoch in the swap of the mark, or in reading back a commit, recipients
// get two messages (docs/protocol.md#segments-and-marks). An answer that the replica has read is
// still recorded: facts merge, decisions are fenced.
func TestClusterZombiesAreFenced(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		mutation string
		scene    zombies
	}{
		{"no_epoch_in_swap", lateSwap},
		{"readback_without_epoch", lateReadBack},
		{"results_fenced_away", lateAnswer},
	} {
		t.Run(tt.mutation, func(t *testing.T) {
			t.Parallel()
			detected(t, tt.mutation, func(mutation string) []problem { return tt.scene.play(t, mutation) })
		})
	}
}

// play runs the scene and returns the problems that show.
func (z zombies) play(t *testing.T, mutation string) []problem {
	t.Helper()
	// The list is one segment that one intent covers, so both replicas move the mark to the same
	// value, and no later intent tells the first that it is fenced. The test ends the lease in the
	// ledger before its time, so that no renewal tells the first either.
	c := newCluster(t, 2, 20, noStatuses)
	c.env = append(c.env, "CAMPAIGND_MUTANT="+mutation, "CAMPAIGND_SENDING_LEASE=60s")
	list := make([]entry, z.rows)
	for i := range list {
		to := fmt.Sprintf("+234803%07d", i)
		list[i] = entry{to: to, text: to + ",A,B"}
	}
	c.schedule("orders", "order_update", list, all[:1], held...)
	defer c.killAll()
	first := c.replicas[0].start("CAMPAIGND_STOP=" + z.first)
	c.until(3*time.Minute, "the first stops in an intent", first.stopped)
	if z.open {
		if err := c.postgres.Restart(); err != nil {
			t.Fatal(err)
		}
	}
	if err := c.postgres.Exec("UPDATE segment SET lease_until = 0"); err != nil {
		t.Fatal(err)
	}
	second := c.replicas[1].start("CAMPAIGND_STOP=" + z.second)
	c.until(3*time.Minute, "the second takes over", func() bool {
		if z.second != "" {
			return second.stopped()
		}
		return c.holds("SELECT 1 FROM outcome WHERE state IN (3 /* in doubt */, 4 /* unknown */)")
	})
	z.meet(c, first, second)
	return c.finished(3*time.Minute, func() []problem { return z.shows(c) })
}
