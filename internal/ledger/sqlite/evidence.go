package sqlite

import (
	"context"
	"time"

	"campaignd/internal/ledger"
)

const sqlHeard = `SELECT EXISTS (SELECT 1 FROM (
	SELECT run, lo, hi FROM segment WHERE connection = ?1 AND mark > lo ORDER BY id DESC LIMIT 64) s
	CROSS JOIN outcome o WHERE o.rid >= (s.run << 32) + s.lo AND o.rid < (s.run << 32) + s.hi
	AND o.connection IN ('', ?1) AND o.state = 5 /* accepted */ AND o.rank > 0 /* none */ AND o.result_at >= ?2)`

// Heard implements campaign.SendLedger.
func (l *Ledger) Heard(ctx context.Context, connection string, since time.Time) (heard bool, err error) {
	err = l.read().row(ctx, sqlHeard, args(connection, ledger.Millis(since)), &heard)
	return heard, err
}
