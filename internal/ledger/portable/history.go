package portable

import (
	"context"
	"slices"

	"campaignd/campaign"
	"campaignd/internal/ledger"
)

// TellCanary writes that the rows that waited for the canary of the run $1 were released now, $2.
const TellCanary = `INSERT INTO history (at, run, kind, value, id, detail) VALUES ($2, $1, 'canary', '', '', '')`

const (
	// The holds are those of the time of the run; $3 is its end, 0 if it goes on.
	sqlHistory = `SELECT at, kind, value, id, detail FROM history
		WHERE run = $1 OR run = 0 AND at >= $2 AND (at <= $3 OR $3 = 0) ORDER BY at, no`
	sqlLaneHistory   = `SELECT at, connection, owner, binding, rate FROM lane_history WHERE run = $1 ORDER BY at, connection, owner`
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
	h.Lanes, err = list(ctx, l.db, Reports, ledger.ScanLanePoint, sqlLaneHistory, int64(no))
	return h, err
}
