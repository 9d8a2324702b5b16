//go:build mutants

package harness

import (
	"fmt"
	"syscall"
	"testing"
	"time"

	"campaignd/internal/sandbox"
)

// holds reports whether the ledger has a row that a query finds.
func (c *cluster) holds(query string) bool {
	return c.postgres.Exec(fmt.Sprintf("DO $$ BEGIN IF NOT EXISTS (%s) THEN RAISE 'not yet'; END IF; END $$", query)) == nil
}

// A status that comes before its receipt is committed waits for the sweeper. A receipt that is committed while the
// sweeper is at work finds that status or leaves it to the next sweep: with one statement for both halves there is nothing
// in between. In two statements, the second deletes what the first has not applied (reliability.md 2.2).
func TestClusterSweeperLosesNothing(t *testing.T) {
	t.Parallel()
	caught(t, "two_statement_sweeper", func(mistake string) []problem { return sweptBetween(t, mistake) })
}

// sweptBetween lets a receipt be committed while a sweep stands still, and returns what the report lacks.
func sweptBetween(t *testing.T, mistake string) []problem {
	t.Helper()
	c := newCluster(t, 2, standard, func(o *sandbox.Options) {
		o.Statuses.Sent = sandbox.Delay{Median: time.Second} // the sender stands still by then
	})
	c.env = append(c.env, "CAMPAIGND_MUTANT="+mistake, "CAMPAIGND_SENDING_LEASE=60s")
	sender, intake := c.replicas[0], c.replicas[1]
	c.balance.addrs = []string{intake.hooks}
	list := []entry{{to: phoneOf(0), text: phoneOf(0) + ",A,B"}}
	c.schedule("orders", "order_update", list, all[:1], held...)
	defer c.killAll()
	// The sender stops before it commits its receipt; the intake stores what the service tells meanwhile, and stops in
	// its sweep.
	intake.revive("CAMPAIGND_ROLE=intake", "CAMPAIGND_STOP=orphans_read:1")
	sends := sender.start("CAMPAIGND_ROLE=sender", "CAMPAIGND_STOP=outcome_uncommitted:1")
	sweeps := intake.process()
	c.until(time.Minute, "the sender stops before its receipt", sends.stopped)
	c.until(time.Minute, "the intake stops in a sweep", sweeps.stopped)
	sends.signal(syscall.SIGCONT)
	c.until(time.Minute, "the receipt is committed", func() bool { return c.holds("SELECT 1 FROM outcome WHERE message_id IS NOT NULL") })
	sweeps.signal(syscall.SIGCONT)
	return c.finished(time.Minute, func() []problem { return compare(list, c.lines("latest"), c.sent("order_update")) })
}
