package sqlite

import (
	"context"
	"time"

	"campaignd/internal/ledger"
)

const (
	// The follow-up runs come after their parent: their recipients keep it from a second one.
	sqlRetirable = `SELECT s.id, s.lo, s.hi, s.mark, s.intents_since FROM run r JOIN run_count n ON n.no = r.no
		JOIN segment s ON s.id = (SELECT x.id FROM segment x WHERE x.id >= r.no << 32 AND x.id < (r.no + 1) << 32 AND x.done
			AND NOT EXISTS (SELECT 1 FROM retired t WHERE t.segment = x.id) ORDER BY x.id LIMIT 1)
		WHERE r.retired_rows < n.rows AND r.ended_at > 0 AND r.ended_at < ?1 AND n.event_at < ?1
			AND NOT EXISTS (SELECT 1 FROM run p JOIN run_count pn ON pn.no = p.no WHERE p.no = r.parent AND p.retired_rows < pn.rows)
			AND NOT EXISTS (SELECT 1 FROM run c WHERE c.parent = r.no AND c.ended_at = 0)
		ORDER BY r.no LIMIT 1`
	sqlRetire       = `INSERT INTO retired (segment, rows, at) VALUES (?, ?, ?) ON CONFLICT DO NOTHING`
	sqlRetireTotals = `INSERT INTO retired_total (segment, state, rank, code, n, sent, failed, adopted, duplicate, ambiguous)
		SELECT ?1, state, rank, CASE WHEN state >= 6 /* refused */ THEN code WHEN rank = 2 /* failed */ THEN fail_code ELSE '' END, count(*),
			sum(sent_at > 0), sum(failed_at > 0), sum(flags & 1 /* adopted */),
			sum(flags & 2 /* may be a duplicate */) / 2, sum(flags & 8 /* ambiguous */) / 8
		FROM outcome WHERE rid >= ?2 AND rid < ?3 GROUP BY 2, 3, 4`
	sqlRetireOutcomes  = `DELETE FROM outcome WHERE rid >= ? AND rid < ?`
	sqlRetireAttempts  = `DELETE FROM attempt WHERE rid >= ? AND rid < ?`
	sqlRetireFollowUps = `DELETE FROM follow_up WHERE parent = ?3 AND key IN (SELECT key FROM delivery WHERE rid >= ?1 AND rid < ?2)`
	sqlRetireSenders   = `DELETE FROM sender WHERE at < ?3 AND key IN (SELECT key FROM delivery WHERE rid >= ?1 AND rid < ?2)`
	sqlRetireRows      = `DELETE FROM delivery WHERE rid >= ? AND rid < ?`
	sqlRetireRun       = `UPDATE run SET retired_rows = retired_rows + ?2, retired_at = ?3 WHERE no = ?1`
)

// Retire implements campaign.RetentionLedger. The pages that become free are used again by the next
// imports; the file does not shrink.
func (l *Ledger) Retire(ctx context.Context, before time.Time) (rows int64, err error) {
	var found []ledger.Segment
	err = l.read().each(ctx, sqlRetirable, args(ledger.Millis(before)), list(&found, ledger.ScanSegment))
	if err != nil {
		return 0, err
	}
	if len(found) == 0 {
		return 0, l.forgetPairs(ctx, before)
	}
	s, now := found[0], ledger.Millis(time.Now())
	err = l.submit(ctx, &op{urgency: bulk, rows: int(s.Hi - s.Lo), run: func(t *tx) error {
		ours, err := t.exec(sqlRetire, s.Key, s.Hi-s.Lo, now)
		if err != nil || ours == 0 {
			return err // another process has just deleted them
		}
		if _, err := t.exec(sqlRetireTotals, s.Key, s.First(), s.End()); err != nil {
			return err
		}
		if _, err := t.exec(sqlRetireFollowUps, s.First(), s.End(), int64(ledger.RunOf(s.Key))); err != nil {
			return err
		}
		if _, err := t.exec(sqlRetireSenders, s.First(), s.End(), ledger.Millis(before)); err != nil {
			return err
		}
		for _, remove := range []string{sqlRetireOutcomes, sqlRetireAttempts, sqlRetireRows} {
			if _, err := t.exec(remove, s.First(), s.End()); err != nil {
				return err
			}
		}
		_, err = t.exec(sqlRetireRun, int64(ledger.RunOf(s.Key)), s.Hi-s.Lo, now)
		return err
	}})
	return s.Hi - s.Lo, err
}
