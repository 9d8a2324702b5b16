package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"iter"
	"math"
	"time"

	"campaignd/campaign"
	"campaignd/internal/filelock"
	"campaignd/internal/ledger"
	"campaignd/internal/spelling"
)

const sqlLines = lineColumns + `FROM delivery d INDEXED BY delivery_row` + lineTables +
	`WHERE d.rid >> 32 = ?2 AND d.row > ?3 ORDER BY d.row LIMIT ?4`

// Lines implements campaign.ReportLedger.
func (l *Ledger) Lines(ctx context.Context, no campaign.RunNo) iter.Seq2[campaign.Line, error] {
	return ledger.Pages(ledger.LinePage, func(last *campaign.Line) (page []campaign.Line, err error) {
		after := int64(math.MinInt64)
		if last != nil {
			after = last.Row
		} else if _, err := l.Run(ctx, no); err != nil {
			return nil, err
		}
		err = l.read().each(ctx, sqlLines, args(ledger.Millis(time.Now()), int64(no), after, ledger.LinePage), list(&page, ledger.ScanLine))
		return page, err
	})
}

const sqlLastEvent = `SELECT event_at FROM run_count WHERE no = ?`

// LastEventAt implements campaign.ReportLedger.
func (l *Ledger) LastEventAt(ctx context.Context, no campaign.RunNo) (time.Time, error) {
	var at int64
	err := l.read().row(ctx, sqlLastEvent, args(int64(no)), &at)
	if errors.Is(err, sql.ErrNoRows) {
		err = campaign.ErrNoRun
	}
	return ledger.TimeOf(at), err
}

// Tallies implements campaign.ReportLedger. It counts each page of segments in a snapshot of its
// own, so that the write-ahead log does not grow meanwhile. The sum is still the number of rows,
// because no delivery changes its segment.
func (l *Ledger) Tallies(ctx context.Context, no campaign.RunNo) ([]campaign.Tally, campaign.Funnel, error) {
	if _, err := l.Run(ctx, no); err != nil {
		return nil, campaign.Funnel{}, err
	}
	return ledger.Tallies(func(after int64) (page *ledger.Tally, last int64, err error) {
		err = l.snapshot(ctx, func(r reader) (err error) {
			page, last, err = r.tallyFrom(ctx, no, after)
			return err
		})
		return page, last, err
	})
}

const (
	sqlSegmentPage = `SELECT id & 0xffffffff, lo, hi, mark, done, lease_until > ? FROM segment
		WHERE id > ? AND id < ? ORDER BY id LIMIT ?`
	sqlTally = `SELECT state, rank,
			CASE WHEN state >= 6 /* refused */ OR state = 1 /* deferred */ THEN code
				WHEN rank = 2 /* failed */ THEN fail_code ELSE '' END, count(*),
			sum(sent_at > 0), sum(failed_at > 0), sum(flags & 1 /* adopted */),
			sum(flags & 2 /* may be a duplicate */) / 2, sum(flags & 8 /* ambiguous */) / 8
		FROM outcome WHERE rid >= ? AND rid < ? GROUP BY 1, 2, 3`
	sqlRetiredTally = `SELECT segment, state, rank, code, n, sent, failed, adopted, duplicate, ambiguous FROM retired_total
		WHERE segment > ? AND segment <= ?`
)

// tallyFrom counts the page of segments behind the index after. It returns the index of the last
// one, or -1 when none is left.
func (r reader) tallyFrom(ctx context.Context, no campaign.RunNo, after int64) (sum *ledger.Tally, last int64, err error) {
	var parts []ledger.Part
	sum, last = ledger.NewTally(), -1
	a := args(ledger.Millis(time.Now()), ledger.SegmentKey(no, after), ledger.SegmentKey(no+1, 0), ledger.TallyPage)
	if err := r.each(ctx, sqlSegmentPage, a, func(scan scanFunc) (err error) {
		parts, last, err = ledger.ScanParts(no, parts, scan)
		return err
	}); err != nil {
		return nil, -1, err
	}
	for i := range parts {
		p := &parts[i]
		if p.From == p.To {
			continue
		}
		if err := r.each(ctx, sqlTally, args(p.From, p.To), func(scan scanFunc) error {
			var g ledger.Group
			err := g.Scan(scan)
			sum.Count(p, g)
			return err
		}); err != nil {
			return nil, -1, err
		}
	}
	a = args(ledger.SegmentKey(no, after), ledger.SegmentKey(no, max(after, last)))
	if err := r.each(ctx, sqlRetiredTally, a, func(scan scanFunc) error {
		var segment int64
		var g ledger.Group
		err := g.Scan(scan, &segment)
		sum.CountRetired(parts, segment, g)
		return err
	}); err != nil {
		return nil, -1, err
	}
	sum.Rest(parts)
	return sum, last, nil
}

const (
	sqlAlive       = `UPDATE ledger SET alive_at = ?1 WHERE alive_at < ?1 - ?2`
	sqlDeleteLanes = `DELETE FROM lane WHERE owner = ?`
	// The column binding is LaneReport.LimitedBy.
	sqlInsertLane = `INSERT INTO lane (owner, run, connection, binding, detail, rate, wants, at, until) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
		ON CONFLICT (owner, run, connection) DO UPDATE SET binding = excluded.binding, detail = excluded.detail,
			rate = excluded.rate, wants = excluded.wants, at = excluded.at, until = excluded.until`
)

// ReportLanes implements campaign.SendLedger.
func (l *Ledger) ReportLanes(ctx context.Context, owner string, lanes []campaign.LaneReport) error {
	return l.submit(ctx, &op{urgency: results, rows: 1 + len(lanes), run: func(t *tx) error {
		if _, err := t.exec(sqlDeleteLanes, owner); err != nil {
			return err
		}
		for _, r := range lanes {
			if _, err := t.exec(sqlInsertLane, owner, int64(r.Run), r.Connection, string(r.LimitedBy),
				spelling.Clip(r.Detail, ledger.MaxSentence), r.Rate, r.Wants, ledger.Millis(r.At), ledger.Millis(r.Until)); err != nil {
				return err
			}
		}
		_, err := t.exec(sqlAlive, ledger.Millis(time.Now()), campaign.ListenEvery.Milliseconds())
		return err
	}})
}

// Lanes implements campaign.ReportLedger.
func (l *Ledger) Lanes(ctx context.Context, no campaign.RunNo) ([]campaign.LaneReport, error) {
	all, err := l.Ledger.Lanes(ctx, no)
	if len(all) > 0 && l.unsent() {
		for i := range all {
			all[i].Dead = true
		}
	}
	return all, err
}

// unsent reports whether this ledger, which is only read here, has no process that sends from it.
// Then the owners of its lanes and leases are dead (docs/protocol.md#leases).
func (l *Ledger) unsent() bool {
	return (l.options.Copy || l.options.ReadOnly || l.copied != "") && !filelock.Held(l.path+".lock")
}

const sqlLiveLanes = `SELECT run, connection, owner, binding, detail, rate, wants, at, until FROM lane
	WHERE at > ? ORDER BY connection, owner, run`

// LiveLanes implements campaign.SendLedger. The database's clock is this host's.
func (l *Ledger) LiveLanes(ctx context.Context, d time.Duration) (all []campaign.LaneReport, err error) {
	err = l.read().each(ctx, sqlLiveLanes, args(ledger.Millis(time.Now().Add(-d))), list(&all, ledger.ScanLane))
	return all, err
}

const sqlBacklog = `SELECT zone, sum(hi - mark) FROM segment INDEXED BY segment_undone WHERE run = ? AND done = 0 GROUP BY zone`

// Backlog implements campaign.SendLedger.
func (l *Ledger) Backlog(ctx context.Context, no campaign.RunNo) (map[string]int64, error) {
	all := map[string]int64{}
	err := l.read().each(ctx, sqlBacklog, args(int64(no)), func(scan scanFunc) error {
		var zone string
		var n int64
		err := scan(&zone, &n)
		all[zone] = n
		return err
	})
	return all, err
}

// SegmentStates implements campaign.ReportLedger.
func (l *Ledger) SegmentStates(ctx context.Context, no campaign.RunNo) ([]campaign.SegmentState, error) {
	all, err := l.Ledger.SegmentStates(ctx, no)
	if len(all) > 0 && l.unsent() {
		for i := range all {
			all[i].LeaseUntil = time.Time{}
		}
	}
	return all, err
}
