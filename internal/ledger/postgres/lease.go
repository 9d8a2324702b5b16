package postgres

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"campaignd/campaign"
	"campaignd/internal/ledger"

	"github.com/jackc/pgx/v5"
)

// sqlClaim leases free segments of one run, and passes over those that another replica is claiming.
// Until Recover has run, the open rows of a segment are those of its earlier owner (granted_by).
// The list is materialized: a plan that evaluated it twice would lock more segments than it leases.
const (
	sqlClaim = `WITH free AS MATERIALIZED (
			SELECT id FROM segment WHERE run = $1 AND NOT done AND lease_until <= ledger_now() AND wake_at <= ledger_now()
			AND (connection = $5 OR connection = '' AND NOT $7) AND (epoch > 0 OR NOT $6) ORDER BY connection = '', id` + sqlClaimFree
	// Any segment of a run that is to be cancelled; $5 takes live leases too.
	sqlClaimCancelled = `WITH free AS MATERIALIZED (
			SELECT id FROM segment WHERE run = $1 AND NOT done AND (lease_until <= ledger_now() OR $5) ORDER BY id` + sqlClaimFree
	sqlClaimFree = ` LIMIT $2 FOR NO KEY UPDATE SKIP LOCKED)
		UPDATE segment s SET epoch = s.epoch + 1, owner = $3, lease_until = ledger_now() + $4,
			granted_by = CASE WHEN s.epoch = 0 THEN $3 ELSE s.granted_by END,
			intents_since = CASE WHEN s.intents_since = 0 THEN ledger_now() ELSE s.intents_since END
		WHERE s.id = ANY(ARRAY(SELECT id FROM free))
		RETURNING s.id & 4294967295, s.zone, s.lo, s.hi, s.mark, s.epoch, s.connection, s.moved > 0, s.bound`
)

// The runs that have a segment to claim, in the order of the list.
const (
	sqlCancelledRuns = `SELECT w.no FROM unnest($1::bigint[]) WITH ORDINALITY w (no, i) JOIN run r ON r.no = w.no
		WHERE r.state IN ('ready', 'running') AND r.wanted = 'cancel' AND EXISTS (SELECT 1 FROM segment WHERE run = w.no AND NOT done
		AND (lease_until <= ledger_now() OR $2)) ORDER BY w.i`
	sqlClaimableRuns = `SELECT w.no FROM unnest($1::bigint[]) WITH ORDINALITY w (no, i) JOIN run r ON r.no = w.no
		WHERE r.state IN ('ready', 'running') AND EXISTS (SELECT 1 FROM segment WHERE run = w.no AND NOT done AND lease_until <= ledger_now()
		AND wake_at <= ledger_now() AND (connection = $2 OR connection = '' AND NOT $4) AND (epoch > 0 OR NOT $3)) ORDER BY w.i`
)

const sqlFreeKinds = `SELECT DISTINCT run, connection, epoch > 0 FROM segment WHERE run = ANY($1) AND NOT done
	AND lease_until <= ledger_now() AND wake_at <= ledger_now()`

// FreeSegments implements campaign.SendLedger. Claim and Intend refuse a ledger that went back in
// time.
func (l *Ledger) FreeSegments(ctx context.Context, runs []campaign.RunNo) (free []campaign.FreeSegment, err error) {
	_, err = l.readClaimable(ctx, list(&free, ledger.ScanFreeSegment, sqlFreeKinds, runNos(runs)))
	return free, err
}

const sqlTimeline = `SELECT ('x' || left(pg_walfile_name(pg_current_wal_lsn()), 8))::bit(32)::bigint`

// Claim implements campaign.SendLedger. Segments of the connection come before those without
// one, because they can have retries and doubts. Leases use the server's clock. Until counts
// from before the request on this host's clock, so a lease ends earlier here than on the server.
func (l *Ledger) Claim(ctx context.Context, c campaign.Claim) (leases []campaign.Lease, err error) {
	if c.Max <= 0 || len(c.Runs) == 0 {
		return nil, nil
	}
	if err := l.checkIdentity(ctx); err != nil {
		return nil, err
	}
	connection, owner := ledger.PlainText(c.Connection), ledger.PlainText(c.Owner)
	var nos []int64
	query, a := sqlClaimableRuns, []any{runNos(c.Runs), connection, c.Begun, c.SameConnection}
	if c.Cancelled {
		query, a = sqlCancelledRuns, []any{runNos(c.Runs), c.Seize}
	}
	changed, err := l.readClaimable(ctx, list(&nos, scanID, query, a...))
	if err == nil && changed {
		err = l.checkIdentity(ctx)
	}
	if err != nil || len(nos) == 0 {
		return nil, err
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
			query, a := sqlClaim, []any{no, c.Max - len(leases), owner, c.Lease.Milliseconds(), connection, c.Begun, c.SameConnection}
			if c.Cancelled {
				query, a = sqlClaimCancelled, append(a[:4], c.Seize)
			}
			// It locks the run before its segments, as SetWanted does.
			if err := t.do(t.startRun(no), each(func(scan scanFunc) error {
				s, err := ledger.ScanLease(campaign.RunNo(no), scan)
				s.Until = asked.Add(c.Lease)
				free = append(free, s)
				return err
			}, query, a...)); err != nil {
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
				} else if err := l.raise(t, id, a); err != nil { // the next claim takes it, and its owner recovers
					return err
				}
			}
		}
		return nil
	})
	if errors.Is(err, errIdentityChanged) {
		return nil, l.checkIdentity(ctx) // no lease this time
	}
	if err != nil {
		return nil, err
	}
	return leases, nil
}

// readClaimable reads what there is to claim, and the timeline of the server: behind a proxy, the
// connection may lead to a promoted standby now. changed says that it is another timeline; then the
// caller must call checkIdentity before anything is sent.
func (l *Ledger) readClaimable(ctx context.Context, what *query) (changed bool, err error) {
	var timeline int64
	if err := l.read(ctx, l.sender, what, row(&timeline, sqlTimeline)); err != nil {
		return false, err
	}
	if changed = timeline != l.identity.Load().timeline; changed {
		l.identityChanged.Store(true)
	}
	return changed, nil
}

func runNos(nos []campaign.RunNo) []int64 {
	all := make([]int64, len(nos))
	for i, no := range nos {
		all[i] = int64(no)
	}
	return all
}

const sqlRenew = `WITH mine AS MATERIALIZED (SELECT s.id, s.epoch FROM unnest($1::bigint[], $2::bigint[]) w (id, epoch)
		JOIN segment s ON s.id = w.id AND s.epoch = w.epoch
		WHERE NOT s.done AND s.id = ANY($1) ORDER BY s.id FOR NO KEY UPDATE OF s)
	UPDATE segment s SET lease_until = ledger_now() + $3 WHERE s.id = ANY(ARRAY(SELECT id FROM mine)) RETURNING s.id, s.epoch`

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
		if err := t.do(each(func(scan scanFunc) error {
			var k [2]int64
			err := scan(&k[0], &k[1])
			kept[k] = true
			return err
		}, sqlRenew, ids, epochs, d.Milliseconds())); err != nil {
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

const sqlOwnedSegment = `SELECT epoch, lo, hi, mark, bound, intents_since, granted_by FROM segment WHERE id = $1 FOR NO KEY UPDATE`

// owned reads and locks the segment of the lease; campaign.ErrFenced when it has another epoch by
// now.
func (t *tx) owned(l campaign.Lease) (s ledger.Segment, err error) {
	var epoch int64
	s.Key = ledger.SegmentKey(l.Run, l.Index)
	err = t.do(rowOf([]any{&epoch, &s.Lo, &s.Hi, &s.Mark, &s.Bound, &s.Since, &s.GrantedBy}, sqlOwnedSegment, s.Key))
	if errors.Is(err, pgx.ErrNoRows) || err == nil && epoch != l.Epoch {
		return s, campaign.ErrFenced
	}
	return s, err
}

// sqlEndLease ends a lease and its epoch, so that its owner is fenced from now on.
const sqlEndLease = `UPDATE segment SET epoch = epoch + 1, owner = '', lease_until = 0, done = $2, wake_at = $3 WHERE id = $1`

const (
	sqlUndoRetries = `WITH u AS (UPDATE outcome
			SET state = 1 /* deferred */, attempt = attempt - 1, next_due = $2, code = $3, result_at = $2, intent_at = NULL
			WHERE rid = ANY($1) AND state = 2 /* retrying */ RETURNING attempt)
		SELECT count(*), count(*) FILTER (WHERE attempt <= 0) FROM u`
	sqlDeferUnposted = `INSERT INTO outcome (rid, state, attempt, next_due, code, result_at)
		SELECT r, 1 /* deferred */, 0, $2, $3, $2 FROM unnest($1::bigint[]) r ON CONFLICT (rid) DO NOTHING`
)

// Release implements campaign.SendLedger. An unposted retry returns to the attempt before it, and
// the run's budget no longer counts the unposted deliveries.
func (l *Ledger) Release(ctx context.Context, lease campaign.Lease, unposted []int64) error {
	return l.change(ctx, l.sender, "", func(t *tx) error {
		s, err := t.owned(lease)
		if err != nil {
			return err
		}
		rids := s.Granted(unposted)
		if len(rids) > 0 {
			now := ledger.Millis(time.Now())
			var fresh, retries, first int64
			t.recount(s.First())
			if err := t.do(
				rowOf([]any{&retries, &first}, sqlUndoRetries, rids, now, ledger.CodeReleased),
				stmt(&fresh, sqlDeferUnposted, rids, now, ledger.CodeReleased)); err != nil {
				return err
			}
			if err := t.giveBack(lease.Run, s.Key, fresh+first); err != nil {
				return err
			}
		}
		t.last(append(giveBackPeople(rids), stmt(nil, sqlEndLease, s.Key, false, int64(0)))...)
		return nil
	})
}

const (
	sqlGiveBackSegment = `UPDATE segment SET taken = greatest(0, taken - $2) WHERE id = $1`
	sqlGiveBackBudget  = `UPDATE run_count c SET taken = greatest(0, c.taken - $2) FROM run r
		WHERE c.no = $1 AND r.no = c.no AND r.budget > 0`
)

// giveBack subtracts n deliveries from those that were granted.
func (t *tx) giveBack(no campaign.RunNo, segment, n int64) error {
	if n == 0 {
		return nil
	}
	return t.do(stmt(nil, sqlGiveBackSegment, segment, n), stmt(nil, sqlGiveBackBudget, int64(no), n))
}

// sqlNoOutcome is the condition that the delivery d has no outcome. It is no join, because the
// planner could reverse the order of a join (see the package comment).
const sqlNoOutcome = `(SELECT true FROM outcome o WHERE o.rid = d.rid LIMIT 1) IS NULL`

const (
	sqlDoubtPosted = `INSERT INTO outcome (rid, state, attempt, result_at, intent_at, code, granted_by)
		SELECT d.rid, 3 /* in doubt */, 1, $3, $4, $5, $6 FROM delivery d WHERE d.rid >= $1 AND d.rid < $2 AND ` + sqlNoOutcome + `
		ORDER BY d.rid ON CONFLICT (rid) DO NOTHING`
	sqlDoubtRetried = `UPDATE outcome o SET state = 3 /* in doubt */, result_at = $3, code = $4, next_due = NULL, granted_by = $5
		WHERE o.rid >= $1 AND o.rid < $2 AND o.state = 2 /* retrying */`
	sqlRecovered = `UPDATE segment SET intents_since = ledger_now(), granted_by = owner WHERE id = $1`
)

// Recover implements campaign.SendLedger.
func (l *Ledger) Recover(ctx context.Context, lease campaign.Lease, at time.Time) (found int, err error) {
	err = l.change(ctx, l.sender, "", func(t *tx) error {
		s, err := t.owned(lease)
		if err != nil {
			return err
		}
		var posted, retried int64
		t.recount(s.First())
		if err := t.do(
			stmt(&posted, sqlDoubtPosted, s.First(), s.Marked(), ledger.Millis(at), s.Since, ledger.CodeInterrupted, s.GrantedBy),
			stmt(&retried, sqlDoubtRetried, s.First(), s.End(), ledger.Millis(at), ledger.CodeInterrupted, s.GrantedBy),
			stmt(nil, sqlOpenAttemptsIn, s.First(), s.End()),
			stmt(nil, sqlRecovered, s.Key)); err != nil {
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

const (
	sqlCountOutcomes = `SELECT count(*) FROM outcome WHERE rid >= $1 AND rid < $2`
	sqlUnfinished    = `SELECT
			count(*) FILTER (WHERE state = 1 /* deferred */), count(*) FILTER (WHERE state = 2 /* retrying */),
			count(*) FILTER (WHERE state = 3 /* in doubt */), coalesce(min(next_due) FILTER (WHERE state = 1 /* deferred */), 0),
			coalesce(min(result_at) FILTER (WHERE state = 3 /* in doubt */), 0)
		FROM outcome WHERE rid >= $1 AND rid < $2 AND state IN (1, 2, 3) /* open */`
)

// Park implements campaign.SendLedger, by the rule of ledger.Segment.Park. Facts that arrive at the
// same time do no harm: none of them takes an outcome back.
func (l *Ledger) Park(
	ctx context.Context, lease campaign.Lease, wake time.Time, ends func(since time.Time) time.Time,
) (p campaign.Parked, err error) {
	err = l.change(ctx, l.sender, "", func(t *tx) error {
		p = campaign.Parked{}
		s, err := t.owned(lease)
		if err != nil {
			return err
		}
		now := time.Now()
		var u ledger.Unfinished
		var below int64
		if err := t.do(row(&below, sqlCountOutcomes, s.First(), s.Marked()),
			rowOf([]any{&u.Deferred, &u.Retrying, &u.Doubts, &u.NextDue, &u.DoubtSince}, sqlUnfinished, s.First(), s.End())); err != nil {
			return err
		}
		u.Missing = s.Mark - s.Lo - below
		p = s.Park(u, now, wake, ends)
		until := ledger.Millis(p.Wake)
		if !p.Wake.After(now) {
			until = 0 // at once, even if the server's clock is behind
		}
		t.last(stmt(nil, sqlEndLease, s.Key, p.Done, until))
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
