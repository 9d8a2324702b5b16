package ledger

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"iter"
	"time"

	"campaignd/campaign"

	"github.com/jackc/pgx/v5"
)

// Tallies implements campaign.ReportLedger. Each page of segments is counted in a snapshot
// of its own, so a long run keeps no dead rows, and since no delivery ever changes its
// segment the sum is the run's rows all the same.
func (l *Postgres) Tallies(ctx context.Context, no campaign.RunNo) ([]campaign.Tally, campaign.Funnel, error) {
	if _, err := l.Run(ctx, no); err != nil {
		return nil, campaign.Funnel{}, err
	}
	sum := newTally()
	for after := int64(-1); ; {
		page, last := newTally(), int64(-1)
		if err := l.snapshot(ctx, l.reports, func(t *pgTx) (err error) {
			page = newTally()
			last, err = t.tallyFrom(no, after, page)
			return err
		}); err != nil {
			return nil, campaign.Funnel{}, err
		}
		sum.merge(page)
		if last < 0 {
			return sum.list(), sum.funnel, nil
		}
		after = last
	}
}

// merge adds another tally.
func (t *tally) merge(o *tally) {
	for k, n := range o.counts {
		t.counts[k] += n
	}
	a, b := &t.funnel, o.funnel
	a.Accepted, a.Sent, a.Delivered, a.Read, a.Failed = a.Accepted+b.Accepted, a.Sent+b.Sent, a.Delivered+b.Delivered, a.Read+b.Read, a.Failed+b.Failed
	a.Adopted, a.MaybeDuplicate, a.Ambiguous = a.Adopted+b.Adopted, a.MaybeDuplicate+b.MaybeDuplicate, a.Ambiguous+b.Ambiguous
}

// part is a range of rids whose outcomes are counted together.
type part struct {
	from, to int64
	rows     int64
	rest     campaign.Status // of the rows without an outcome
	alive    bool
	settled  int64
}

// tallyFrom counts the page of segments behind after, and returns the last one's index, or -1.
func (t *pgTx) tallyFrom(no campaign.RunNo, after int64, sum *tally) (last int64, err error) {
	last = -1
	var parts []*part
	if err := t.do(each(func(scan func(...any) error) error {
		var lo, hi, mark int64
		var done, alive bool
		if err := scan(&last, &lo, &hi, &mark, &done, &alive); err != nil {
			return err
		}
		if !done {
			parts = append(parts, &part{rid(no, lo), rid(no, mark), mark - lo, dispatched(alive), alive, 0},
				&part{rid(no, mark), rid(no, hi), hi - mark, campaign.Queued, alive, 0})
			return nil
		}
		// Of a done segment every row has an outcome, unless the ledger is damaged; Audit names them.
		parts = append(parts, &part{rid(no, lo), rid(no, hi), hi - lo, campaign.InDoubt, false, 0})
		return nil
	}, `SELECT id & 4294967295, lo, hi, mark, done, lease_until > ledger_now() FROM segment WHERE id > $1 AND id < $2 ORDER BY id LIMIT $3`,
		segmentID(no, after), segmentID(no+1, 0), tallyPage)); err != nil || last < 0 {
		return -1, err
	}
	var from, to []int64
	for _, p := range parts {
		from, to = append(from, p.from), append(to, p.to)
	}
	if err := t.do(each(func(scan func(...any) error) error {
		var i int64
		var g group
		if err := scan(&i, &g.state, &g.rank, &g.code, &g.n, &g.sent, &g.failed, &g.adopted, &g.maybeTwice, &g.ambiguous); err != nil {
			return err
		}
		p := parts[i-1]
		p.settled += g.n
		sum.fold(g, p.alive)
		return nil
	}, `SELECT w.i, g.* FROM unnest($1::bigint[], $2::bigint[]) WITH ORDINALITY w (a, b, i) CROSS JOIN LATERAL (
			SELECT state, rank, coalesce(CASE WHEN state >= 6 THEN code WHEN rank = 2 THEN fail_code END, ''), count(*),
			count(sent_at), count(failed_at), count(*) FILTER (WHERE flags & 1 <> 0), count(*) FILTER (WHERE flags & 2 <> 0), count(*) FILTER (WHERE flags & 8 <> 0)
			FROM outcome WHERE rid >= w.a AND rid < w.b GROUP BY 1, 2, 3) g`, from, to)); err != nil {
		return -1, err
	}
	for _, p := range parts {
		sum.add(p.rest, "", p.rows-p.settled)
	}
	return last, nil
}

// Lines implements campaign.ReportLedger.
func (l *Postgres) Lines(ctx context.Context, no campaign.RunNo) iter.Seq2[campaign.Line, error] {
	return func(yield func(campaign.Line, error) bool) {
		if _, err := l.Run(ctx, no); err != nil {
			yield(campaign.Line{}, err)
			return
		}
		for after := int64(-1 << 62); ; {
			page, err := l.linesAfter(ctx, no, after)
			if err != nil {
				yield(campaign.Line{}, err)
				return
			}
			for _, line := range page {
				if !yield(line, nil) {
					return
				}
				after = line.Row
			}
			if len(page) < linePage {
				return
			}
		}
	}
}

func (l *Postgres) linesAfter(ctx context.Context, no campaign.RunNo, after int64) (page []campaign.Line, err error) {
	err = l.read(ctx, l.reports, list(&page, func(scan func(...any) error) (line campaign.Line, err error) {
		var connection string
		var mark int64
		var alive bool
		var state, rnk, flags, attempt, at, sent, delivered, read, failed sql.NullInt64
		var code, failCode, detail, messageID, request, traced sql.NullString
		d, err := scanDelivery(scan, &connection, &mark, &alive, &state, &rnk, &flags, &attempt, &at, &sent, &delivered, &read, &failed,
			&code, &failCode, &detail, &messageID, &request, &traced)
		if err != nil {
			return line, err
		}
		k := known{outcome(state.Int64), rank(rnk.Int64), int(flags.Int64), int(attempt.Int64), at.Int64, sent.Int64, delivered.Int64,
			read.Int64, failed.Int64, code.String, failCode.String, detail.String, messageID.String, request.String, traced.String}
		return k.line(d, connection, mark, alive), nil
	}, `WITH d AS MATERIALIZED (SELECT rid, key, row, dest, cells FROM delivery WHERE rid >> 32 = $1 AND row > $2 ORDER BY row LIMIT $3)
		SELECT d.rid, d.key, d.row, d.dest, d.cells, coalesce(s.connection, ''), coalesce(s.mark, 0), coalesce(s.lease_until > ledger_now(), false),
		o.state, o.rank, o.flags, o.attempt, o.result_at, o.sent_at, o.delivered_at, o.read_at, o.failed_at,
		o.code, o.fail_code, o.detail, o.message_id, o.request_id, o.trace_id
		FROM d LEFT JOIN LATERAL (SELECT * FROM outcome x WHERE x.rid = d.rid OFFSET 0) o ON true
		LEFT JOIN LATERAL (SELECT * FROM segment x WHERE x.id = ((d.rid >> 32) << 32) | ((d.rid & 4294967295) / 4096) OFFSET 0) s ON true
		ORDER BY d.row`, int64(no), after, linePage))
	return page, err
}

// pgChecks are the questions of Audit about ranges of deliveries; each yields row, seq and
// a detail of the offenders.
var pgChecks = []struct{ what, query string }{
	{"has an outcome but no delivery: outcome %s", `SELECT 0::bigint, o.rid & 4294967295, o.state::text FROM outcome o LEFT JOIN delivery d ON d.rid = o.rid
		WHERE o.rid >= $1 AND o.rid < $2 AND d.rid IS NULL LIMIT $3`},
	{"lies in no segment%s", `SELECT d.row, d.rid & 4294967295, '' FROM delivery d
		LEFT JOIN segment s ON s.id = ((d.rid >> 32) << 32) | ((d.rid & 4294967295) / 4096)
		WHERE d.rid >= $1 AND d.rid < $2 AND (s.id IS NULL OR (d.rid & 4294967295) < s.lo OR (d.rid & 4294967295) >= s.hi) LIMIT $3`},
	{"was posted without an intent: it is above its segment's mark, in state %s", `SELECT coalesce(d.row, 0), o.rid & 4294967295, o.state::text
		FROM outcome o JOIN segment s ON s.id = ((o.rid >> 32) << 32) | ((o.rid & 4294967295) / 4096) LEFT JOIN delivery d ON d.rid = o.rid
		WHERE o.rid >= $1 AND o.rid < $2 AND (o.rid & 4294967295) >= s.mark AND NOT s.closed AND o.state <> 7 LIMIT $3`},
	{"has no outcome though its segment is done%s", `SELECT d.row, d.rid & 4294967295, '' FROM delivery d LEFT JOIN outcome o ON o.rid = d.rid
		JOIN segment s ON s.id = ((d.rid >> 32) << 32) | ((d.rid & 4294967295) / 4096)
		WHERE d.rid >= $1 AND d.rid < $2 AND s.done AND (o.rid IS NULL OR o.state IN (1, 2, 3)) LIMIT $3`},
	{"is accepted without a message id, or has one without being accepted: state %s", `SELECT coalesce(d.row, 0), o.rid & 4294967295, o.state::text
		FROM outcome o LEFT JOIN delivery d ON d.rid = o.rid
		WHERE o.rid >= $1 AND o.rid < $2 AND ((o.state = 5) <> (o.message_id IS NOT NULL) OR (o.mh IS NOT NULL) <> (o.message_id IS NOT NULL)) LIMIT $3`},
	{"has a status that its times do not explain: rank %s", `SELECT coalesce(d.row, 0), o.rid & 4294967295, o.rank::text FROM outcome o LEFT JOIN delivery d ON d.rid = o.rid
		WHERE o.rid >= $1 AND o.rid < $2 AND o.rank <> CASE WHEN o.read_at IS NOT NULL THEN 4 WHEN o.delivered_at IS NOT NULL THEN 3
			WHEN o.failed_at IS NOT NULL THEN 2 WHEN o.sent_at IS NOT NULL THEN 1 ELSE 0 END LIMIT $3`},
}

// Audit implements campaign.ReportLedger.
func (l *Postgres) Audit(ctx context.Context, no campaign.RunNo, limit int) (found []campaign.Problem, err error) {
	if limit <= 0 {
		return nil, nil
	}
	if err := l.snapshot(ctx, l.reports, func(t *pgTx) (err error) {
		found, err = t.auditCounts(no)
		return err
	}); err != nil {
		return nil, err
	}
	var highest int64
	if err := l.read(ctx, l.reports, row(&highest, `SELECT greatest((SELECT max(rid) FROM delivery WHERE rid >= $1 AND rid < $2),
		(SELECT max(rid) FROM outcome WHERE rid >= $1 AND rid < $2), 0)`, rid(no, 0), rid(no+1, 0))); err != nil {
		return nil, err
	}
	for from := rid(no, 0); from <= highest && len(found) < limit; from += auditStep {
		for _, c := range pgChecks {
			var more []campaign.Problem
			if err := l.read(ctx, l.reports, list(&more, func(scan func(...any) error) (p campaign.Problem, err error) {
				var detail string
				err = scan(&p.Row, &p.Seq, &detail)
				p.What = fmt.Sprintf(c.what, detail)
				return p, err
			}, c.query, from, from+auditStep, limit)); err != nil {
				return nil, err
			}
			found = append(found, more...)
		}
	}
	if len(found) < limit {
		twice, err := l.queuedTwice(ctx, no, limit-len(found))
		if err != nil {
			return nil, err
		}
		found = append(found, twice...)
	}
	return found[:min(limit, len(found))], nil
}

// auditCounts compares what must be equal on one snapshot, and looks at the segments.
func (t *pgTx) auditCounts(no campaign.RunNo) (found []campaign.Problem, err error) {
	r, err := t.oneRun(`WHERE r.no = $1`, int64(no))
	if err != nil {
		return nil, err
	}
	add := func(seq int64, format string, a ...any) {
		found = append(found, campaign.Problem{Seq: seq, What: fmt.Sprintf(format, a...)})
	}
	var deliveries, covered int64
	if err := t.do(row(&deliveries, `SELECT count(*) FROM delivery WHERE rid >= $1 AND rid < $2`, rid(no, 0), rid(no+1, 0)),
		row(&covered, `SELECT coalesce(sum(hi - lo), 0)::bigint FROM segment WHERE id >= $1 AND id < $2`, segmentID(no, 0), segmentID(no+1, 0))); err != nil {
		return nil, err
	}
	if deliveries != r.Rows {
		add(0, "the run counts %d rows, the ledger holds %d deliveries", r.Rows, deliveries)
	}
	if covered != deliveries {
		add(0, "its segments cover %d deliveries of %d", covered, deliveries)
	}
	if r.Budget > 0 && r.Taken > r.Budget {
		add(0, "%d deliveries were granted, max_messages is %d", r.Taken, r.Budget)
	}
	return found, t.do(each(func(scan func(...any) error) error {
		var index, lo, hi, mark int64
		err := scan(&index, &lo, &hi, &mark)
		add(lo, "segment %d has its mark or borders out of bounds: %d to %d, mark %d", index, lo, hi, mark)
		return err
	}, `SELECT id & 4294967295, lo, hi, mark FROM segment WHERE id >= $1 AND id < $2 AND
		(mark < lo OR mark > hi OR hi < lo OR hi > lo + 4096 OR lo <> (id & 4294967295) * 4096)`, segmentID(no, 0), segmentID(no+1, 0)))
}

// laneKept is how long what a sender says of its lanes is kept when it says no more, in milliseconds.
const laneKept = 10 * 60 * 1000

// ReportLanes implements campaign.SendLedger.
func (l *Postgres) ReportLanes(ctx context.Context, owner string, lanes []campaign.LaneReport) error {
	type of struct {
		run  campaign.RunNo
		conn string
	}
	var runs, ats []int64
	var connections, bindings, details []string
	var rates []float64
	seen := map[of]bool{}
	for i := len(lanes) - 1; i >= 0; i-- { // what it said last of a lane
		r := lanes[i]
		if k := (of{r.Run, plainText(r.Connection)}); !seen[k] {
			seen[k] = true
			runs, ats, rates = append(runs, int64(r.Run)), append(ats, millis(r.At)), append(rates, r.Rate)
			connections, bindings, details = append(connections, k.conn), append(bindings, plainText(r.LimitedBy)), append(details, plainText(clip(r.Detail, maxDetail)))
		}
	}
	owner = plainText(owner)
	return l.change(ctx, l.sender, "", func(t *pgTx) error {
		t.last(stmt(nil, `DELETE FROM lane WHERE owner = $1 OR told_at < ledger_now() - $2::bigint`, owner, int64(laneKept)),
			stmt(nil, `INSERT INTO lane (owner, run, connection, binding, detail, rate, at, told_at)
				SELECT $1, w.*, ledger_now() FROM unnest($2::bigint[], $3::text[], $4::text[], $5::text[], $6::float8[], $7::bigint[]) w
				ON CONFLICT (owner, run, connection) DO UPDATE SET binding = excluded.binding, detail = excluded.detail, rate = excluded.rate, at = excluded.at, told_at = excluded.told_at`,
				owner, runs, connections, bindings, details, rates, ats))
		return nil
	})
}

// Lanes implements campaign.ReportLedger.
func (l *Postgres) Lanes(ctx context.Context, no campaign.RunNo) (all []campaign.LaneReport, err error) {
	err = l.read(ctx, l.reports, list(&all, func(scan func(...any) error) (r campaign.LaneReport, err error) {
		var at int64
		err = scan(&r.Run, &r.Connection, &r.Owner, &r.LimitedBy, &r.Detail, &r.Rate, &at)
		r.At = timeOf(at)
		return r, err
	}, `SELECT run, connection, owner, binding, detail, rate, at FROM lane WHERE run = $1 ORDER BY connection, owner`, int64(no)))
	return all, err
}

// SegmentStates implements campaign.ReportLedger.
func (l *Postgres) SegmentStates(ctx context.Context, no campaign.RunNo) (all []campaign.SegmentState, err error) {
	err = l.read(ctx, l.reports, list(&all, func(scan func(...any) error) (campaign.SegmentState, error) {
		s := campaign.SegmentState{Segment: campaign.Segment{Run: no}}
		var lease, wake int64
		err := scan(&s.Index, &s.Group, &s.Lo, &s.Hi, &s.Closed, &s.Mark, &s.Epoch, &s.Owner, &lease, &wake, &s.Connection, &s.Done)
		s.LeaseUntil, s.WakeAt = timeOf(lease), timeOf(wake)
		return s, err
	}, `SELECT id & 4294967295, zone, lo, hi, closed, mark, epoch, owner, lease_until, wake_at, connection, done
		FROM segment WHERE id >= $1 AND id < $2 ORDER BY id`, segmentID(no, 0), segmentID(no+1, 0)))
	return all, err
}

// LastEventAt implements campaign.ReportLedger, to a tenth of a second.
func (l *Postgres) LastEventAt(ctx context.Context, no campaign.RunNo) (time.Time, error) {
	var at int64
	err := l.read(ctx, l.reports, row(&at, `SELECT event_at FROM run_event WHERE no = $1`, int64(no)))
	if errors.Is(err, pgx.ErrNoRows) {
		err = campaign.ErrNoRun
	}
	return timeOf(at), err
}
