package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"campaignd/campaign"
	"campaignd/internal/ledger"
	"campaignd/recipients"
)

// Intend implements campaign.SendLedger. A retry that is no longer due (its late answer came, or it
// was skipped) has the reason "" in Skipped: it must not be posted. Intend reads the phone keys
// from the deliveries. Intent.Keys tells it for which of them to ask under another key, too.
func (l *Ledger) Intend(ctx context.Context, in []campaign.Intent) (granted []campaign.Granted, err error) {
	if err := l.Restored(ctx); err != nil {
		return nil, err
	}
	if err := l.countReached(ctx, in); err != nil {
		return nil, err
	}
	rows := 1
	for _, i := range in {
		rows += 4 + len(i.Retries)
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

// sqlSending reads the columns that ledger.Sending needs.
const sqlSending = `SELECT s.epoch, s.mark, s.lo, s.hi, s.done, s.connection, r.state, r.wanted, r.marketing, r.budget, c.taken
	FROM segment s JOIN run r ON r.no = s.run JOIN run_count c ON c.no = s.run WHERE s.id = ?`

// intend answers one intent and writes what it was granted.
func (t *tx) intend(in *campaign.Intent) (campaign.Granted, error) {
	id := ledger.SegmentKey(in.Lease.Run, in.Lease.Index)
	var s ledger.Sending
	err := t.row(sqlSending, args(id), &s.Epoch, &s.Mark, &s.Lo, &s.Hi, &s.Done, &s.Connection,
		&s.State, &s.Wanted, &s.Marketing, &s.Budget, &s.Taken)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return campaign.Granted{Fenced: true}, nil
	case err != nil:
		return campaign.Granted{}, err
	}
	now := ledger.Millis(time.Now())
	if s.Holds, err = t.holdsInForce(ledger.IntentOrigin(in), now); err != nil {
		return campaign.Granted{}, err
	}
	answer, ok, err := s.Admit(in)
	if err != nil || !ok {
		return answer, err
	}
	rows, err := t.sendingRows(in, s.Marketing, now)
	if err != nil {
		return answer, err
	}
	if s.People, rows.Keys, err = t.people(in, now); err != nil {
		return answer, err
	}
	d := s.Grant(in, rows)
	if d.Full != nil {
		if d.Answer.Limit, err = t.full(s.People, d.Full); err != nil {
			return d.Answer, err
		}
	}
	if d.Write {
		if err = t.charge(in, now, &d, s.People); err == nil {
			err = t.grant(in, id, now, &d)
		}
	}
	return d.Answer, err
}

const (
	sqlWithOutcome    = `SELECT rid FROM outcome WHERE rid >= ? AND rid < ?`
	sqlWaiting        = `SELECT state, attempt FROM outcome WHERE rid = ?`
	sqlAnySuppression = `SELECT EXISTS (SELECT 1 FROM suppression)`
	sqlSuppressed     = `SELECT d.rid, s.scope FROM delivery d CROSS JOIN suppression s ON s.key = d.key
		WHERE d.rid >= ? AND d.rid < ? AND (s.until = 0 OR s.until > ?)`
	sqlRepeated = `SELECT p.rid FROM repeat p CROSS JOIN run r ON r.no = p.other >> 32
		CROSS JOIN segment s ON s.id = (p.other >> 32 << 32) + (p.other & 4294967295) / 4096 LEFT JOIN outcome o ON o.rid = p.other
		WHERE p.rid >= ? AND p.rid < ? AND ` + ledger.IsRepeated
	sqlKeyOf  = `SELECT key FROM delivery WHERE rid = ?`
	sqlScopes = `SELECT scope FROM suppression WHERE key = ? AND (until = 0 OR until > ?)`
)

// sendingRows reads the rows that an intent is about.
func (t *tx) sendingRows(in *campaign.Intent, marketing bool, now int64) (rows ledger.SendingRows, err error) {
	some, err := t.any(sqlAnySuppression)
	if err != nil {
		return rows, err
	}
	// suppressed adds the deliveries from first to end that are suppressed or that their run leaves
	// out.
	suppressed := func(first, end int64) error {
		if in.LeaveOut {
			if err := t.each(sqlRepeated, args(first, end), func(scan scanFunc) error {
				id, err := scanID(scan)
				rows.Suppressed.AddReason(id, campaign.SentBefore)
				return err
			}); err != nil {
				return err
			}
		}
		if !some {
			return nil
		}
		return t.each(sqlSuppressed, args(first, end, now), func(scan scanFunc) error {
			var id int64
			var scope string
			err := scan(&id, &scope)
			rows.Suppressed.Add(id, scope, marketing, in.Origin.Company)
			return err
		})
	}
	if in.To > in.From {
		first, end := ledger.RowID(in.Lease.Run, in.From), ledger.RowID(in.Lease.Run, in.To)
		rows.WithOutcome = map[int64]bool{}
		if err := t.each(sqlWithOutcome, args(first, end), func(scan scanFunc) error {
			var id int64
			err := scan(&id)
			rows.WithOutcome[id] = true
			return err
		}); err != nil {
			return rows, err
		}
		if err := suppressed(first, end); err != nil {
			return rows, err
		}
	}
	if len(in.Retries) > 0 {
		rows.Retries = make(map[int64]ledger.Waiting, len(in.Retries))
	}
	for _, r := range in.Retries {
		id := ledger.RowID(in.Lease.Run, r.Seq)
		var w ledger.Waiting
		err := t.row(sqlWaiting, args(id), &w.State, &w.Attempt)
		if errors.Is(err, sql.ErrNoRows) {
			continue
		}
		if err == nil && w.State == ledger.Deferred {
			err = suppressed(id, id+1)
		}
		if err != nil {
			return rows, err
		}
		rows.Retries[id] = w
	}
	if !some {
		return rows, nil
	}
	return rows, t.others(in, func(id, other int64) error {
		return t.each(sqlScopes, args(other, now), func(scan scanFunc) error {
			var scope string
			err := scan(&scope)
			rows.Suppressed.Add(id, scope, marketing, in.Origin.Company)
			return err
		})
	})
}

// others calls f for each delivery of an intent whose recipient may be stored under another key.
func (t *tx) others(in *campaign.Intent, f func(id, other int64) error) error {
	keys := in.Keys
	if !ledger.Keyed(in) {
		keys = nil
		for _, id := range ledger.RowIDs(in) {
			var key int64
			if err := t.row(sqlKeyOf, args(id), &key); err != nil && !errors.Is(err, sql.ErrNoRows) {
				return err
			}
			keys = append(keys, key)
		}
	}
	var ids []int64
	for n, key := range keys {
		other := recipients.Other(key)
		if other == 0 {
			continue
		}
		if ids == nil {
			ids = ledger.RowIDs(in)
		}
		if err := f(ids[n], other); err != nil {
			return err
		}
	}
	return nil
}

const (
	sqlMoveMark   = `UPDATE segment SET mark = ?, connection = ? WHERE id = ?`
	sqlInsertSkip = `INSERT INTO outcome (rid, state, code, result_at) VALUES (?, 7 /* skipped */, ?, ?)`
	sqlBeginRetry = `UPDATE outcome SET state = 2 /* retrying */, attempt = ?1, next_due = 0, intent_at = ?2,
		connection = CASE WHEN connection = '' THEN '' ELSE ?4 END WHERE rid = ?3`
	sqlSkipRetry  = `UPDATE outcome SET ` + ledger.SkippedState + `, code = ?, result_at = ?, next_due = 0 WHERE rid = ?`
	sqlTakeBudget = `UPDATE run_count SET taken = taken + ? WHERE no = ?`
)

// grant writes the decision.
func (t *tx) grant(in *campaign.Intent, id, now int64, d *ledger.Decision) error {
	no := in.Lease.Run
	if _, err := t.exec(sqlMoveMark, d.Mark, in.Connection, id); err != nil {
		return err
	}
	if len(d.Skip)+len(d.Grant)+len(d.SkipRetries) > 0 {
		t.recount(ledger.RowID(no, in.Lease.Lo))
	}
	for seq, why := range d.Skip {
		if _, err := t.exec(sqlInsertSkip, ledger.RowID(no, seq), string(why), now); err != nil {
			return err
		}
	}
	for _, r := range d.Grant {
		if _, err := t.exec(sqlBeginRetry, r.Attempt, now, ledger.RowID(no, r.Seq), in.Connection); err != nil {
			return err
		}
	}
	for seq, why := range d.SkipRetries {
		if _, err := t.exec(sqlSkipRetry, string(why), now, ledger.RowID(no, seq)); err != nil {
			return err
		}
	}
	if d.Count > 0 {
		if _, err := t.exec(sqlTakeBudget, d.Count, int64(no)); err != nil {
			return err
		}
	}
	if d.Start {
		return t.setState(no, campaign.Running, "", "")
	}
	return nil
}
