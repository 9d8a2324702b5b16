package sqlite

import (
	"context"

	"campaignd/campaign"
	"campaignd/internal/ledger"
)

const (
	sqlOpenRetries = `SELECT count(*) FROM outcome INDEXED BY outcome_open
		WHERE rid >= ? AND rid < ? AND state IN (1, 2, 3) /* open */ AND state = 2 /* retrying */`
	sqlStaysOf = `UPDATE outcome SET connection = (SELECT connection FROM segment WHERE id = ?3)
		WHERE rid >= ?1 AND rid < ?2 AND connection = ''`
	sqlMoveSegment = `UPDATE segment SET connection = ?2, moved = moved + 1, epoch = epoch + 1, owner = '', lease_until = 0, wake_at = 0,
		moves = moves || (hi - mark + (SELECT count(*) FROM outcome INDEXED BY outcome_open
				WHERE rid >= ?3 AND rid < ?4 AND state IN (1, 2, 3) /* open */ AND state = 1 /* deferred */))
			|| ' ' || connection || char(10) WHERE id = ?1`
)

// Move implements campaign.SendLedger (docs/protocol.md#moves).
func (l *Ledger) Move(ctx context.Context, lease campaign.Lease, to string) (moved bool, err error) {
	err = l.submit(ctx, &op{urgency: results, rows: campaign.SegmentSize, run: func(t *tx) error {
		moved = false
		s, err := t.owned(lease)
		if err != nil {
			return err
		}
		var below, retrying int64
		if err := t.row(sqlCountOutcomes, args(s.First(), s.Marked()), &below); err != nil {
			return err
		}
		if err := t.row(sqlOpenRetries, args(s.First(), s.End()), &retrying); err != nil {
			return err
		}
		if !ledger.MayMoveAway(s, below, retrying) {
			return nil
		}
		t.recount(s.First())
		if _, err := t.exec(sqlStaysOf, s.First(), s.Marked(), s.Key); err != nil {
			return err
		}
		moved = true
		_, err = t.exec(sqlMoveSegment, s.Key, to, s.First(), s.End())
		return err
	}})
	return moved && err == nil, err
}
