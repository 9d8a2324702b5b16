package postgres

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"campaignd/campaign"
	"campaignd/internal/ledger"
	"campaignd/internal/mutant"

	"github.com/jackc/pgx/v5"
)

// claimSegments leases free segments of one run. What another replica is claiming in this
// instant is passed over, not waited for. The list is made once, apart: a planner that
// asked for it again and again would lock more than it takes.
const claimSegments = `WITH free AS MATERIALIZED (
		SELECT id FROM segment WHERE run = $1 AND NOT done AND lease_until <= ledger_now() AND wake_at <= ledger_now()
		AND connection IN ('', $2) AND (epoch > 0 OR NOT $3) ORDER BY connection = '', id LIMIT $4 FOR NO KEY UPDATE SKIP LOCKED)
	UPDATE segment s SET epoch = s.epoch + 1, owner = $5, lease_until = ledger_now() + $6,
		intents_since = CASE WHEN s.intents_since = 0 THEN ledger_now() ELSE s.intents_since END
	WHERE s.id = ANY(ARRAY(SELECT id FROM free))
	RETURNING s.id & 4294967295, s.zone, s.lo, s.hi, s.mark, s.epoch, s.connection`

// claimable names, in the order asked for, the runs that have something free.
const claimable = `SELECT w.no FROM unnest($1::bigint[]) WITH ORDINALITY w (no, i) JOIN run r ON r.no = w.no
	WHERE r.state IN ('ready', 'running') AND EXISTS (SELECT 1 FROM segment WHERE run = w.no AND NOT done AND lease_until <= ledger_now()
	AND wake_at <= ledger_now() AND connection IN ('', $2) AND (epoch > 0 OR NOT $3)) ORDER BY w.i`

// Claim implements campaign.SendLedger. Segments bound to the connection come before
// unbound ones: they hold retries and doubts. Leases use the server's clock; Until is
// counted by this host's from before the request, so that it ends earlier here than there.
func (l *Ledger) Claim(ctx context.Context, c campaign.Claim) (leases []campaign.Lease, err error) {
	if c.Max <= 0 || len(c.Runs) == 0 {
		return nil, nil
	}
	if err := l.checkIdentity(ctx); err != nil {
		return nil, err
	}
	connection, owner := plainText(c.Connection), plainText(c.Owner)
	var nos []int64
	var timeline int64
	if err := l.read(ctx, l.sender, list(&nos, func(scan func(...any) error) (no int64, err error) {
		err = scan(&no)
		return no, err
	}, claimable, runNos(c.Runs), connection, c.Begun),
		// A proxy may have led this connection to a promoted standby without our noticing.
		row(&timeline, `SELECT ('x' || left(pg_walfile_name(pg_current_wal_lsn()), 8))::bit(32)::bigint`)); err != nil {
		return nil, err
	}
	if timeline != l.identity.Load().timeline {
		l.identityChanged.Store(true)
		if err := l.checkIdentity(ctx); err != nil {
			return nil, err
		}
	}
	if len(nos) == 0 {
		return nil, nil
	}
	err = l.change(ctx, l.sender, "", func(t *tx) error {
		if l.identityChanged.Load() {
			return errIdentityChanged
		}
		leases = nil
		asked := time.Now()
		for _, no := range nos {
			if len(leases) >= c.Max {
				break
			}
			var free []campaign.Lease
			// The run before its segments, as SetWanted takes them.
			if err := t.do(startRun(no), each(func(scan func(...any) error) error {
				s := campaign.Lease{Segment: campaign.Segment{Run: campaign.RunNo(no)}, Until: asked.Add(c.Lease)}
				err := scan(&s.Index, &s.Group, &s.Lo, &s.Hi, &s.Mark, &s.Epoch, &s.Connection)
				s.Recovered = s.Epoch > 1
				free = append(free, s)
				return err
			}, claimSegments, no, connection, c.Begun, c.Max-len(leases), owner, c.Lease.Milliseconds())); err != nil {
				return err
			}
			slices.SortFunc(free, func(a, b campaign.Lease) int {
				return cmp.Or(cmp.Compare(b.Connection, a.Connection), cmp.Compare(a.Index, b.Index))
			})
			for i := range free {
				id := ledger.SegmentKey(free[i].Run, free[i].Index)
				a, lost := l.marks.behind(id, free[i].Mark)
				if !lost {
					leases = append(leases, free[i])
				} else if err := l.raise(t, id, a); err != nil { // the next claim takes it, and recovers
					return err
				}
			}
		}
		return nil
	})
	if errors.Is(err, errIdentityChanged) {
		return nil, l.checkIdentity(ctx) // nothing this time
	}
	if err != nil {
		return nil, err
	}
	return leases, nil
}

func runNos(nos []campaign.RunNo) []int64 {
	all := make([]int64, len(nos))
	for i, no := range nos {
		all[i] = int64(no)
	}
	return all
}

// Renew implements campaign.SendLedger.
func (l *Ledger) Renew(ctx context.Context, leases []campaign.Lease, d time.Duration) (ours []campaign.Lease, err error) {
	if len(leases) == 0 {
		return nil, nil
	}
	var ids, epochs []int64
	for _, s := range leases {
		ids, epochs = append(ids, ledger.SegmentKey(s.Run, s.Index)), append(epochs, s.Epoch)
	}
	err = l.change(ctx, l.sender, "", func(t *tx) error {
		asked := time.Now()
		kept := map[[2]int64]bool{}
		if err := t.do(each(func(scan func(...any) error) error {
			var k [2]int64
			err := scan(&k[0], &k[1])
			kept[k] = true
			return err
		}, `WITH mine AS MATERIALIZED (SELECT s.id, s.epoch FROM unnest($1::bigint[], $2::bigint[]) w (id, epoch) JOIN segment s ON s.id = w.id AND s.epoch = w.epoch
				WHERE NOT s.done AND s.id = ANY($1) ORDER BY s.id FOR NO KEY UPDATE OF s)
			UPDATE segment s SET lease_until = ledger_now() + $3 WHERE s.id = ANY(ARRAY(SELECT id FROM mine)) RETURNING s.id, s.epoch`,
			ids, epochs, d.Milliseconds())); err != nil {
			return err
		}
		ours = nil
		for i, s := range leases {
			if kept[[2]int64{ids[i], epochs[i]}] {
				s.Until = asked.Add(d)
				ours = append(ours, s)
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return ours, nil
}

// hold checks that the lease is the segment's current epoch, and keeps it so until the
// transaction ends; campaign.ErrFenced otherwise.
func (t *tx) hold(l campaign.Lease) (h ledger.Segment, err error) {
	var epoch int64
	h.Key = ledger.SegmentKey(l.Run, l.Index)
	err = t.do(rowOf([]any{&epoch, &h.Lo, &h.Hi, &h.Mark, &h.Since},
		`SELECT epoch, lo, hi, mark, intents_since FROM segment WHERE id = $1 FOR NO KEY UPDATE`, h.Key))
	if errors.Is(err, pgx.ErrNoRows) || err == nil && epoch != l.Epoch {
		return h, campaign.ErrFenced
	}
	return h, err
}

// letGo ends the lease: its epoch too, so that whoever still has it is fenced.
func letGo(id int64, done bool, wake int64) *query {
	return stmt(nil, `UPDATE segment SET epoch = epoch + 1, owner = '', lease_until = 0, done = $2, wake_at = $3 WHERE id = $1`, id, done, wake)
}

// Release implements campaign.SendLedger. An unposted retry goes back to the attempt it
// came from. What was counted against the run's budget is given back.
func (l *Ledger) Release(ctx context.Context, lease campaign.Lease, unposted []int64) error {
	return l.change(ctx, l.sender, "", func(t *tx) error {
		h, err := t.hold(lease)
		if err != nil {
			return err
		}
		var rids []int64
		for _, seq := range unposted {
			if seq >= h.Lo && seq < h.Mark { // of others the intent was never committed
				rids = append(rids, ledger.RowID(lease.Run, seq))
			}
		}
		slices.Sort(rids)
		rids = slices.Compact(rids)
		if len(rids) > 0 {
			now := ledger.Millis(time.Now())
			var fresh, first, later int64
			// Each statement sees what the one before it did: a fresh row is deferred by now, and so is a first retry.
			if err := t.do(
				stmt(&later, `UPDATE outcome SET state = 1, attempt = attempt - 1, next_due = $2, code = $3, result_at = CASE WHEN flags & 2 <> 0 THEN result_at ELSE $2 END,
					intent_at = CASE WHEN flags & 2 <> 0 THEN intent_at END WHERE rid = ANY($1) AND state = 2 AND attempt > 1`, rids, now, ledger.CodeReleased),
				stmt(&first, `UPDATE outcome SET state = 1, attempt = attempt - 1, next_due = $2, code = $3, result_at = $2, intent_at = NULL
					WHERE rid = ANY($1) AND state = 2 AND attempt <= 1`, rids, now, ledger.CodeReleased),
				stmt(&fresh, `INSERT INTO outcome (rid, state, attempt, next_due, code, result_at) SELECT r, 1, 0, $2, $3, $2 FROM unnest($1::bigint[]) r
					ON CONFLICT (rid) DO NOTHING`, rids, now, ledger.CodeReleased)); err != nil {
				return err
			}
			if err := t.giveBack(lease.Run, h.Key, fresh+first); err != nil {
				return err
			}
		}
		t.last(letGo(h.Key, false, 0))
		return nil
	})
}

// giveBack takes n deliveries off what was granted.
func (t *tx) giveBack(no campaign.RunNo, segment, n int64) error {
	if n == 0 {
		return nil
	}
	return t.do(stmt(nil, `UPDATE segment SET taken = greatest(0, taken - $2) WHERE id = $1`, segment, n),
		stmt(nil, `UPDATE run_count c SET taken = greatest(0, c.taken - $2) FROM run r WHERE c.no = $1 AND r.no = c.no AND r.budget > 0`, int64(no), n))
}

// noOutcome holds for a row of delivery d about which nothing is known. Not as a join: see each.
const noOutcome = `(SELECT true FROM outcome o WHERE o.rid = d.rid LIMIT 1) IS NULL`

// Recover implements campaign.SendLedger.
func (l *Ledger) Recover(ctx context.Context, lease campaign.Lease, at time.Time) (found int, err error) {
	err = l.change(ctx, l.sender, "", func(t *tx) error {
		h, err := t.hold(lease)
		if err != nil {
			return err
		}
		state, due := ledger.Doubt, any(nil)
		if mutant.On("job_queue_rescue") { // the mistake of job queues: whatever was not finished is tried again
			state, due = ledger.Deferred, any(ledger.Millis(time.Now()))
		}
		var posted, retried int64
		if err := t.do(
			stmt(&posted, `INSERT INTO outcome (rid, state, attempt, result_at, intent_at, key, code, next_due)
				SELECT d.rid, $6, 1, $3, $4, d.key, $5, $7 FROM delivery d WHERE d.rid >= $1 AND d.rid < $2 AND `+noOutcome+` ORDER BY d.rid ON CONFLICT (rid) DO NOTHING`,
				h.First(), h.Marked(), ledger.Millis(at), h.Since, ledger.CodeInterrupted, int16(state), due),
			stmt(&retried, `UPDATE outcome o SET state = $5, result_at = $3, code = $4, key = (SELECT key FROM delivery d WHERE d.rid = o.rid), next_due = $6
				WHERE o.rid >= $1 AND o.rid < $2 AND o.state = 2`,
				h.First(), h.End(), ledger.Millis(at), ledger.CodeInterrupted, int16(state), due),
			stmt(nil, `UPDATE segment SET intents_since = ledger_now() WHERE id = $1`, h.Key)); err != nil {
			return err
		}
		found = int(posted + retried)
		return nil
	})
	if err != nil {
		return 0, err
	}
	return found, nil
}

// Park implements campaign.SendLedger, by the rule of ledger.Segment.Park. Facts that come in meanwhile change nothing:
// what is settled stays so.
func (l *Ledger) Park(ctx context.Context, lease campaign.Lease, wake time.Time, doubtWindow time.Duration) (p campaign.Parked, err error) {
	err = l.change(ctx, l.sender, "", func(t *tx) error {
		p = campaign.Parked{}
		h, err := t.hold(lease)
		if err != nil {
			return err
		}
		now := time.Now()
		var u ledger.Unsettled
		var below int64
		if err := t.do(row(&below, `SELECT count(*) FROM outcome WHERE rid >= $1 AND rid < $2`, h.First(), h.Marked()),
			rowOf([]any{&u.Deferred, &u.Retrying, &u.Doubts, &u.NextDue, &u.DoubtSince}, `SELECT count(*) FILTER (WHERE state = 1), count(*) FILTER (WHERE state = 2),
				count(*) FILTER (WHERE state = 3), coalesce(min(next_due) FILTER (WHERE state = 1), 0), coalesce(min(result_at) FILTER (WHERE state = 3), 0)
				FROM outcome WHERE rid >= $1 AND rid < $2 AND state IN (1, 2, 3)`, h.First(), h.End())); err != nil {
			return err
		}
		u.Missing = h.Mark - h.Lo - below
		p = h.Park(u, now, wake, doubtWindow)
		until := ledger.Millis(p.Wake)
		if !p.Wake.After(now) {
			until = 0 // at once, also by a server's clock that is behind
		}
		t.last(letGo(h.Key, p.Done, until))
		return nil
	})
	if err != nil {
		return campaign.Parked{}, err
	}
	if p.Done {
		l.marks.forget(ledger.SegmentKey(lease.Run, lease.Index))
	}
	return p, nil
}

// Deliveries implements campaign.SendLedger.
func (l *Ledger) Deliveries(ctx context.Context, no campaign.RunNo, from, to int64) (all []campaign.Delivery, err error) {
	err = l.read(ctx, l.sender, list(&all, func(scan func(...any) error) (campaign.Delivery, error) {
		return ledger.ScanDelivery(scan)
	}, `SELECT d.rid, d.key, d.row, d.dest, d.cells FROM delivery d WHERE d.rid >= $1 AND d.rid < $2 AND `+noOutcome+` ORDER BY d.rid`, ledger.RowID(no, from), ledger.RowID(no, to)))
	return all, err
}

// Due implements campaign.SendLedger.
func (l *Ledger) Due(ctx context.Context, lease campaign.Lease, now time.Time, n int) (all []campaign.Retry, err error) {
	err = l.read(ctx, l.sender, list(&all, func(scan func(...any) error) (r campaign.Retry, err error) {
		r.Delivery, err = ledger.ScanDelivery(scan, &r.Attempt, &r.Tries)
		r.Attempt++
		return r, err
	}, `SELECT d.*, o.attempt, o.tries FROM outcome o CROSS JOIN LATERAL (SELECT rid, key, row, dest, cells FROM delivery WHERE rid = o.rid OFFSET 0) d
		WHERE o.rid >= $1 AND o.rid < $2 AND o.state = 1 AND o.next_due <= $3 ORDER BY o.next_due, o.rid LIMIT $4`,
		ledger.RowID(lease.Run, lease.Lo), ledger.RowID(lease.Run, lease.Hi), ledger.Millis(now), n))
	return all, err
}
