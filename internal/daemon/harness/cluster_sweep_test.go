//go:build mutants

package harness

import (
	"fmt"
	"syscall"
	"testing"
	"time"

	"campaignd/internal/sandbox"
)

// holds reports whether a query finds a row in the ledger.
func (c *cluster) holds(query string) bool {
	return c.postgres.Exec(fmt.Sprintf("DO $$ BEGIN IF NOT EXISTS (%s) THEN RAISE 'not yet'; END IF; END $$", query)) == nil
}

// A status that comes before its receipt is committed waits for the sweeper. The sweeper applies
// and deletes it in one statement. A receipt that is committed meanwhile leaves the status to the
// next sweep. With two statements, the second would delete a status that the first has not applied
// (docs/protocol.md#orphan-events).
func TestClusterSweeperLosesNothing(t *testing.T) {
	t.Parallel()
	detected(t, "two_statement_sweeper", func(mutation string) []problem { return sweptBetween(t, mutation) })
}

// sweptBetween commits a receipt while a sweep is stopped, and returns what the report lacks.
func sweptBetween(t *testing.T, mutation string) []problem {
	t.Helper()
	c := newCluster(t, 2, standard, func(o *sandbox.Options) {
		o.Statuses.Sent = sandbox.Delay{Median: time.Second} // by then the sender is stopped
	})
	c.env = append(c.env, "CAMPAIGND_MUTANT="+mutation, "CAMPAIGND_SENDING_LEASE=60s")
	sender, intake := c.replicas[0], c.replicas[1]
	c.balance.to(intake.hooks)
	list := []entry{{to: phoneOf(0), text: phoneOf(0) + ",A,B"}}
	c.schedule("orders", "order_update", list, all[:1], held...)
	defer c.killAll()
	// The sender stops before it commits its receipt. The intake stores the statuses that come
	// meanwhile, and stops in its sweep.
	intake.revive("CAMPAIGND_ROLE=intake", "CAMPAIGND_STOP=orphans_read:1")
	sends := sender.start("CAMPAIGND_ROLE=sender", "CAMPAIGND_STOP=outcome_uncommitted:1")
	sweeps := intake.process()
	c.until(3*time.Minute, "the sender stops before its receipt", sends.stopped)
	c.until(3*time.Minute, "the intake stops in a sweep", sweeps.stopped)
	sends.signal(syscall.SIGCONT)
	c.until(3*time.Minute, "the receipt is committed", func() bool {
		return c.holds("SELECT 1 FROM outcome WHERE message_id IS NOT NULL")
	})
	sweeps.signal(syscall.SIGCONT)
	return c.finished(3*time.Minute, func() []problem { return compare(list, c.lines("latest"), c.sent("order_update")) })
}
