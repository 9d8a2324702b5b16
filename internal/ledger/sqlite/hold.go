package sqlite

import (
	"context"
	"strings"
	"time"

	"campaignd/campaign"
	"campaignd/internal/ledger"
	"campaignd/internal/ledger/portable"
)

const (
	sqlHoldsOf   = portable.SelectHold + `WHERE scope = ? AND id = ?`
	sqlWriteHold = `INSERT OR REPLACE INTO hold (scope, id, reason, detail, source, since, latest, until, manual, count, lifted, lifted_by)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`
)

// changeHolds merges holds and lifts with the stored ones.
func (t *tx) changeHolds(hs []campaign.Hold, ls []campaign.Lift) (s ledger.Holds, err error) {
	now := time.Now()
	receipts := ledger.Receipts(nil, ls, now)
	if err := t.firstReceipts(receipts); err != nil {
		return s, err
	}
	_, ls = ledger.Counted(receipts, nil, ls)
	type of struct {
		scope campaign.HoldScope
		id    string
	}
	seen := map[of]bool{}
	read := func(o of) error {
		if seen[o] {
			return nil
		}
		seen[o] = true
		return t.each(sqlHoldsOf, args(string(o.scope), o.id), func(scan scanFunc) error {
			h, err := ledger.ScanHold(scan)
			s.Read(h)
			return err
		})
	}
	for _, h := range hs {
		if err := read(of{h.Scope, h.ID}); err != nil {
			return s, err
		}
		s.Add(h, now)
	}
	for _, l := range ls {
		if err := read(of{l.Scope, l.ID}); err != nil {
			return s, err
		}
		s.Lift(l, now)
	}
	for _, h := range s.Changed() {
		if _, err := t.exec(sqlWriteHold, string(h.Scope), h.ID, h.Reason, h.Detail, string(h.Source), ledger.Millis(h.Since),
			ledger.Millis(h.Latest), ledger.Millis(h.Until), h.Manual, h.Count, ledger.Millis(h.Lifted), string(h.LiftedBy)); err != nil {
			return s, err
		}
	}
	return s, t.notify(t.options.NotifyHolds(s.Began, now))
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
	err = l.submit(ctx, &op{urgency: urgent, rows: len(hs) + len(ls), run: func(t *tx) (err error) {
		s, err = t.changeHolds(hs, ls)
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
	var some bool
	if err := t.row(sqlAnyHold, nil, &some); err != nil || !some {
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
