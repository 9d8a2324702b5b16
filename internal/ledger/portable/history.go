package portable

import (
	"cmp"
	"context"
	"slices"

	"campaignd/campaign"
	"campaignd/internal/ledger"
)

// sqlTellCanary writes that the rows that waited for the canary of the run $1 were released now,
// $2, by the operator $3 or after a verdict that saw $4.
const sqlTellCanary = `INSERT INTO history (at, run, kind, value, id, detail, who) VALUES ($2, $1, 'canary', '', '', $4, $3)`

const (
	sqlLastEntry = `SELECT coalesce(max(no), 0) FROM history WHERE run = $1`
	sqlNameWho   = `UPDATE history SET who = $1 WHERE run = $2 AND no > $3`
)

// named runs change, and names the operator who in the entries that change adds to the history of a
// run that the transaction has locked. Triggers write these entries, and know no operator.
func named(t Tx, no campaign.RunNo, who string, change func() error) error {
	if who == "" {
		return change()
	}
	var last int64
	if _, err := one(t.Each, []any{&last}, sqlLastEntry, int64(no)); err != nil {
		return err
	}
	if err := change(); err != nil {
		return err
	}
	_, err := t.Exec(sqlNameWho, ledger.PlainText(who), int64(no), last)
	return err
}

const (
	// The holds are those of the time of the run; $3 is its end, 0 if it goes on.
	sqlHistory = `SELECT at, kind, value, id, detail, source, who, why, until FROM history
		WHERE run = $1 OR run = 0 AND at >= $2 AND (at <= $3 OR $3 = 0) ORDER BY at, no`
	// The lane after that of the connection $2 and the owner $3, with its first and its last point.
	sqlNextLane = `SELECT h.connection, h.owner, h.at,
			(SELECT max(l.at) FROM lane_history l WHERE l.run = $1 AND l.connection = h.connection AND l.owner = h.owner)
		FROM lane_history h WHERE h.run = $1 AND (h.connection, h.owner) > ($2, $3) ORDER BY h.connection, h.owner, h.at LIMIT 1`
	// The points of a lane from $4 to $5 that are at least $6 apart, and the last one. Each is one
	// search of the index, so that the points between them are not read.
	sqlLanePoints = `WITH RECURSIVE told (at) AS (SELECT CAST($4 AS bigint) UNION ALL
			SELECT (SELECT h.at FROM lane_history h WHERE h.run = $1 AND h.connection = $2 AND h.owner = $3
				AND h.at >= least(told.at + $6, $5) ORDER BY h.at LIMIT 1) FROM told WHERE told.at < $5)
		SELECT h.at, h.connection, h.owner, h.binding, h.rate FROM told
			JOIN lane_history h ON h.run = $1 AND h.connection = $2 AND h.owner = $3 AND h.at = told.at`
	sqlConnectionsOf = `SELECT DISTINCT connection FROM segment WHERE id >= $1 AND id < $2 AND connection <> ''`
)

// History implements campaign.ReportLedger.
func (l *Ledger) History(ctx context.Context, no campaign.RunNo) (h campaign.History, err error) {
	r, err := l.Run(ctx, no)
	if err != nil {
		return h, err
	}
	connections, err := list(ctx, l.db, Reports, func(scan Scan) (c string, err error) {
		err = scan(&c)
		return c, err
	}, sqlConnectionsOf, ledger.SegmentKey(no, 0), ledger.SegmentKey(no+1, 0))
	if err != nil {
		return h, err
	}
	if h.Entries, err = list(ctx, l.db, Reports, ledger.ScanHistoryEntry, sqlHistory, int64(no), ledger.Millis(r.CreatedAt),
		ledger.Millis(r.EndedAt)); err != nil {
		return h, err
	}
	h.Entries = slices.DeleteFunc(h.Entries, func(e campaign.HistoryEntry) bool {
		if e.Kind != campaign.HistoryHold && e.Kind != campaign.HistoryHoldEnded {
			return false
		}
		switch campaign.HoldScope(e.Value) {
		case campaign.HoldConnection:
			return !slices.Contains(connections, e.ID)
		case campaign.HoldRun:
			return e.ID != r.ID()
		}
		return false
	})
	h.Lanes, err = l.lanePoints(ctx, no)
	return h, err
}

// mostLanePoints is how many points History has, beside the first and the last one of each lane.
// 200 numbers tell 8,640,000 in 30 days.
const mostLanePoints = 10_000

// laneSpan is a lane, and the times of its first and its last point.
type laneSpan struct {
	connection, owner string
	first, last       int64
}

// lanePoints returns what limited the lanes of a run, in order of time. The points of lanes that
// have many are some minutes or hours apart.
func (l *Ledger) lanePoints(ctx context.Context, no campaign.RunNo) (points []campaign.LanePoint, err error) {
	var lanes []laneSpan
	step := int64(mostLanePoints)
	for last := (laneSpan{}); ; {
		found, err := l.row(ctx, Reports, []any{&last.connection, &last.owner, &last.first, &last.last}, sqlNextLane, int64(no),
			last.connection, last.owner)
		if err != nil {
			return nil, err
		}
		if !found {
			break
		}
		lanes, step = append(lanes, last), step+last.last-last.first
	}
	for _, lane := range lanes {
		told, err := list(ctx, l.db, Reports, ledger.ScanLanePoint, sqlLanePoints, int64(no), lane.connection, lane.owner, lane.first,
			lane.last, step/mostLanePoints)
		if err != nil {
			return nil, err
		}
		points = append(points, told...)
	}
	slices.SortFunc(points, func(a, b campaign.LanePoint) int {
		return cmp.Or(a.At.Compare(b.At), cmp.Compare(a.Connection, b.Connection), cmp.Compare(a.Owner, b.Owner))
	})
	return points, nil
}
