package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"campaignd/campaign"
	"campaignd/internal/ledger"
)

// Claim implements campaign.SendLedger. Segments bound to the connection come before
// unbound ones: they hold retries and doubts. Leases use this host's clock, which is the
// database's clock here.
func (l *Ledger) Claim(ctx context.Context, c campaign.Claim) (leases []campaign.Lease, err error) {
	if c.Max <= 0 || len(c.Runs) == 0 {
		return nil, nil
	}
	if err := l.Restored(ctx); err != nil {
		return nil, err
	}
	asked := time.Now()
	err = l.submit(ctx, &op{urgency: urgent, rows: c.Max, run: func(t *tx) error {
		leases = nil
		now := time.Now()
		for _, no := range c.Runs {
			if len(leases) == c.Max {
				break
			}
			var state campaign.State
			err := t.row(`SELECT state FROM run WHERE no = ?`, args(int64(no)), &state)
			if errors.Is(err, sql.ErrNoRows) {
				continue
			}
			if err != nil {
				return err
			}
			if state != campaign.Ready && state != campaign.Running {
				continue
			}
			var free []campaign.Lease
			if err := t.each(`SELECT id & 0xffffffff, zone, lo, hi, mark, epoch, connection FROM segment
				WHERE run = ?1 AND done = 0 AND lease_until <= ?2 AND wake_at <= ?2 AND connection IN ('', ?3) AND (epoch > 0 OR NOT ?5)
				ORDER BY connection = '', id LIMIT ?4`, args(int64(no), ledger.Millis(now), c.Connection, c.Max-len(leases), c.Begun),
				func(scan func(...any) error) error {
					s := campaign.Lease{Segment: campaign.Segment{Run: no}, Until: asked.Add(c.Lease)}
					err := scan(&s.Index, &s.Group, &s.Lo, &s.Hi, &s.Mark, &s.Epoch, &s.Connection)
					s.Recovered = s.Epoch > 0
					s.Epoch++
					free = append(free, s)
					return err
				}); err != nil {
				return err
			}
			for _, s := range free {
				if _, err := t.exec(`UPDATE segment SET epoch = ?, owner = ?, lease_until = ?,
					intents_since = CASE WHEN intents_since = 0 THEN ? ELSE intents_since END WHERE id = ?`,
					s.Epoch, c.Owner, ledger.Millis(now.Add(c.Lease)), ledger.Millis(now), ledger.SegmentKey(no, s.Index)); err != nil {
					return err
				}
			}
			if len(free) > 0 && state == campaign.Ready {
				if err := t.setState(no, campaign.Running, "", ""); err != nil {
					return err
				}
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
			n, err := t.exec(`UPDATE segment SET lease_until = ? WHERE id = ? AND epoch = ? AND done = 0`, until, ledger.SegmentKey(s.Run, s.Index), s.Epoch)
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

// hold checks that the lease is the segment's current epoch; campaign.ErrFenced otherwise.
func (t *tx) hold(l campaign.Lease) (h ledger.Segment, err error) {
	var epoch int64
	h.Key = ledger.SegmentKey(l.Run, l.Index)
	err = t.row(`SELECT epoch, lo, hi, mark, intents_since FROM segment WHERE id = ?`, args(h.Key), &epoch, &h.Lo, &h.Hi, &h.Mark, &h.Since)
	if errors.Is(err, sql.ErrNoRows) || err == nil && epoch != l.Epoch {
		return h, campaign.ErrFenced
	}
	return h, err
}

// letGo ends the lease: its epoch too, so that whoever still has it is fenced.
const letGo = `UPDATE segment SET epoch = epoch + 1, owner = '', lease_until = 0, done = ?, wake_at = ? WHERE id = ?`

// Release implements campaign.SendLedger. An unposted retry goes back to the attempt it
// came from. What was counted against the run's budget is given back.
func (l *Ledger) Release(ctx context.Context, lease campaign.Lease, unposted []int64) error {
	return l.submit(ctx, &op{urgency: urgent, rows: 1 + len(unposted), run: func(t *tx) error {
		h, err := t.hold(lease)
		if err != nil {
			return err
		}
		now, back := ledger.Millis(time.Now()), int64(0)
		for _, seq := range unposted {
			if seq < h.Lo || seq >= h.Mark {
				continue // its intent was never committed
			}
			n, err := t.exec(`INSERT INTO outcome (rid, state, attempt, next_due, code, result_at) VALUES (?1, 1, 0, ?2, ?3, ?2)
				ON CONFLICT (rid) DO NOTHING`, ledger.RowID(lease.Run, seq), now, ledger.CodeReleased)
			if err != nil {
				return err
			}
			if back += n; n == 1 {
				continue
			}
			n, err = t.exec(`UPDATE outcome SET state = 1, attempt = attempt - 1, next_due = ?2, code = ?3, result_at = ?2, intent_at = 0
				WHERE rid = ?1 AND state = 2 AND attempt = 1`, ledger.RowID(lease.Run, seq), now, ledger.CodeReleased)
			if err != nil {
				return err
			}
			if back += n; n == 1 {
				continue
			}
			// One that was resent may still be adopted: it keeps when it may have been sent.
			if _, err = t.exec(`UPDATE outcome SET state = 1, attempt = attempt - 1, next_due = ?2, code = ?3,
				result_at = CASE WHEN flags & 2 THEN result_at ELSE ?2 END, intent_at = CASE WHEN flags & 2 THEN intent_at ELSE 0 END
				WHERE rid = ?1 AND state = 2`, ledger.RowID(lease.Run, seq), now, ledger.CodeReleased); err != nil {
				return err
			}
		}
		if _, err := t.exec(`UPDATE run_count SET taken = max(0, taken - ?) WHERE no = ?`, back, int64(lease.Run)); err != nil {
			return err
		}
		_, err = t.exec(letGo, false, 0, h.Key)
		return err
	}})
}

// Recover implements campaign.SendLedger.
func (l *Ledger) Recover(ctx context.Context, lease campaign.Lease, at time.Time) (found int, err error) {
	err = l.submit(ctx, &op{urgency: results, rows: campaign.SegmentSize, run: func(t *tx) error {
		h, err := t.hold(lease)
		if err != nil {
			return err
		}
		posted, err := t.exec(`INSERT INTO outcome (rid, state, attempt, result_at, intent_at, key, code)
			SELECT d.rid, 3, 1, ?3, ?4, d.key, ?5 FROM delivery d LEFT JOIN outcome o ON o.rid = d.rid
			WHERE d.rid >= ?1 AND d.rid < ?2 AND o.rid IS NULL`, h.First(), h.Marked(), ledger.Millis(at), h.Since, ledger.CodeInterrupted)
		if err != nil {
			return err
		}
		retried, err := t.exec(`UPDATE outcome SET state = 3, result_at = ?3, code = ?4,
			key = (SELECT key FROM delivery d WHERE d.rid = outcome.rid)
			WHERE rid >= ?1 AND rid < ?2 AND state IN (1, 2, 3) AND state = 2`, h.First(), h.End(), ledger.Millis(at), ledger.CodeInterrupted)
		if err != nil {
			return err
		}
		found = int(posted + retried)
		_, err = t.exec(`UPDATE segment SET intents_since = ? WHERE id = ?`, ledger.Millis(time.Now()), h.Key)
		return err
	}})
	if err != nil {
		return 0, err
	}
	return found, nil
}

// Park implements campaign.SendLedger, by the rule of ledger.Segment.Park.
func (l *Ledger) Park(ctx context.Context, lease campaign.Lease, wake time.Time, doubtWindow time.Duration) (p campaign.Parked, err error) {
	err = l.submit(ctx, &op{urgency: results, rows: 16, run: func(t *tx) error {
		p = campaign.Parked{}
		h, err := t.hold(lease)
		if err != nil {
			return err
		}
		now := time.Now()
		var u ledger.Unsettled
		var below int64
		if err := t.row(`SELECT count(*) FROM outcome WHERE rid >= ? AND rid < ?`, args(h.First(), h.Marked()), &below); err != nil {
			return err
		}
		if err := t.row(`SELECT count(*) FILTER (WHERE state = 1), count(*) FILTER (WHERE state = 2), count(*) FILTER (WHERE state = 3),
			coalesce(min(next_due) FILTER (WHERE state = 1), 0), coalesce(min(result_at) FILTER (WHERE state = 3), 0)
			FROM outcome INDEXED BY outcome_open WHERE rid >= ? AND rid < ? AND state IN (1, 2, 3)`,
			args(h.First(), h.End()), &u.Deferred, &u.Retrying, &u.Doubts, &u.NextDue, &u.DoubtSince); err != nil {
			return err
		}
		u.Missing = h.Mark - h.Lo - below
		p = h.Park(u, now, wake, doubtWindow)
		_, err = t.exec(letGo, p.Done, ledger.Millis(p.Wake), h.Key)
		return err
	}})
	if err != nil {
		return campaign.Parked{}, err
	}
	return p, nil
}

// Deliveries implements campaign.SendLedger.
func (l *Ledger) Deliveries(ctx context.Context, no campaign.RunNo, from, to int64) (all []campaign.Delivery, err error) {
	err = l.read().each(ctx, `SELECT d.rid, d.key, d.row, d.dest, d.cells FROM delivery d LEFT JOIN outcome o ON o.rid = d.rid
		WHERE d.rid >= ? AND d.rid < ? AND o.rid IS NULL ORDER BY d.rid`, args(ledger.RowID(no, from), ledger.RowID(no, to)),
		func(scan func(...any) error) error {
			d, err := ledger.ScanDelivery(scan)
			all = append(all, d)
			return err
		})
	return all, err
}

// Due implements campaign.SendLedger.
func (l *Ledger) Due(ctx context.Context, lease campaign.Lease, now time.Time, n int) (all []campaign.Retry, err error) {
	err = l.read().each(ctx, `SELECT d.rid, d.key, d.row, d.dest, d.cells, o.attempt, o.tries
		FROM outcome o INDEXED BY outcome_open JOIN delivery d ON d.rid = o.rid
		WHERE o.rid >= ? AND o.rid < ? AND o.state IN (1, 2, 3) AND o.state = 1 AND o.next_due <= ? ORDER BY o.next_due, o.rid LIMIT ?`,
		args(ledger.RowID(lease.Run, lease.Lo), ledger.RowID(lease.Run, lease.Hi), ledger.Millis(now), n),
		func(scan func(...any) error) error {
			r := campaign.Retry{}
			d, err := ledger.ScanDelivery(scan, &r.Attempt, &r.Tries)
			r.Delivery = d
			r.Attempt++
			all = append(all, r)
			return err
		})
	return all, err
}
