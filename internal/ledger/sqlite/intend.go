package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"campaignd/campaign"
	"campaignd/internal/ledger"
	"campaignd/internal/mutant"
)

// Intend implements campaign.SendLedger. A retry that is no longer due (its late answer
// came, or it was dropped) stands in Skipped with the reason "": it must not be posted.
// The ledger reads phone keys from its own deliveries, so Intent.Keys is not needed here.
func (l *Ledger) Intend(ctx context.Context, in []campaign.Intent) (granted []campaign.Granted, err error) {
	if mutant.On("no_intent") {
		for _, i := range in {
			granted = append(granted, campaign.Granted{To: i.To})
		}
		return granted, nil
	}
	if err := l.Restored(ctx); err != nil {
		return nil, err
	}
	rows := 1
	for _, i := range in {
		rows += 4 + len(i.Defer) + len(i.Retries)
	}
	err = l.submit(ctx, &op{urgency: urgent, rows: rows, crash: "intent_before_commit", run: func(t *tx) error {
		granted = make([]campaign.Granted, 0, len(in))
		for i := range in {
			g, err := t.intend(&in[i])
			if err != nil {
				return err
			}
			granted = append(granted, g)
		}
		return nil
	}})
	if err != nil {
		return nil, err
	}
	return granted, nil
}

// intend grants one group. It writes nothing when it answers Held or Fenced.
func (t *tx) intend(in *campaign.Intent) (g campaign.Granted, err error) {
	no := in.Lease.Run
	id := ledger.SegmentKey(no, in.Lease.Index)
	var epoch, mark, lo, hi, budget, taken int64
	var done, marketing bool
	var bound string
	var state campaign.State
	var wanted campaign.Wanted
	err = t.row(`SELECT s.epoch, s.mark, s.lo, s.hi, s.done, s.connection, r.state, r.wanted, r.marketing, r.budget, c.taken
		FROM segment s JOIN run r ON r.no = s.run JOIN run_count c ON c.no = s.run WHERE s.id = ?`, args(id),
		&epoch, &mark, &lo, &hi, &done, &bound, &state, &wanted, &marketing, &budget, &taken)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return campaign.Granted{Fenced: true}, nil
	case err != nil:
		return g, err
	// The epoch too, not only the mark: another owner may have moved the mark to the same value (reliability.md 1.3).
	case epoch != in.Lease.Epoch || mark != in.From || done:
		return campaign.Granted{Fenced: true}, nil
	case bound != "" && bound != in.Connection:
		return g, fmt.Errorf("run %d segment %d is bound to connection %s and cannot be sent by %s", no, in.Lease.Index, bound, in.Connection)
	case in.Connection == "":
		return g, fmt.Errorf("run %d segment %d: an intent needs a connection", no, in.Lease.Index)
	case in.To < in.From || in.To > hi:
		return g, fmt.Errorf("run %d segment %d: an intent for %d to %d of %d to %d", no, in.Lease.Index, in.From, in.To, lo, hi)
	}
	g.To = in.From
	if wanted != campaign.WantRun || state != campaign.Running && state != campaign.Ready {
		g.Held = true
		return g, nil
	}
	now := time.Now()
	left := int64(1) << 62 // what the budget still allows
	if budget > 0 {
		left = max(0, budget-taken)
	}
	group, err := t.group(in, marketing, ledger.Millis(now), left)
	if err != nil {
		return g, err
	}
	left -= group.Count
	retries, err := t.retries(in, marketing, ledger.Millis(now), left)
	if err != nil {
		return g, err
	}
	left -= retries.Count
	g.To, g.OverBudget = group.To, left == 0
	if wrote := group.To > in.From || len(retries.Grant)+len(retries.Skip) > 0; !wrote && (in.To > in.From || retries.Short) {
		g.Held = true // by the budget
		return g, nil
	}
	g.Skipped = ledger.SkippedOf(group, retries)
	return g, t.grant(in, id, state, now, group, retries)
}

// group walks From..To until the budget ends. What was skipped by the import or is
// suppressed now costs nothing; nor does what is held back, until its own intent.
func (t *tx) group(in *campaign.Intent, marketing bool, now, left int64) (p ledger.Portion, err error) {
	p.To = in.From
	if in.To == in.From {
		return p, nil
	}
	no := in.Lease.Run
	first, end := ledger.RowID(no, in.From), ledger.RowID(no, in.To)
	settled := map[int64]bool{}
	if err := t.each(`SELECT rid FROM outcome WHERE rid >= ? AND rid < ?`, args(first, end), func(scan func(...any) error) error {
		var r int64
		err := scan(&r)
		settled[ledger.SeqOf(r)] = true
		return err
	}); err != nil {
		return p, err
	}
	suppressed := map[int64]campaign.SkipReason{}
	var some bool
	if err := t.row(`SELECT EXISTS (SELECT 1 FROM suppression)`, nil, &some); err != nil {
		return p, err
	}
	if some {
		if err := t.each(`SELECT d.rid, s.scope FROM delivery d CROSS JOIN suppression s ON s.key = d.key
			WHERE d.rid >= ? AND d.rid < ? AND (s.until = 0 OR s.until > ?)`, args(first, end, now), func(scan func(...any) error) error {
			var r int64
			var scope campaign.Scope
			if err := scan(&r, &scope); err != nil {
				return err
			}
			if why := ledger.SkipFor(scope, marketing); why != "" && !settled[ledger.SeqOf(r)] {
				suppressed[ledger.SeqOf(r)] = ledger.Stronger(suppressed[ledger.SeqOf(r)], why)
			}
			return nil
		}); err != nil {
			return p, err
		}
	}
	later := map[int64]campaign.Deferral{}
	for _, d := range in.Defer {
		later[d.Seq] = d
	}
	for seq := in.From; seq < in.To; seq++ {
		why, skip := suppressed[seq]
		d, defers := later[seq]
		switch {
		case settled[seq]:
		case skip:
			if p.Skip == nil {
				p.Skip = map[int64]campaign.SkipReason{}
			}
			p.Skip[seq] = why
		case defers:
			p.Hold = append(p.Hold, d)
		case p.Count == left:
			return p, nil
		default:
			p.Count++
		}
		p.To = seq + 1
	}
	return p, nil
}

// retries chooses those that are still due, not suppressed and, if they were never
// counted, within the budget.
func (t *tx) retries(in *campaign.Intent, marketing bool, now, left int64) (p ledger.Portion, err error) {
	for _, r := range in.Retries {
		if r.Seq < in.Lease.Lo || r.Seq >= in.Lease.Hi {
			return p, fmt.Errorf("run %d: retry of seq %d is not of segment %d", in.Lease.Run, r.Seq, in.Lease.Index)
		}
		var state ledger.Outcome
		var attempt int
		var why campaign.SkipReason
		err := t.row(`SELECT state, attempt FROM outcome WHERE rid = ?`, args(ledger.RowID(in.Lease.Run, r.Seq)), &state, &attempt)
		if err != nil && !errors.Is(err, sql.ErrNoRows) {
			return p, err
		}
		stale := err != nil || state != ledger.Deferred || attempt != r.Attempt-1
		if !stale {
			if err := t.each(`SELECT s.scope FROM delivery d CROSS JOIN suppression s ON s.key = d.key
				WHERE d.rid = ? AND (s.until = 0 OR s.until > ?)`, args(ledger.RowID(in.Lease.Run, r.Seq), now), func(scan func(...any) error) error {
				var scope campaign.Scope
				err := scan(&scope)
				why = ledger.Stronger(why, ledger.SkipFor(scope, marketing))
				return err
			}); err != nil {
				return p, err
			}
		}
		counts := attempt == 0 // never granted before, or given back
		if !stale && why == "" && counts && p.Count == left {
			p.Short = true
			stale = true
		}
		if stale || why != "" {
			if p.Skip == nil {
				p.Skip = map[int64]campaign.SkipReason{}
			}
			p.Skip[r.Seq] = why
			continue
		}
		if counts {
			p.Count++
		}
		p.Grant = append(p.Grant, r)
	}
	if p.Short && len(p.Grant) == 0 && ledger.OnlyEmpty(p.Skip) {
		p.Skip = nil // nothing but the budget stood in their way
	}
	return p, nil
}

// grant writes what was chosen.
func (t *tx) grant(in *campaign.Intent, id int64, state campaign.State, now time.Time, group, retries ledger.Portion) error {
	no, ms := in.Lease.Run, ledger.Millis(now)
	if _, err := t.exec(`UPDATE segment SET mark = ?, connection = ? WHERE id = ?`, group.To, in.Connection, id); err != nil {
		return err
	}
	for seq, why := range group.Skip {
		if _, err := t.exec(`INSERT INTO outcome (rid, state, code, result_at) VALUES (?, 7, ?, ?)`, ledger.RowID(no, seq), string(why), ms); err != nil {
			return err
		}
	}
	for _, d := range group.Hold {
		if _, err := t.exec(`INSERT INTO outcome (rid, state, attempt, next_due, code, result_at) VALUES (?, 1, 0, ?, ?, ?)`,
			ledger.RowID(no, d.Seq), ledger.Millis(d.At), d.Why, ms); err != nil {
			return err
		}
	}
	for _, r := range retries.Grant {
		if _, err := t.exec(`UPDATE outcome SET state = 2, attempt = ?, intent_at = CASE WHEN flags & 2 THEN intent_at ELSE ? END, next_due = 0 WHERE rid = ?`, r.Attempt, ms, ledger.RowID(no, r.Seq)); err != nil {
			return err
		}
	}
	for seq, why := range retries.Skip {
		if why == "" {
			continue
		}
		if _, err := t.exec(`UPDATE outcome SET state = CASE WHEN flags & 2 THEN 4 ELSE 7 END, code = ?, result_at = CASE WHEN flags & 2 THEN result_at ELSE ? END,
			next_due = 0 WHERE rid = ?`, string(why), ms, ledger.RowID(no, seq)); err != nil {
			return err
		}
	}
	if n := group.Count + retries.Count; n > 0 {
		if _, err := t.exec(`UPDATE run_count SET taken = taken + ? WHERE no = ?`, n, int64(no)); err != nil {
			return err
		}
	}
	if state == campaign.Ready { // resumed while its leases were held
		return t.setState(no, campaign.Running, "", "")
	}
	return nil
}
