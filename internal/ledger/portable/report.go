package portable

import (
	"context"
	"time"

	"campaignd/campaign"
	"campaignd/internal/ledger"
)

const sqlLanes = `SELECT run, connection, owner, binding, detail, rate, wants, at, until FROM lane
	WHERE run = $1 ORDER BY connection, owner`

// Lanes implements campaign.ReportLedger.
func (l *Ledger) Lanes(ctx context.Context, no campaign.RunNo) ([]campaign.LaneReport, error) {
	return list(ctx, l.db, Reports, ledger.ScanLane, sqlLanes, int64(no))
}

const sqlSegmentStates = `SELECT id & 4294967295, zone, lo, hi, closed, mark, epoch, owner, lease_until, wake_at, connection, done, moved,
	moves, bound FROM segment WHERE id >= $1 AND id < $2 ORDER BY id`

// SegmentStates implements campaign.ReportLedger.
func (l *Ledger) SegmentStates(ctx context.Context, no campaign.RunNo) ([]campaign.SegmentState, error) {
	return list(ctx, l.db, Reports, func(scan Scan) (campaign.SegmentState, error) {
		return ledger.ScanSegmentState(no, scan)
	}, sqlSegmentStates, ledger.SegmentKey(no, 0), ledger.SegmentKey(no+1, 0))
}

// LastEventAt implements campaign.ReportLedger.
func (l *Ledger) LastEventAt(ctx context.Context, no campaign.RunNo) (time.Time, error) {
	var at int64
	found, err := l.row(ctx, Reports, []any{&at}, l.own.LastEvent, int64(no))
	if err == nil && !found {
		err = campaign.ErrNoRun
	}
	return ledger.TimeOf(at), err
}
