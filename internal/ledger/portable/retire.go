package portable

import (
	"context"
	"time"

	"campaignd/internal/ledger"
	"campaignd/recipients"
)

const (
	sqlRetire          = `INSERT INTO retired (segment, rows, at) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING`
	sqlRetirePrices    = `DELETE FROM price WHERE mh IN (SELECT mh FROM outcome WHERE rid >= $1 AND rid < $2 AND mh <> 0)`
	sqlRetireOutcomes  = `DELETE FROM outcome WHERE rid >= $1 AND rid < $2`
	sqlRetireAttempts  = `DELETE FROM attempt WHERE rid >= $1 AND rid < $2`
	sqlRetireRepeats   = `DELETE FROM repeat WHERE rid >= $1 AND rid < $2`
	sqlRetireFollowUps = `DELETE FROM follow_up WHERE parent = $3 AND key IN (SELECT key FROM delivery WHERE rid >= $1 AND rid < $2)`
	sqlRetireRows      = `DELETE FROM delivery WHERE rid >= $1 AND rid < $2`
	sqlRetireRun       = `UPDATE run SET retired_rows = retired_rows + $2, retired_at = $3 WHERE no = $1`
)

// Retire implements campaign.RetentionLedger. The space that becomes free is used again: in SQLite
// by the next imports, while the file does not shrink; on a server when autovacuum has passed.
func (l *Ledger) Retire(ctx context.Context, before time.Time) (rows int64, err error) {
	found, err := list(ctx, l.db, Reports, ledger.ScanSegment, l.own.Retirable, ledger.Millis(before))
	if err != nil {
		return 0, err
	}
	if len(found) == 0 {
		return 0, l.forgetOld(ctx, before)
	}
	s, now := found[0], ledger.Millis(time.Now())
	err = l.db.Change(ctx, Reports, func(t Tx) error {
		ours, err := t.Exec(sqlRetire, s.Key, s.Hi-s.Lo, now)
		if err != nil || ours == 0 {
			return err // another process has just deleted them, or an earlier try did
		}
		if err := forgetPart(t, s.Key); err != nil {
			return err
		}
		if _, err := t.Exec(sqlRetirePrices, s.First(), s.End()); err != nil {
			return err
		}
		if err := l.keepRetired(t, s.Key); err != nil {
			return err
		}
		if _, err := t.Exec(l.own.RetireTotals, s.First(), s.End(), s.Key); err != nil {
			return err
		}
		if _, err := t.Exec(sqlRetireFollowUps, s.First(), s.End(), int64(ledger.RunOf(s.Key))); err != nil {
			return err
		}
		if _, err := t.Exec(l.own.RetireSenders, s.First(), s.End(), ledger.Millis(before)); err != nil {
			return err
		}
		for _, remove := range []string{sqlRetireOutcomes, sqlRetireAttempts, sqlRetireRepeats, sqlRetireRows} {
			if _, err := t.Exec(remove, s.First(), s.End()); err != nil {
				return err
			}
		}
		_, err = t.Exec(sqlRetireRun, int64(ledger.RunOf(s.Key)), s.Hi-s.Lo, now)
		return err
	})
	return s.Hi - s.Lo, err
}

const (
	sqlLockOutcomes = `SELECT rid FROM outcome WHERE rid >= $1 AND rid < $2 ORDER BY rid`
	// The arguments are those of sqlKeepSummary; nobody counts the segment any more.
	sqlKeepRetired = `INSERT INTO summary (segment, token, mark, hi, connection, counts, course) VALUES ($1, $2, $3, $4, $5, $6, $7)
		ON CONFLICT (segment) DO UPDATE SET token = excluded.token, mark = excluded.mark, hi = excluded.hi,
			connection = excluded.connection, counts = excluded.counts, course = excluded.course`
)

// keepRetired keeps the summary of a segment whose deliveries the transaction deletes. No status
// changes an outcome after the lock.
func (l *Ledger) keepRetired(t Tx, id int64) error {
	var found []ledger.CountedSegment
	if err := t.Each(add(&found, ledger.ScanCountedSegment), sqlCountedSegment, id); err != nil || len(found) == 0 {
		return err
	}
	s := &found[0]
	if err := t.Lock(func(scan Scan) error {
		_, err := scanID(scan)
		return err
	}, sqlLockOutcomes, s.First(), s.End()); err != nil {
		return err
	}
	sum, err := l.countSegment(t.Each, s, recipients.NewCountries(), true)
	if err == nil {
		err = storeSummary(t, sqlKeepRetired, 0, s, &sum)
	}
	if err == nil {
		_, err = t.Exec(sqlForgetChanged, id)
	}
	return err
}

const (
	sqlOldPairs = `DELETE FROM user_pair WHERE (user_id, key) IN (SELECT user_id, key FROM user_pair WHERE at < $1 LIMIT $2)`
	// Orders that no run counts go. The others stay for the sums, without their number.
	sqlOldPurchases = `DELETE FROM purchase WHERE id IN (SELECT id FROM purchase p WHERE updated_at < $1
		AND NOT EXISTS (SELECT 1 FROM conversion c WHERE c.order_id = p.id) LIMIT $2)`
	sqlOldBuyers = `UPDATE purchase SET key = 0 WHERE id IN (SELECT id FROM purchase WHERE updated_at < $1 AND key <> 0 LIMIT $2)`
	sqlOldUnread = `DELETE FROM unread_order WHERE id IN (SELECT id FROM unread_order WHERE at < $1 LIMIT $2)`
	sqlOldLinks  = `DELETE FROM payment_link WHERE order_id IN (SELECT order_id FROM payment_link WHERE made_at < $1 LIMIT $2)`
	sqlOldLanes  = `DELETE FROM lane_history WHERE (run, connection, owner, at) IN (
		SELECT run, connection, owner, at FROM lane_history WHERE at < $1 LIMIT $2)`
)

// forgetOld deletes the pairs that were told last, the orders that changed last, the payment links
// that were made, and what limited lanes, before an instant.
func (l *Ledger) forgetOld(ctx context.Context, before time.Time) error {
	for _, forget := range []string{sqlOldPairs, sqlOldPurchases, sqlOldBuyers, sqlOldUnread, sqlOldLinks, sqlOldLanes} {
		for n := int64(1); n > 0; {
			var err error
			if n, err = l.exec(ctx, Reports, forget, ledger.Millis(before), int64(ledger.SweepStep)); err != nil {
				return err
			}
		}
	}
	return nil
}
