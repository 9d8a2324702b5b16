package postgres

import (
	"context"
	"time"

	"campaignd/internal/ledger"
)

const sqlHeard = `SELECT EXISTS (SELECT 1 FROM (
	SELECT run, lo, hi FROM segment WHERE connection = $1 AND mark > lo ORDER BY id DESC LIMIT 64) s
	CROSS JOIN LATERAL (SELECT 1 FROM outcome WHERE rid >= (s.run << 32) + s.lo AND rid < (s.run << 32) + s.hi
	AND coalesce(connection, $1) = $1 AND state = 5 /* accepted */ AND rank > 0 /* none */ AND result_at >= $2 OFFSET 0) o)`

// Heard implements campaign.SendLedger.
func (l *Ledger) Heard(ctx context.Context, connection string, since time.Time) (heard bool, err error) {
	err = l.read(ctx, l.sender, row(&heard, sqlHeard, ledger.PlainText(connection), ledger.Millis(since)))
	return heard, err
}
