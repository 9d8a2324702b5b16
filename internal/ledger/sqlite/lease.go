package sqlite

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"time"

	"campaignd/campaign"
	"campaignd/internal/ledger"
)

// Claim implements campaign.SendLedger. Segments of the connection come before those without
// one, because they can have retries and doubts. Leases use this host's clock, which is the
// database's.
func (l *Ledger) Claim(ctx context.Context, c campaign.Claim) (leases []campaign.Lease, err error) {
	if c.Max <= 0 || len(c.Runs) == 0 {
		return nil, nil
	}
	if err := l.Restored(ctx); err != nil {
		return nil, err
	}
	until := time.Now().Add(c.Lease)
	err = l.submit(ctx, &op{urgency: urgent, rows: c.Max, run: func(t *tx) error {
		leases = nil
		now := time.Now()
		for _, no := range c.Runs {
			if len(leases) == c.Max {
				break
			}
			free, err := t.claim(&c, no, c.Max-len(leases), now)
			if err != nil {
				return err
			}
			for i := range free {
				free[i].Until = until
			}
			leases = append(leases, free...)
		}
		return nil
	}})
	if err != nil {
		return nil, err
	}
	return leases, nil
}

// SQLite compiles a statement again for each value of a LIMIT that is a bare parameter, to choose a
// plan for it. `LIMIT +?` does not depend on the value.
const (
	sqlFreeSegments = `SELECT id & 0xffffffff, zone, lo, hi, mark, epoch + 1, connection, moved > 0, bound FROM segment
		WHERE run = ?1 AND done = 0 AND lease_until <= ?2 AND wake_at <= ?2
			AND (connection = ?3 OR connection = '' AND NOT ?6) AND (epoch > 0 OR NOT ?5)
		ORDER BY connection = '', id LIMIT +?4`
	// Any segment of a run that is to be cancelled; ?4 takes live leases too.
	sqlCancelledSegments = `SELECT id & 0xffffffff, zone, lo, hi, mark, epoch + 1, connection, moved > 0, bound FROM segment
		WHERE run = ?1 AND done = 0 AND (lease_until <= ?2 OR ?4) ORDER BY id LIMIT +?3`
	// Until Recover has run, the open rows are those of an earlier owner (granted_by).
	sqlClaim = `UPDATE segment SET granted_by = CASE WHEN epoch = 0 THEN ?2 ELSE granted_by END, epoch = ?1, owner = ?2, lease_until = ?3,
		intents_since = CASE WHEN intents_since = 0 THEN ?4 ELSE intents_since END WHERE id = ?5`
)

const sqlState = `SELECT state, wanted FROM run WHERE no = ?`

// claim leases up to n free segments of a run.
func (t *tx) claim(c *campaign.Claim, no campaign.RunNo, n int, now time.Time) (free []campaign.Lease, err error) {
	var state campaign.State
	var wanted campaign.Wanted
	if err := t.row(sqlState, args(int64(no)), &state, &wanted); errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	} else if err != nil {
		return nil, err
	}
	if !ledger.Claims(c, state, wanted) {
		return nil, nil
	}
	query, a := sqlFreeSegments, args(int64(no), ledger.Millis(now), c.Connection, n, c.Begun, c.SameConnection)
	if c.Cancelled {
		query, a = sqlCancelledSegments, args(int64(no), ledger.Millis(now), n, c.Seize)
	}
	if err := t.each(query, a, func(scan scanFunc) error {
		s, err := ledger.ScanLease(no, scan)
		free = append(free, s)
		return err
	}); err != nil {
		return nil, err
	}
	for _, s := range free {
		if _, err := t.exec(sqlClaim, s.Epoch, c.Owner, ledger.Millis(now.Add(c.Lease)), ledger.Millis(now),
			ledger.SegmentKey(no, s.Index)); err != nil {
			return nil, err
		}
	}
	if len(free) > 0 && state == campaign.Ready {
		return free, t.setState(no, campaign.Running, "", "")
	}
	return free, nil
}

// The runs are a JSON array: one query for all of them, however many there are.
const sqlFreeKinds = `SELECT DISTINCT run, connection, epoch > 0 FROM segment
	WHERE run IN (SELECT value FROM json_each(?1)) AND done = 0 AND lease_until <= ?2 AND wake_at <= ?2`

// FreeSegments implements campaign.SendLedger.
func (l *Ledger) FreeSegments(ctx context.Context, runs []campaign.RunNo) (free []campaign.FreeSegment, err error) {
	nos, err := json.Marshal(runs)
	if err != nil {
		return nil, err
	}
	err = l.read().each(ctx, sqlFreeKinds, args(string(nos), ledger.Millis(time.Now())), list(&free, ledger.ScanFreeSegment))
	return free, err
}

const sqlRenew = `UPDATE segment SET lease_until = ? WHERE id = ? AND epoch = ? AND done = 0`

// Renew implements campaign.SendLedger.
func (l *Ledger) Renew(ctx context.Context, leases []campaign.Lease, d time.Duration) (ours []campaign.Lease, err error) {
	if len(leases) == 0 {
		return nil, nil
	}
	asked := time.Now()
	err = l.submit(ctx, &op{urgency: urgent, rows: len(leases), run: func(t *tx) error {
		ours = nil
		until := ledger.Millis(time.Now().Add(d))
		for _, s := range leases {
			n, err := t.exec(sqlRenew, until, ledger.SegmentKey(s.Run, s.Index), s.Epoch)
			if err != nil {
				return err
			}
			if n == 1 {
				s.Until = asked.Add(d)
				ours = append(ours, s)
			}
		}
		return nil
	}})
	if err != nil {
		return nil, err
	}
	return ours, nil
}

const sqlOwnedSegment = `SELECT epoch, lo, hi, mark, bound, intents_since, granted_by FROM segment WHERE id = ?`

// owned reads the lease's segment; campaign.ErrFenced when the segment has another epoch by now.
func (t *tx) owned(l campaign.Lease) (s ledger.Segment, err error) {
	var epoch int64
	s.Key = ledger.SegmentKey(l.Run, l.Index)
	err = t.row(sqlOwnedSegment, args(s.Key), &epoch, &s.Lo, &s.Hi, &s.Mark, &s.Bound, &s.Since, &s.GrantedBy)
	if errors.Is(err, sql.ErrNoRows) || err == nil && epoch != l.Epoch {
		return s, campaign.ErrFenced
	}
	return s, err
}

// sqlEndLease ends a lease and its epoch, so that its owner is fenced from now on.
const sqlEndLease = `UPDATE segment SET epoch = epoch + 1, owner = '', lease_until = 0, done = ?, wake_at = ? WHERE id = ?`

const (
	sqlDeferUnposted = `INSERT INTO outcome (rid, state, attempt, next_due, code, result_at)
		VALUES (?1, 1 /* deferred */, 0, ?2, ?3, ?2) ON CONFLICT (rid) DO NOTHING`
	sqlUndoRetry = `UPDATE outcome SET state = 1 /* deferred */, attempt = attempt - 1, next_due = ?2, code = ?3,
			result_at = ?2, intent_at = 0
		WHERE rid = ?1 AND state = 2 /* retrying */ AND (attempt = 1) = ?4`
	sqlGiveBackBudget = `UPDATE run_count SET taken = max(0, taken - ?) WHERE no = ?`
)

// Release implements campaign.SendLedger. An unposted retry returns to the attempt before it, and
// the run's budget no longer counts the unposted deliveries.
func (l *Ledger) Release(ctx context.Context, lease campaign.Lease, unposted []int64) error {
	return l.submit(ctx, &op{urgency: urgent, rows: 1 + len(unposted), run: func(t *tx) error {
		s, err := t.owned(lease)
		if err != nil {
			return err
		}
		now, back := ledger.Millis(time.Now()), int64(0)
		rids := s.Granted(unposted)
		for _, rid := range rids {
			first, err := t.undo(rid, now)
			if err != nil {
				return err
			}
			if first {
				back++
			}
		}
		if err := t.giveBack(rids...); err != nil {
			return err
		}
		if _, err := t.exec(sqlGiveBackBudget, back, int64(lease.Run)); err != nil {
			return err
		}
		_, err = t.exec(sqlEndLease, false, 0, s.Key)
		return err
	}})
}

// undo takes the unposted attempt of a delivery back. It reports whether that was the first
// attempt, which the budget counted.
func (t *tx) undo(rid, now int64) (first bool, err error) {
	t.recount(rid)
	if n, err := t.exec(sqlDeferUnposted, rid, now, ledger.CodeReleased); err != nil || n == 1 {
		return err == nil, err
	}
	if n, err := t.exec(sqlUndoRetry, rid, now, ledger.CodeReleased, true); err != nil || n == 1 {
		return err == nil, err
	}
	_, err = t.exec(sqlUndoRetry, rid, now, ledger.CodeReleased, false)
	return false, err
}

const (
	sqlDoubtPosted = `INSERT INTO outcome (rid, state, attempt, result_at, intent_at, code, granted_by)
		SELECT d.rid, 3 /* in doubt */, 1, ?3, ?4, ?5, ?6 FROM delivery d LEFT JOIN outcome o ON o.rid = d.rid
		WHERE d.rid >= ?1 AND d.rid < ?2 AND o.rid IS NULL`
	sqlDoubtRetried = `UPDATE outcome SET state = 3 /* in doubt */, result_at = ?3, code = ?4, granted_by = ?5
		WHERE rid >= ?1 AND rid < ?2 AND state IN (1, 2, 3) /* open */ AND state = 2 /* retrying */`
	sqlRecovered = `UPDATE segment SET intents_since = ?, granted_by = owner WHERE id = ?`
)

// Recover implements campaign.SendLedger.
func (l *Ledger) Recover(ctx context.Context, lease campaign.Lease, at time.Time) (found int, err error) {
	err = l.submit(ctx, &op{urgency: results, rows: campaign.SegmentSize, run: func(t *tx) error {
		s, err := t.owned(lease)
		if err != nil {
			return err
		}
		t.recount(s.First())
		posted, err := t.exec(sqlDoubtPosted, s.First(), s.Marked(), ledger.Millis(at), s.Since, ledger.CodeInterrupted, s.GrantedBy)
		if err != nil {
			return err
		}
		retried, err := t.exec(sqlDoubtRetried, s.First(), s.End(), ledger.Millis(at), ledger.CodeInterrupted, s.GrantedBy)
		if err != nil {
			return err
		}
		found = int(posted + retried)
		if _, err := t.exec(sqlOpenAttempts, s.First(), s.End()); err != nil {
			return err
		}
		_, err = t.exec(sqlRecovered, ledger.Millis(time.Now()), s.Key)
		return err
	}})
	if err != nil {
		return 0, err
	}
	return found, nil
}

const (
	sqlCountOutcomes = `SELECT count(*) FROM outcome WHERE rid >= ? AND rid < ?`
	sqlUnfinished    = `SELECT
			count(*) FILTER (WHERE state = 1 /* deferred */), count(*) FILTER (WHERE state = 2 /* retrying */),
			count(*) FILTER (WHERE state = 3 /* in doubt */), coalesce(min(next_due) FILTER (WHERE state = 1 /* deferred */), 0),
			coalesce(min(result_at) FILTER (WHERE state = 3 /* in doubt */), 0)
		FROM outcome INDEXED BY outcome_open WHERE rid >= ? AND rid < ? AND state IN (1, 2, 3) /* open */`
)

// Park implements campaign.SendLedger, by the rule of ledger.Segment.Park.
func (l *Ledger) Park(
	ctx context.Context, lease campaign.Lease, wake time.Time, ends func(since time.Time) time.Time,
) (p campaign.Parked, err error) {
	err = l.submit(ctx, &op{urgency: results, rows: 16, run: func(t *tx) error {
		p = campaign.Parked{}
		s, err := t.owned(lease)
		if err != nil {
			return err
		}
		now := time.Now()
		var u ledger.Unfinished
		var below int64
		if err := t.row(sqlCountOutcomes, args(s.First(), s.Marked()), &below); err != nil {
			return err
		}
		if err := t.row(sqlUnfinished, args(s.First(), s.End()),
			&u.Deferred, &u.Retrying, &u.Doubts, &u.NextDue, &u.DoubtSince); err != nil {
			return err
		}
		u.Missing = s.Mark - s.Lo - below
		p = s.Park(u, now, wake, ends)
		_, err = t.exec(sqlEndLease, p.Done, ledger.Millis(p.Wake), s.Key)
		return err
	}})
	if err != nil {
		return campaign.Parked{}, err
	}
	return p, nil
}
