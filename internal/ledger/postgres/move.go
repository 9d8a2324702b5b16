package postgres

import (
	"context"

	"campaignd/campaign"
	"campaignd/internal/ledger"
)

const (
	sqlOpenRetries = `SELECT count(*) FROM outcome WHERE rid >= $1 AND rid < $2 AND state = 2 /* retrying */`
	// In the order of the rows: transactions that lock rows in one order do not deadlock.
	sqlStaysOf = `UPDATE outcome SET connection = (SELECT nullif(connection, '') FROM segment WHERE id = $3)
		WHERE rid = ANY(ARRAY(SELECT rid FROM outcome WHERE rid >= $1 AND rid < $2 AND connection IS NULL ORDER BY rid FOR NO KEY UPDATE))`
	sqlMoveSegment = `UPDATE segment SET connection = $2, moved = moved + 1, epoch = epoch + 1, owner = '', lease_until = 0, wake_at = 0,
		moves = moves || (hi - mark + (SELECT count(*) FROM outcome WHERE rid >= $3 AND rid < $4 AND state = 1 /* deferred */))
			|| ' ' || connection || chr(10) WHERE id = $1`
)

// Move implements campaign.SendLedger (docs/protocol.md#moves).
func (l *Ledger) Move(ctx context.Context, lease campaign.Lease, to string) (moved bool, err error) {
	err = l.change(ctx, l.sender, "", func(t *tx) error {
		moved = false
		s, err := t.owned(lease)
		if err != nil {
			return err
		}
		var below, retrying int64
		if err := t.do(row(&below, sqlCountOutcomes, s.First(), s.Marked()), row(&retrying, sqlOpenRetries, s.First(), s.End())); err != nil {
			return err
		}
		if moved = ledger.MayMoveAway(s, below, retrying); !moved {
			return nil
		}
		t.recount(s.First())
		if err := t.do(stmt(nil, sqlStaysOf, s.First(), s.Marked(), s.Key)); err != nil {
			return err
		}
		t.last(stmt(nil, sqlMoveSegment, s.Key, ledger.PlainText(to), s.First(), s.End()))
		return nil
	})
	return moved && err == nil, err
}
