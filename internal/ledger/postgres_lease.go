package ledger

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"campaignd/campaign"
	"campaignd/internal/mutant"

	"github.com/jackc/pgx/v5"
)

// pgClaim leases free segments of one run. What another replica is claiming in this
// instant is passed over, not waited for. The list is made once, apart: a planner that
// asked for it again and again would lock more than it takes.
const pgClaim = `WITH free AS MATERIALIZED (
		SELECT id FROM segment WHERE run = $1 AND NOT done AND lease_until <= ledger_now() AND wake_at <= ledger_now()
		AND connection IN ('', $2) AND (epoch > 0 OR NOT $3) ORDER BY connection = '', id LIMIT $4 FOR NO KEY UPDATE SKIP LOCKED)
	UPDATE segment s SET epoch = s.epoch + 1, owner = $5, lease_until = ledger_now() + $6,
		intents_since = CASE WHEN s.intents_since = 0 THEN ledger_now() ELSE s.intents_since END
	WHERE s.id = ANY(ARRAY(SELECT id FROM free))
	RETURNING s.id & 4294967295, s.zone, s.lo, s.hi, s.mark, s.epoch, s.connection`

// pgClaimable names, in the order asked for, the runs that have something free.
const pgClaimable = `SELECT w.no FROM unnest($1::bigint[]) WITH ORDINALITY w (no, i) JOIN run r ON r.no = w.no
	WHERE r.state IN ('ready', 'running') AND EXISTS (SELECT 1 FROM segment WHERE run = w.no AND NOT done AND lease_until <= ledger_now()
	AND wake_at <= ledger_now() AND connection IN ('', $2) AND (epoch > 0 OR NOT $3)) ORDER BY w.i`

// Claim implements campaign.SendLedger. Segments bound to the connection come before
// unbound ones: they hold retries and doubts. Leases use the server's clock; Until is
// counted by this host's from before the request, so that it ends earlier here than there.
func (l *Postgres) Claim(ctx context.Context, c campaign.Claim) (leases []campaign.Lease, err error) {
	if c.Max <= 0 || len(c.Runs) == 0 {
		return nil, nil
	}
	if err := l.stands(ctx); err != nil {
		return nil, err
	}
	connection, owner := plainText(c.Connection), plainText(c.Owner)
	var nos []int64
	var timeline int64
	if err := l.read(ctx, l.sender, list(&nos, func(scan func(...any) error) (no int64, err error) {
		err = scan(&no)
		return no, err
	}, pgClaimable, runNos(c.Runs), connection, c.Begun),
		// A proxy may have led this connection to a promoted standby without our noticing.
		row(&timeline, `SELECT ('x' || left(pg_walfile_name(pg_current_wal_lsn()), 8))::bit(32)::bigint`)); err != nil {
		return nil, err
	}
	if timeline != l.place.Load().timeline {
		l.moved.Store(true)
		if err := l.stands(ctx); err != nil {
			return nil, err
		}
	}
	if len(nos) == 0 {
		return nil, nil
	}
	err = l.change(ctx, l.sender, "", func(t *pgTx) error {
		if l.moved.Load() {
			return errMoved
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
			}, pgClaim, no, connection, c.Begun, c.Max-len(leases), owner, c.Lease.Milliseconds())); err != nil {
				return err
			}
			slices.SortFunc(free, func(a, b campaign.Lease) int {
				return cmp.Or(cmp.Compare(b.Connection, a.Connection), cmp.Compare(a.Index, b.Index))
			})
			for i := range free {
				id := segmentID(free[i].Run, free[i].Index)
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
	if errors.Is(err, errMoved) {
		return nil, l.stands(ctx) // nothing this time
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
func (l *Postgres) Renew(ctx context.Context, leases []campaign.Lease, d time.Duration) (ours []campaign.Lease, err error) {
	if len(leases) == 0 {
		return nil, nil
	}
	var ids, epochs []int64
	for _, s := range leases {
		ids, epochs = append(ids, segmentID(s.Run, s.Index)), append(epochs, s.Epoch)
	}
	err = l.change(ctx, l.sender, "", func(t *pgTx) error {
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
func (t *pgTx) hold(l campaign.Lease) (h held, err error) {
	var epoch int64
	h.id = segmentID(l.Run, l.Index)
	err = t.do(rowOf([]any{&epoch, &h.lo, &h.hi, &h.mark, &h.since},
		`SELECT epoch, lo, hi, mark, intents_since FROM segment WHERE id = $1 FOR NO KEY UPDATE`, h.id))
	if errors.Is(err, pgx.ErrNoRows) || err == nil && epoch != l.Epoch {
		return h, campaign.ErrFenced
	}
	return h, err
}

// pgLetGo ends the lease: its epoch too, so that whoever still has it is fenced.
func pgLetGo(id int64, done bool, wake int64) *query {
	return stmt(nil, `UPDATE segment SET epoch = epoch + 1, owner = '', lease_until = 0, done = $2, wake_at = $3 WHERE id = $1`, id, done, wake)
}

// Release implements campaign.SendLedger. An unposted retry goes back to the attempt it
// came from. What was counted against the run's budget is given back.
func (l *Postgres) Release(ctx context.Context, lease campaign.Lease, unposted []int64) error {
	return l.change(ctx, l.sender, "", func(t *pgTx) error {
		h, err := t.hold(lease)
		if err != nil {
			return err
		}
		var rids []int64
		for _, seq := range unposted {
			if seq >= h.lo && seq < h.mark { // of others the intent was never committed
				rids = append(rids, rid(lease.Run, seq))
			}
		}
		slices.Sort(rids)
		rids = slices.Compact(rids)
		if len(rids) > 0 {
			now := millis(time.Now())
			var fresh, first, later int64
			// Each statement sees what the one before it did: a fresh row is deferred by now, and so is a first retry.
			if err := t.do(
				stmt(&later, `UPDATE outcome SET state = 1, attempt = attempt - 1, next_due = $2, code = $3, result_at = CASE WHEN flags & 2 <> 0 THEN result_at ELSE $2 END,
					intent_at = CASE WHEN flags & 2 <> 0 THEN intent_at END WHERE rid = ANY($1) AND state = 2 AND attempt > 1`, rids, now, codeReleased),
				stmt(&first, `UPDATE outcome SET state = 1, attempt = attempt - 1, next_due = $2, code = $3, result_at = $2, intent_at = NULL
					WHERE rid = ANY($1) AND state = 2 AND attempt <= 1`, rids, now, codeReleased),
				stmt(&fresh, `INSERT INTO outcome (rid, state, attempt, next_due, code, result_at) SELECT r, 1, 0, $2, $3, $2 FROM unnest($1::bigint[]) r
					ON CONFLICT (rid) DO NOTHING`, rids, now, codeReleased)); err != nil {
				return err
			}
			if err := t.giveBack(lease.Run, h.id, fresh+first); err != nil {
				return err
			}
		}
		t.last(pgLetGo(h.id, false, 0))
		return nil
	})
}

// giveBack takes n deliveries off what was granted.
func (t *pgTx) giveBack(no campaign.RunNo, segment, n int64) error {
	if n == 0 {
		return nil
	}
	return t.do(stmt(nil, `UPDATE segment SET taken = greatest(0, taken - $2) WHERE id = $1`, segment, n),
		stmt(nil, `UPDATE run_count c SET taken = greatest(0, c.taken - $2) FROM run r WHERE c.no = $1 AND r.no = c.no AND r.budget > 0`, int64(no), n))
}

// pgNoOutcome holds for a row of delivery d about which nothing is known. Not as a join: see each.
const pgNoOutcome = `(SELECT true FROM outcome o WHERE o.rid = d.rid LIMIT 1) IS NULL`

// Recover implements campaign.SendLedger.
func (l *Postgres) Recover(ctx context.Context, lease campaign.Lease, at time.Time) (found int, err error) {
	err = l.change(ctx, l.sender, "", func(t *pgTx) error {
		h, err := t.hold(lease)
		if err != nil {
			return err
		}
		state, due := doubt, any(nil)
		if mutant.On("job_queue_rescue") { // the mistake of job queues: whatever was not finished is tried again
			state, due = deferred, any(millis(time.Now()))
		}
		var posted, retried int64
		if err := t.do(
			stmt(&posted, `INSERT INTO outcome (rid, state, attempt, result_at, intent_at, key, code, next_due)
				SELECT d.rid, $6, 1, $3, $4, d.key, $5, $7 FROM delivery d WHERE d.rid >= $1 AND d.rid < $2 AND `+pgNoOutcome+` ORDER BY d.rid ON CONFLICT (rid) DO NOTHING`,
				h.first(), h.marked(), millis(at), h.since, codeInterrupted, int16(state), due),
			stmt(&retried, `UPDATE outcome o SET state = $5, result_at = $3, code = $4, key = (SELECT key FROM delivery d WHERE d.rid = o.rid), next_due = $6
				WHERE o.rid >= $1 AND o.rid < $2 AND o.state = 2`,
				h.first(), h.end(), millis(at), codeInterrupted, int16(state), due),
			stmt(nil, `UPDATE segment SET intents_since = ledger_now() WHERE id = $1`, h.id)); err != nil {
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

// Park implements campaign.SendLedger. Deliveries below the mark whose results are not
// recorded yet keep the segment open and wake it at once, whatever wake says: if their
// owner dies now, somebody must find them. Facts that come in meanwhile change nothing:
// what is settled stays so.
func (l *Postgres) Park(ctx context.Context, lease campaign.Lease, wake time.Time, doubtWindow time.Duration) (p campaign.Parked, err error) {
	err = l.change(ctx, l.sender, "", func(t *pgTx) error {
		p = campaign.Parked{}
		h, err := t.hold(lease)
		if err != nil {
			return err
		}
		now := time.Now()
		var below, waiting, flying, doubts, due, since int64
		if err := t.do(row(&below, `SELECT count(*) FROM outcome WHERE rid >= $1 AND rid < $2`, h.first(), h.marked()),
			rowOf([]any{&waiting, &flying, &doubts, &due, &since}, `SELECT count(*) FILTER (WHERE state = 1), count(*) FILTER (WHERE state = 2),
				count(*) FILTER (WHERE state = 3), coalesce(min(next_due) FILTER (WHERE state = 1), 0), coalesce(min(result_at) FILTER (WHERE state = 3), 0)
				FROM outcome WHERE rid >= $1 AND rid < $2 AND state IN (1, 2, 3)`, h.first(), h.end())); err != nil {
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
		until := millis(p.Wake)
		if !p.Wake.After(now) {
			until = 0 // at once, also by a server's clock that is behind
		}
		t.last(pgLetGo(h.id, p.Done, until))
		return nil
	})
	if err != nil {
		return campaign.Parked{}, err
	}
	if p.Done {
		l.marks.forget(segmentID(lease.Run, lease.Index))
	}
	return p, nil
}

// Deliveries implements campaign.SendLedger.
func (l *Postgres) Deliveries(ctx context.Context, no campaign.RunNo, from, to int64) (all []campaign.Delivery, err error) {
	err = l.read(ctx, l.sender, list(&all, func(scan func(...any) error) (campaign.Delivery, error) {
		return scanDelivery(scan)
	}, `SELECT d.rid, d.key, d.row, d.dest, d.cells FROM delivery d WHERE d.rid >= $1 AND d.rid < $2 AND `+pgNoOutcome+` ORDER BY d.rid`, rid(no, from), rid(no, to)))
	return all, err
}

// Due implements campaign.SendLedger.
func (l *Postgres) Due(ctx context.Context, lease campaign.Lease, now time.Time, n int) (all []campaign.Retry, err error) {
	err = l.read(ctx, l.sender, list(&all, func(scan func(...any) error) (r campaign.Retry, err error) {
		r.Delivery, err = scanDelivery(scan, &r.Attempt, &r.Tries)
		r.Attempt++
		return r, err
	}, `SELECT d.*, o.attempt, o.tries FROM outcome o CROSS JOIN LATERAL (SELECT rid, key, row, dest, cells FROM delivery WHERE rid = o.rid OFFSET 0) d
		WHERE o.rid >= $1 AND o.rid < $2 AND o.state = 1 AND o.next_due <= $3 ORDER BY o.next_due, o.rid LIMIT $4`,
		rid(lease.Run, lease.Lo), rid(lease.Run, lease.Hi), millis(now), n))
	return all, err
}
