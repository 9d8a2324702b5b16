package portable

import (
	"context"
	"time"

	"campaignd/campaign"
	"campaignd/internal/ledger"
)

// SelectHold is the head of every query whose rows ledger.ScanHold reads.
const SelectHold = `SELECT scope, id, reason, detail, source, since, latest, until, manual, count, lifted, lifted_by FROM hold `

const (
	sqlAllHolds  = SelectHold + `ORDER BY scope, id, reason`
	sqlOpenHolds = SelectHold + `WHERE lifted = 0 AND reason <> '' ORDER BY scope, id, reason`
)

// Holds implements campaign.HoldLedger.
func (l *Ledger) Holds(ctx context.Context, ended bool) ([]campaign.Hold, error) {
	query, now := sqlOpenHolds, time.Now()
	if ended {
		query = sqlAllHolds
	}
	all, err := list(ctx, l.db, Sending, ledger.ScanHold, query)
	if err != nil {
		return nil, err
	}
	return ledger.Listed(all, ended, now), nil
}
