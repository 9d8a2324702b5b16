package postgres

import (
	"context"
	"time"

	"campaignd/campaign"
	"campaignd/internal/ledger"
)

const (
	// Segments of failed runs in which something is queued, and which nobody serves.
	sqlFailedSegments = `SELECT s.id, s.lo, s.hi, s.mark, s.intents_since FROM run r JOIN segment s ON s.run = r.no
		WHERE r.state = 'failed' AND NOT s.done AND s.lease_until <= ledger_now() AND (s.mark < s.hi OR EXISTS (SELECT 1 FROM outcome
			WHERE rid >= (s.run << 32) + s.lo AND rid < (s.run << 32) + s.hi AND state = 1 /* deferred */)) LIMIT $1`
	sqlLockSegment = `SELECT id FROM segment WHERE id = $1 FOR UPDATE`
	sqlEndFailed   = `UPDATE segment SET done = true WHERE id = $1 AND hi - lo = (SELECT count(*) FROM outcome
		WHERE rid >= $2 AND rid < $3 AND state NOT IN (1, 2, 3) /* open */)`
)

// skipFailed skips what is queued of failed runs: run_failed. A transaction takes one segment. A
// call that is interrupted is completed by the next FinishRuns.
func (l *Ledger) skipFailed(ctx context.Context) error {
	for {
		var found []ledger.Segment
		if err := l.read(ctx, l.sender, list(&found, ledger.ScanSegment, sqlFailedSegments, ledger.FailedStep)); err != nil || len(found) == 0 {
			return err
		}
		for _, s := range found {
			if err := l.change(ctx, l.sender, "", func(t *tx) error {
				t.recount(s.First())
				now, why := ledger.Millis(time.Now()), string(campaign.RunFailed)
				return t.do(
					stmt(nil, sqlLockSegment, s.Key),
					stmt(nil, sqlSkipDeferred, s.First(), s.End(), why, now, true),
					stmt(nil, sqlSkipQueued, s.Marked(), s.End(), why, now),
					stmt(nil, sqlMarkEnd, s.Key),
					stmt(nil, sqlEndFailed, s.Key, s.First(), s.End()))
			}); err != nil {
				return err
			}
			l.marks.forget(s.Key)
		}
	}
}
