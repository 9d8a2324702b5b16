package sqlite

import (
	"context"
	"strings"
	"time"

	"campaignd/campaign"
	"campaignd/internal/ledger"
	"campaignd/internal/ledger/portable"
)

// changeHolds merges holds and lifts with the stored ones. clock is the ledger's.
func (t *tx) changeHolds(hs []campaign.Hold, ls []campaign.Lift, clock time.Time) (ledger.Holds, error) {
	return portable.ChangeHolds(portableTx{t}, "", &t.options, hs, ls, clock)
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

// holds commits changeHolds.
func (l *Ledger) holds(ctx context.Context, hs []campaign.Hold, ls []campaign.Lift) (s ledger.Holds, err error) {
	if err := ledger.CheckHolds(hs, ls); err != nil || len(hs)+len(ls) == 0 {
		return s, err
	}
	clock := l.clock()
	hs, ls = ledger.ByClock(hs, ls, clock, time.Now())
	err = l.submit(ctx, &op{urgency: urgent, rows: len(hs) + len(ls), run: func(t *tx) (err error) {
		s, err = t.changeHolds(hs, ls, clock)
		return err
	}})
	if err != nil {
		return ledger.Holds{}, err
	}
	return s, nil
}

// holdWidth is how many ids of holds one statement looks for. An origin has at most 9.
const holdWidth = 9

const sqlAnyHold = `SELECT EXISTS (SELECT 1 FROM hold INDEXED BY hold_open WHERE lifted = 0 AND reason <> '')`

var sqlHoldsInForce = portable.SelectHold + `INDEXED BY hold_open WHERE lifted = 0 AND reason <> '' AND (until = 0 OR until > ?1)
	AND id IN (?2` + strings.Repeat(", ?", holdWidth-1) + `)`

// holdsInForce reads the holds in force that can stop the origin. Measured, it takes 60 µs, and 5
// µs while there is none at all.
func (t *tx) holdsInForce(o campaign.Origin, now int64) (found []campaign.Hold, err error) {
	if some, err := t.any(sqlAnyHold); err != nil || !some {
		return nil, err
	}
	a := make([]any, 1+holdWidth)
	a[0] = now
	ids := ledger.HoldIDs(o)
	for i := range holdWidth {
		a[1+i] = ids[min(i, len(ids)-1)]
	}
	err = t.each(sqlHoldsInForce, a, list(&found, ledger.ScanHold))
	return found, err
}

const sqlSentFrom = `SELECT o.rid, r.campaign, r.template, r.language, CASE WHEN o.connection <> '' THEN o.connection ELSE s.connection END
	FROM outcome o JOIN segment s ON s.id = ((o.rid >> 32) << 32) | ((o.rid & 0xffffffff) / 4096) JOIN run r ON r.no = s.run WHERE o.rid = ?`

// failureHolds returns the holds that failed statuses begin.
func (t *tx) failureHolds(f ledger.Failures) ([]campaign.Hold, error) {
	var from []ledger.SentFrom
	for _, id := range f.Rows() {
		if err := t.each(sqlSentFrom, args(id), list(&from, ledger.ScanSentFrom)); err != nil {
			return nil, err
		}
	}
	return f.Holds(from, t.options.Origin), nil
}
