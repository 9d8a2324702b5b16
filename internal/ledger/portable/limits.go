package portable

import (
	"context"

	"campaignd/campaign"
)

const (
	sqlRamps   = `SELECT connection, day, steps, cut FROM ramp`
	sqlSetRamp = `INSERT INTO ramp (connection, day, steps, cut) SELECT $1, $2, $3, $4
		WHERE CAST($5 AS bigint) = 0 OR EXISTS (SELECT 1 FROM ramp WHERE connection = $1)
		ON CONFLICT (connection) DO UPDATE SET day = $2, steps = $3, cut = $4
		WHERE ramp.day = $5 AND ramp.steps = $6 AND ramp.cut = $7`
)

// Ramps implements campaign.LimitLedger.
func (l *Ledger) Ramps(ctx context.Context) (map[string]campaign.RampState, error) {
	all := map[string]campaign.RampState{}
	err := l.db.Rows(ctx, Reports, func() { clear(all) }, func(scan Scan) error {
		var connection string
		var s campaign.RampState
		err := scan(&connection, &s.Day, &s.Steps, &s.Cut)
		all[connection] = s
		return err
	}, sqlRamps)
	return all, err
}

// SetRamp implements campaign.LimitLedger.
func (l *Ledger) SetRamp(ctx context.Context, connection string, from, to campaign.RampState) (changed bool, err error) {
	n, err := l.exec(ctx, Sending, sqlSetRamp, connection, to.Day, to.Steps, to.Cut, from.Day, from.Steps, from.Cut)
	return n == 1, err
}

const (
	sqlPlan    = `SELECT messages FROM plan`
	sqlSetPlan = `INSERT INTO plan (one, messages) VALUES (1, $1) ON CONFLICT (one) DO UPDATE SET messages = $1`
)

// SetPlan implements campaign.LimitLedger.
func (l *Ledger) SetPlan(ctx context.Context, messages int64) (before int64, err error) {
	err = l.db.Change(ctx, Sending, func(t Tx) error {
		before = 0
		if _, err := one(t.Lock, []any{&before}, sqlPlan); err != nil {
			return err
		}
		_, err := t.Exec(sqlSetPlan, messages)
		return err
	})
	return before, err
}
