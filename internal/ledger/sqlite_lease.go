package ledger

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"campaignd/campaign"
	"campaignd/internal/mutant"
)

// Claim implements campaign.SendLedger. Segments bound to the connection come before
// unbound ones: they hold retries and doubts. Leases use this host's clock, which is the
// database's clock here.
func (l *SQLite) Claim(ctx context.Context, c campaign.Claim) (leases []campaign.Lease, err error) {
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
				ORDER BY connection = '', id LIMIT ?4`, args(int64(no), millis(now), c.Connection, c.Max-len(leases), c.Begun),
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
					s.Epoch, c.Owner, millis(now.Add(c.Lease)), millis(now), segmentID(no, s.Index)); err != nil {
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
func (l *SQLite) Renew(ctx context.Context, leases []campaign.Lease, d time.Duration) (ours []campaign.Lease, err error) {
	if len(leases) == 0 {
		return nil, nil
	}
	asked := time.Now()
	err = l.submit(ctx, &op{urgency: urgent, rows: len(leases), run: func(t *tx) error {
		ours = nil
		until := millis(time.Now().Add(d))
		for _, s := range leases {
			n, err := t.exec(`UPDATE segment SET lease_until = ? WHERE id = ? AND epoch = ? AND done = 0`, until, segmentID(s.Run, s.Index), s.Epoch)
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

// held is a segment whose epoch the transaction has checked.
type held struct {
	id, lo, hi, mark, since int64
}

// advance moves the mark up by ahead deliveries, for a ledger that went back in time. It returns since when what was in flight
// may have been posted, and the flags of what the mark passed now.
func (h *held) advance(bound bool, ahead, since int64) (first int64, flags int) {
	h.mark = min(h.hi, h.mark+ahead)
	if first = since; h.since > 0 {
		first = min(first, h.since)
	}
	if !bound {
		flags = flagAnyConnection
	}
	return first, flags
}

// hold checks that the lease is the segment's current epoch; campaign.ErrFenced otherwise.
func (t *tx) hold(l campaign.Lease) (h held, err error) {
	var epoch int64
	h.id = segmentID(l.Run, l.Index)
	err = t.row(`SELECT epoch, lo, hi, mark, intents_since FROM segment WHERE id = ?`, args(h.id), &epoch, &h.lo, &h.hi, &h.mark, &h.since)
	if errors.Is(err, sql.ErrNoRows) || err == nil && epoch != l.Epoch {
		return h, campaign.ErrFenced
	}
	return h, err
}

// first and end are the rids at the segment's borders; marked is that of its mark.
func (h held) first() int64  { return rid(runOf(h.id), h.lo) }
func (h held) end() int64    { return rid(runOf(h.id), h.hi) }
func (h held) marked() int64 { return rid(runOf(h.id), h.mark) }

// letGo ends the lease: its epoch too, so that whoever still has it is fenced.
const letGo = `UPDATE segment SET epoch = epoch + 1, owner = '', lease_until = 0, done = ?, wake_at = ? WHERE id = ?`

// Release implements campaign.SendLedger. An unposted retry goes back to the attempt it
// came from. What was counted against the run's budget is given back.
func (l *SQLite) Release(ctx context.Context, lease campaign.Lease, unposted []int64) error {
	return l.submit(ctx, &op{urgency: urgent, rows: 1 + len(unposted), run: func(t *tx) error {
		h, err := t.hold(lease)
		if err != nil {
			return err
		}
		now, back := millis(time.Now()), int64(0)
		for _, seq := range unposted {
			if seq < h.lo || seq >= h.mark {
				continue // its intent was never committed
			}
			n, err := t.exec(`INSERT INTO outcome (rid, state, attempt, next_due, code, result_at) VALUES (?1, 1, 0, ?2, ?3, ?2)
				ON CONFLICT (rid) DO NOTHING`, rid(lease.Run, seq), now, codeReleased)
			if err != nil {
				return err
			}
			if back += n; n == 1 {
				continue
			}
			n, err = t.exec(`UPDATE outcome SET state = 1, attempt = attempt - 1, next_due = ?2, code = ?3, result_at = ?2, intent_at = 0
				WHERE rid = ?1 AND state = 2 AND attempt = 1`, rid(lease.Run, seq), now, codeReleased)
			if err != nil {
				return err
			}
			if back += n; n == 1 {
				continue
			}
			// One that was resent may still be adopted: it keeps when it may have been sent.
			if _, err = t.exec(`UPDATE outcome SET state = 1, attempt = attempt - 1, next_due = ?2, code = ?3,
				result_at = CASE WHEN flags & 2 THEN result_at ELSE ?2 END, intent_at = CASE WHEN flags & 2 THEN intent_at ELSE 0 END
				WHERE rid = ?1 AND state = 2`, rid(lease.Run, seq), now, codeReleased); err != nil {
				return err
			}
		}
		if _, err := t.exec(`UPDATE run_count SET taken = max(0, taken - ?) WHERE no = ?`, back, int64(lease.Run)); err != nil {
			return err
		}
		_, err = t.exec(letGo, false, 0, h.id)
		return err
	}})
}

// Recover implements campaign.SendLedger.
func (l *SQLite) Recover(ctx context.Context, lease campaign.Lease, at time.Time) (found int, err error) {
	err = l.submit(ctx, &op{urgency: results, rows: campaign.SegmentSize, run: func(t *tx) error {
		h, err := t.hold(lease)
		if err != nil {
			return err
		}
		posted, err := t.exec(`INSERT INTO outcome (rid, state, attempt, result_at, intent_at, key, code)
			SELECT d.rid, 3, 1, ?3, ?4, d.key, ?5 FROM delivery d LEFT JOIN outcome o ON o.rid = d.rid
			WHERE d.rid >= ?1 AND d.rid < ?2 AND o.rid IS NULL`, h.first(), h.marked(), millis(at), h.since, codeInterrupted)
		if err != nil {
			return err
		}
		retried, err := t.exec(`UPDATE outcome SET state = 3, result_at = ?3, code = ?4,
			key = (SELECT key FROM delivery d WHERE d.rid = outcome.rid)
			WHERE rid >= ?1 AND rid < ?2 AND state IN (1, 2, 3) AND state = 2`, h.first(), h.end(), millis(at), codeInterrupted)
		if err != nil {
			return err
		}
		found = int(posted + retried)
		_, err = t.exec(`UPDATE segment SET intents_since = ? WHERE id = ?`, millis(time.Now()), h.id)
		return err
	}})
	if err != nil {
		return 0, err
	}
	return found, nil
}

// Park implements campaign.SendLedger. Deliveries below the mark whose results are not
// recorded yet keep the segment open and wake it at once, whatever wake says: if their
// owner dies now, somebody must find them.
func (l *SQLite) Park(ctx context.Context, lease campaign.Lease, wake time.Time, doubtWindow time.Duration) (p campaign.Parked, err error) {
	err = l.submit(ctx, &op{urgency: results, rows: 16, run: func(t *tx) error {
		p = campaign.Parked{}
		h, err := t.hold(lease)
		if err != nil {
			return err
		}
		now := time.Now()
		var below, waiting, flying, doubts, due, since int64
		if err := t.row(`SELECT count(*) FROM outcome WHERE rid >= ? AND rid < ?`, args(h.first(), h.marked()), &below); err != nil {
			return err
		}
		if err := t.row(`SELECT count(*) FILTER (WHERE state = 1), count(*) FILTER (WHERE state = 2), count(*) FILTER (WHERE state = 3),
			coalesce(min(next_due) FILTER (WHERE state = 1), 0), coalesce(min(result_at) FILTER (WHERE state = 3), 0)
			FROM outcome INDEXED BY outcome_open WHERE rid >= ? AND rid < ? AND state IN (1, 2, 3)`,
			args(h.first(), h.end()), &waiting, &flying, &doubts, &due, &since); err != nil {
			return err
		}
		if mutant.On("doubts_not_claimable") {
			doubts = 0
		}
		missing := h.mark - h.lo - below
		p.Done = h.mark == h.hi && missing == 0 && waiting == 0 && flying == 0 && doubts == 0
		switch {
		case p.Done:
		case missing > 0 || flying > 0:
			p.Wake = now
		case !wake.IsZero():
			p.Wake = wake
		case h.mark < h.hi:
			p.Wake = now
		default:
			if waiting > 0 {
				p.Wake = timeOf(due)
			}
			if begun := timeOf(since).Add(doubtWindow); doubts > 0 && (p.Wake.IsZero() || begun.Before(p.Wake)) {
				p.Wake = begun
			}
		}
		p.Wake = timeOf(millis(p.Wake))
		_, err = t.exec(letGo, p.Done, millis(p.Wake), h.id)
		return err
	}})
	if err != nil {
		return campaign.Parked{}, err
	}
	return p, nil
}

// Deliveries implements campaign.SendLedger.
func (l *SQLite) Deliveries(ctx context.Context, no campaign.RunNo, from, to int64) (all []campaign.Delivery, err error) {
	err = l.read().each(ctx, `SELECT d.rid, d.key, d.row, d.dest, d.cells FROM delivery d LEFT JOIN outcome o ON o.rid = d.rid
		WHERE d.rid >= ? AND d.rid < ? AND o.rid IS NULL ORDER BY d.rid`, args(rid(no, from), rid(no, to)),
		func(scan func(...any) error) error {
			d, err := scanDelivery(scan)
			all = append(all, d)
			return err
		})
	return all, err
}

// Due implements campaign.SendLedger.
func (l *SQLite) Due(ctx context.Context, lease campaign.Lease, now time.Time, n int) (all []campaign.Retry, err error) {
	err = l.read().each(ctx, `SELECT d.rid, d.key, d.row, d.dest, d.cells, o.attempt, o.tries
		FROM outcome o INDEXED BY outcome_open JOIN delivery d ON d.rid = o.rid
		WHERE o.rid >= ? AND o.rid < ? AND o.state IN (1, 2, 3) AND o.state = 1 AND o.next_due <= ? ORDER BY o.next_due, o.rid LIMIT ?`,
		args(rid(lease.Run, lease.Lo), rid(lease.Run, lease.Hi), millis(now), n),
		func(scan func(...any) error) error {
			r := campaign.Retry{}
			d, err := scanDelivery(scan, &r.Attempt, &r.Tries)
			r.Delivery = d
			r.Attempt++
			all = append(all, r)
			return err
		})
	return all, err
}
