package portable

import (
	"context"
	"time"

	"campaignd/campaign"
	"campaignd/internal/ledger"
)

// SelectHold is the head of every query whose rows ledger.ScanHold reads.
const SelectHold = `SELECT scope, id, reason, detail, source, since, latest, until, manual, count, lifted, lifted_by,
	who, lifted_who FROM hold `

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

const (
	sqlHoldsOf   = SelectHold + `WHERE scope = $1 AND id = $2`
	sqlWriteHold = `INSERT INTO hold (scope, id, reason, detail, source, since, latest, until, manual, count, lifted, lifted_by,
			who, lifted_who)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14)
		ON CONFLICT (scope, id, reason) DO UPDATE SET detail = excluded.detail, source = excluded.source, since = excluded.since,
			latest = excluded.latest, until = excluded.until, manual = excluded.manual, count = excluded.count,
			lifted = excluded.lifted, lifted_by = excluded.lifted_by, who = excluded.who, lifted_who = excluded.lifted_who`
)

// ChangeHolds merges holds and lifts with the stored ones, and adds what changes to the commit.
// lock, if it is not empty, waits for other writers of holds, so a transaction takes all its other
// locks before. clock is the ledger's.
func ChangeHolds(
	t Tx, lock string, o *ledger.Options, hs []campaign.Hold, ls []campaign.Lift, clock time.Time,
) (s ledger.Holds, err error) {
	if len(hs)+len(ls) == 0 {
		return s, nil
	}
	if lock != "" {
		if _, err := t.Exec(lock); err != nil {
			return s, err
		}
	}
	now, receipts := time.Now(), ledger.Receipts(nil, ls, clock)
	if err := FirstReceipts(t, receipts); err != nil {
		return s, err
	}
	_, ls = ledger.Counted(receipts, nil, ls)
	type of struct {
		scope campaign.HoldScope
		id    string
	}
	seen := map[of]bool{}
	read := func(scope campaign.HoldScope, id string) error {
		if seen[of{scope, id}] {
			return nil
		}
		seen[of{scope, id}] = true
		return t.Each(func(scan Scan) error {
			h, err := ledger.ScanHold(scan)
			s.Read(h)
			return err
		}, sqlHoldsOf, string(scope), id)
	}
	for _, h := range hs {
		h.ID, h.Reason, h.Detail, h.Who = ledger.PlainText(h.ID), ledger.PlainText(h.Reason), ledger.PlainText(h.Detail), ledger.PlainText(h.Who)
		if err := read(h.Scope, h.ID); err != nil {
			return s, err
		}
		s.Add(h, now, clock)
	}
	for _, l := range ls {
		l.ID, l.Reason, l.Who = ledger.PlainText(l.ID), ledger.PlainText(l.Reason), ledger.PlainText(l.Who)
		if err := read(l.Scope, l.ID); err != nil {
			return s, err
		}
		s.Lift(l, now)
	}
	for _, h := range s.Changed() {
		if err := t.Last(sqlWriteHold, string(h.Scope), h.ID, h.Reason, h.Detail, string(h.Source), ledger.Millis(h.Since),
			ledger.Millis(h.Latest), ledger.Millis(h.Until), h.Manual, h.Count, ledger.Millis(h.Lifted), string(h.LiftedBy),
			h.Who, h.LiftedWho); err != nil {
			return s, err
		}
	}
	for _, n := range o.NotifyHolds(s.Began, now) {
		query, args := Notification(&n)
		if err := t.Last(query, args...); err != nil {
			return s, err
		}
	}
	return s, nil
}
