package ledger

import (
	"context"

	"campaignd/campaign"
)

// ReportLanes implements campaign.SendLedger.
func (l *SQLite) ReportLanes(ctx context.Context, owner string, lanes []campaign.LaneReport) error {
	return l.submit(ctx, &op{urgency: results, rows: 1 + len(lanes), run: func(t *tx) error {
		if _, err := t.exec(`DELETE FROM lane WHERE owner = ?`, owner); err != nil {
			return err
		}
		for _, r := range lanes {
			if _, err := t.exec(`INSERT INTO lane (owner, run, connection, binding, detail, rate, at) VALUES (?, ?, ?, ?, ?, ?, ?)
				ON CONFLICT (owner, run, connection) DO UPDATE SET binding = excluded.binding, detail = excluded.detail, rate = excluded.rate, at = excluded.at`,
				owner, int64(r.Run), r.Connection, r.LimitedBy, clip(r.Detail, maxDetail), r.Rate, millis(r.At)); err != nil {
				return err
			}
		}
		return nil
	}})
}

// Lanes implements campaign.ReportLedger.
func (l *SQLite) Lanes(ctx context.Context, no campaign.RunNo) (all []campaign.LaneReport, err error) {
	err = l.read().each(ctx, `SELECT run, connection, owner, binding, detail, rate, at FROM lane WHERE run = ? ORDER BY connection, owner`, args(int64(no)),
		func(scan func(...any) error) error {
			var r campaign.LaneReport
			var at int64
			err := scan(&r.Run, &r.Connection, &r.Owner, &r.LimitedBy, &r.Detail, &r.Rate, &at)
			r.At = timeOf(at)
			all = append(all, r)
			return err
		})
	return all, err
}

// SegmentStates implements campaign.ReportLedger.
func (l *SQLite) SegmentStates(ctx context.Context, no campaign.RunNo) (all []campaign.SegmentState, err error) {
	err = l.read().each(ctx, `SELECT id & 0xffffffff, zone, lo, hi, closed, mark, epoch, owner, lease_until, wake_at, connection, done
		FROM segment WHERE id >= ? AND id < ? ORDER BY id`, args(segmentID(no, 0), segmentID(no+1, 0)), func(scan func(...any) error) error {
		s := campaign.SegmentState{Segment: campaign.Segment{Run: no}}
		var lease, wake int64
		err := scan(&s.Index, &s.Group, &s.Lo, &s.Hi, &s.Closed, &s.Mark, &s.Epoch, &s.Owner, &lease, &wake, &s.Connection, &s.Done)
		s.LeaseUntil, s.WakeAt = timeOf(lease), timeOf(wake)
		all = append(all, s)
		return err
	})
	return all, err
}
