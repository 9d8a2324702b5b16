package postgres

import (
	"context"
	"time"

	"campaignd/campaign"
	"campaignd/internal/ledger"
	"campaignd/internal/ledger/portable"
)

// One writer of holds at a time: two replicas that report the same new hold have no row to lock.
// Readers do not wait. The number is the ledger's own.
const sqlLockHolds = `SELECT pg_advisory_xact_lock(7163384726178410)`

// changeHolds merges holds and lifts with the stored ones, and adds what changes to the commit. It
// waits for other writers of holds, so a transaction takes all its other locks before. clock is
// the database's.
func (t *tx) changeHolds(hs []campaign.Hold, ls []campaign.Lift, clock time.Time) (ledger.Holds, error) {
	return portable.ChangeHolds(portableTx{t}, sqlLockHolds, t.options, hs, ls, clock)
}

// AddHolds implements campaign.HoldLedger.
func (l *Ledger) AddHolds(ctx context.Context, hs []campaign.Hold) (began []campaign.Hold, err error) {
	s, err := l.holds(ctx, hs, nil)
	return s.Began, err
}

// LiftHolds implements campaign.HoldLedger.
func (l *Ledger) LiftHolds(ctx context.Context, ls []campaign.Lift) (ended []campaign.Hold, err error) {
	s, err := l.holds(ctx, nil, ls)
	return s.Ended, err
}

// holds commits changeHolds. After a commit that was not answered it tries again, and what began or
// ended with the first try is then missing from the answer.
func (l *Ledger) holds(ctx context.Context, hs []campaign.Hold, ls []campaign.Lift) (s ledger.Holds, err error) {
	if err := ledger.CheckHolds(hs, ls); err != nil || len(hs)+len(ls) == 0 {
		return s, err
	}
	clock, err := l.now(ctx, false)
	if err != nil {
		return s, err
	}
	hs, ls = ledger.ByClock(hs, ls, clock, time.Now())
	if err := l.change(ctx, l.sender, "", func(t *tx) (err error) {
		s, err = t.changeHolds(hs, ls, clock)
		return err
	}); err != nil {
		return ledger.Holds{}, err
	}
	return s, nil
}

const sqlHoldsInForce = portable.SelectHold + `WHERE lifted = 0 AND reason <> '' AND id = ANY($1) AND (until = 0 OR until > $2)`

// readHolds reads the holds in force that can stop one of the intents.
func (l *Ledger) readHolds(in []campaign.Intent, now int64, found *[]campaign.Hold) *query {
	var ids []string
	for i := range in {
		for _, id := range ledger.HoldIDs(ledger.IntentOrigin(&in[i])) {
			ids = append(ids, ledger.PlainText(id))
		}
	}
	return each(func(scan scanFunc) error {
		h, err := ledger.ScanHold(scan)
		*found = append(*found, h)
		return err
	}, sqlHoldsInForce, ids, now)
}

const sqlSentFrom = `SELECT o.rid, r.campaign, r.template, r.language, coalesce(o.connection, s.connection) FROM outcome o
	CROSS JOIN LATERAL (SELECT connection FROM segment WHERE id = ((o.rid >> 32) << 32) | ((o.rid & 4294967295) / 4096) OFFSET 0) s
	CROSS JOIN LATERAL (SELECT campaign, template, language FROM run WHERE no = o.rid >> 32 OFFSET 0) r
	WHERE o.rid = ANY($1) ORDER BY o.rid`

// failureHolds returns the holds that failed statuses begin. do runs a query.
func (l *Ledger) failureHolds(do func(...*query) error, f ledger.Failures) ([]campaign.Hold, error) {
	if len(f) == 0 {
		return nil, nil
	}
	var from []ledger.SentFrom
	if err := do(list(&from, ledger.ScanSentFrom, sqlSentFrom, f.Rows())); err != nil {
		return nil, err
	}
	return f.Holds(from, l.options.Origin), nil
}

// holdAbsorbed begins the holds that absorbed orphans tell of, and removes the suppressions that
// they disprove. It is a transaction of its own, because the one that absorbs them learns of them
// with its commit. A hold that is lost between the two begins with the next refusal or failed
// status.
func (l *Ledger) holdAbsorbed(ctx context.Context, told absorbed) {
	if err := l.reachable(ctx, nil, told.reached, nil); err != nil {
		l.log.Warn("a number that was delivered to is still called unreachable", "ledger", l.name, "err", err)
	}
	hs, err := l.failureHolds(func(qs ...*query) error { return l.read(ctx, l.hooks, qs...) }, told.failures)
	if err == nil {
		_, err = l.holds(ctx, hs, nil)
	}
	if err != nil {
		l.log.Warn("a hold of a failed status was not stored", "ledger", l.name, "err", err)
	}
}
