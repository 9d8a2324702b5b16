package sqlite

import (
	"context"
	"iter"
	"math"
	"time"

	"campaignd/campaign"
	"campaignd/campaign/reception"
	"campaignd/internal/filelock"
	"campaignd/internal/ledger"
	"campaignd/internal/sentence"
)

const sqlLines = lineColumns + `FROM delivery d INDEXED BY delivery_row` + lineTables +
	`WHERE d.rid >> 32 = ?2 AND d.row > ?3 ORDER BY d.row LIMIT +?4`

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
				sentence.Clip(r.Detail, ledger.MaxSentence), r.Rate, r.Wants, ledger.Millis(r.At), ledger.Millis(r.Until)); err != nil {
				return err
			}
		}
		if l.trusted != nil && !l.trusted() {
			return nil
		}
		now := ledger.Millis(time.Now())
		n, err := t.exec(sqlAlive, now, reception.ListenEvery.Milliseconds())
		if n > 0 {
			l.aliveAt.Store(now)
		}
		return err
	}})
}

// Trust makes the ledger keep the time of this process as its newest one only while trusted says
// that the clock is right: a time to come would make a right clock seem behind. It is called before
// anything is sent.
func (l *Ledger) Trust(trusted func() bool) { l.trusted = trusted }

const sqlAliveAt = `SELECT alive_at FROM ledger`

// Clock implements campaign.FiringLedger. The newest time in the ledger is that of its sender.
func (l *Ledger) Clock(ctx context.Context) (time.Time, error) {
	var alive int64
	if err := l.read().row(ctx, sqlAliveAt, nil, &alive); err != nil {
		return time.Time{}, err
	}
	l.aliveAt.Store(alive)
	return l.clock(), nil
}

const sqlNewestLift = `SELECT max(coalesce((SELECT max(at) FROM opt_in), 0),
	coalesce((SELECT max(max(since, lifted)) FROM hold WHERE reason = ''), 0))`

// newest is the later of the clock and of the newest lift in the ledger, which an event that seems
// to be ahead is compared with: then the clock may be behind.
func (t *tx) newest(clock time.Time) (time.Time, error) {
	var lifted int64
	if err := t.row(sqlNewestLift, nil, &lifted); err != nil || lifted <= ledger.Millis(clock) {
		return clock, err
	}
	return ledger.TimeOf(lifted), nil
}

// clock is this machine's clock. It is not before the newest time in the ledger: a clock that was
// set back must not make events older than they are.
func (l *Ledger) clock() time.Time {
	if now := time.Now(); ledger.Millis(now) >= l.aliveAt.Load() {
		return now
	}
	return ledger.TimeOf(l.aliveAt.Load())
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
	WHERE at > ? AND owner <> ? ORDER BY connection, owner, run`

// LiveLanes implements campaign.SendLedger. The database's clock is this host's.
func (l *Ledger) LiveLanes(ctx context.Context, d time.Duration, but string) (all []campaign.LaneReport, err error) {
	err = l.read().each(ctx, sqlLiveLanes, args(ledger.Millis(time.Now().Add(-d)), but), list(&all, ledger.ScanLane))
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
