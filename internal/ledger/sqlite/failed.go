package sqlite

import (
	"context"
	"time"

	"campaignd/campaign"
	"campaignd/internal/ledger"
)

const (
	// Segments of failed runs in which something is queued, and which nobody serves.
	sqlFailedSegments = `SELECT s.id, s.lo, s.hi, s.mark, s.intents_since FROM run r
		CROSS JOIN segment s INDEXED BY segment_undone ON s.run = r.no
		WHERE r.state = 'failed' AND s.done = 0 AND s.lease_until <= ?1 AND (s.mark < s.hi OR EXISTS (SELECT 1 FROM outcome
			WHERE rid >= (s.run << 32) + s.lo AND rid < (s.run << 32) + s.hi AND state = 1 /* deferred */)) LIMIT +?2`
	sqlEndFailed = `UPDATE segment SET done = 1 WHERE id = ?1 AND hi - lo = (SELECT count(*) FROM outcome
		WHERE rid >= ?2 AND rid < ?3 AND state NOT IN (1, 2, 3) /* open */)`
)

// skipFailed skips what is queued of failed runs: run_failed. A transaction takes one segment,
// because intents wait for the writer. A call that is interrupted is completed by the next
// FinishRuns.
func (l *Ledger) skipFailed(ctx context.Context) error {
	for {
		var found []ledger.Segment
		a := args(ledger.Millis(time.Now()), ledger.FailedStep)
		if err := l.read().each(ctx, sqlFailedSegments, a, list(&found, ledger.ScanSegment)); err != nil || len(found) == 0 {
			return err
		}
		for _, s := range found {
			if err := l.submit(ctx, &op{urgency: results, rows: campaign.SegmentSize, run: func(t *tx) error {
				t.recount(s.First())
				now, why := ledger.Millis(time.Now()), string(campaign.RunFailed)
				if _, err := t.exec(sqlSkipQueued, s.Marked(), s.End(), why, now); err != nil {
					return err
				}
				if _, err := t.exec(sqlSkipDeferred, s.First(), s.End(), why, now, true); err != nil {
					return err
				}
				if _, err := t.exec(sqlMarkEnd, s.Key); err != nil {
					return err
				}
				_, err := t.exec(sqlEndFailed, s.Key, s.First(), s.End())
				return err
			}}); err != nil {
				return err
			}
		}
	}
}
