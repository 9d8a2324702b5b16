package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"slices"

	"campaignd/campaign"
	"campaignd/internal/ledger"
	"campaignd/internal/sentence"
)

// acceptWidth is how many acceptances one statement carries.
const acceptWidth = 16

// Record implements campaign.SendLedger. A NoResend doubt (200 without an id) is a fact and merges
// whatever its epoch is. If it were lost, a policy could send twice.
func (l *Ledger) Record(ctx context.Context, rs []campaign.Result) error {
	if len(rs) == 0 {
		return nil
	}
	accepts := make([]campaign.Result, 0, len(rs))
	hashes := make([]int64, 0, len(rs)+acceptWidth)
	for i := range rs {
		r := &rs[i]
		if err := ledger.CheckResult(r); err != nil {
			return err
		}
		if r.Kind == campaign.ResultAccepted {
			accepts = append(accepts, *r)
			hashes = append(hashes, l.key.MessageHash(r.MessageID))
		}
	}
	return l.submit(ctx, &op{urgency: results, rows: len(rs), crash: "outcome_uncommitted", run: func(t *tx) error {
		if err := t.proven(rs); err != nil {
			return err
		}
		if err := t.accept(accepts, hashes); err != nil {
			return err
		}
		for i := range rs {
			r := &rs[i]
			t.recount(ledger.RowID(r.Run, r.Seq))
			if r.Kind != campaign.ResultAccepted {
				if err := t.merge(r); err != nil {
					return err
				}
			}
			if r.Suppress != nil {
				if _, err := t.suppress(t.options.SuppressionOf(r)); err != nil {
					return err
				}
			}
		}
		return t.giveBack(ledger.Unsent(rs)...)
	}})
}

// sqlOfErased tells whether an outcome is of a number that was erased while the outcome was
// unknown.
const sqlOfErased = `(SELECT d.key < 0 FROM delivery d WHERE d.rid = outcome.rid)`

// Acceptances, of one delivery and of acceptWidth. An acceptance replaces every other outcome.
var (
	sqlAcceptOne  = acceptOf(1)
	sqlAcceptMany = acceptOf(acceptWidth)
)

func acceptOf(rows int) string {
	return `INSERT INTO outcome (rid, state, attempt, mh, result_at, message_id, warning) VALUES ` + values(rows, 7) + `
		ON CONFLICT (rid) DO UPDATE SET state = 5 /* accepted */, attempt = max(attempt, excluded.attempt), mh = excluded.mh,
			result_at = excluded.result_at,
			message_id = CASE WHEN ` + sqlOfErased + ` THEN 'erased' ELSE excluded.message_id END,
			warning = CASE WHEN ` + sqlOfErased + ` THEN '' ELSE excluded.warning END,
			code = '', detail = '', intent_at = 0, next_due = 0
		WHERE outcome.state <> 5 /* accepted */`
}

// accept writes acceptances and absorbs the orphans of their message ids.
func (t *tx) accept(rs []campaign.Result, hashes []int64) error {
	if len(rs) == 0 {
		return nil
	}
	var waiting bool
	if err := t.row(sqlAnyOrphan, nil, &waiting); err != nil {
		return err
	}
	flat := make([]any, 0, acceptWidth*7)
	probe := make([]any, acceptWidth)
	for at := 0; at < len(rs); at += acceptWidth {
		end := min(at+acceptWidth, len(rs))
		flat = flat[:0]
		for i := range probe {
			probe[i] = int64(0)
		}
		for i, r := range rs[at:end] {
			flat = append(flat, ledger.RowID(r.Run, r.Seq), int64(ledger.Accepted), r.Attempt,
				hashes[at+i], ledger.Millis(r.At), r.MessageID, r.Warning)
			probe[i] = hashes[at+i]
		}
		if end-at == acceptWidth {
			if _, err := t.exec(sqlAcceptMany, flat...); err != nil {
				return err
			}
		} else {
			for ; len(flat) > 0; flat = flat[7:] {
				if _, err := t.exec(sqlAcceptOne, flat[:7]...); err != nil {
					return err
				}
			}
		}
		if err := t.flagRepeats(probe); err != nil {
			return err
		}
		if waiting {
			if err := t.absorbHashes(probe); err != nil {
				return err
			}
		}
	}
	return nil
}

// The outcomes and orphans of acceptWidth hashes. Fewer are filled up with 0, which no message id
// has.
var (
	sqlCountHashes    = `SELECT count(*) FROM outcome WHERE mh <> 0 AND mh IN ` + values(1, acceptWidth)
	sqlRepeatedHashes = `SELECT mh FROM outcome WHERE mh <> 0 AND mh IN ` + values(1, acceptWidth) + ` GROUP BY mh HAVING count(*) > 1`
	sqlOrphansAmong   = `SELECT mh, message_id, rank, at, code, connection FROM orphan WHERE mh IN ` + values(1, acceptWidth)
)

const sqlFlagRepeated = `UPDATE outcome SET flags = flags | 16 /* repeated id */
	WHERE mh = ?1 AND mh <> 0 AND flags & 16 /* repeated id */ = 0 AND EXISTS
		(SELECT 1 FROM outcome x WHERE x.mh = ?1 AND x.mh <> 0 AND x.message_id = outcome.message_id AND x.rid <> outcome.rid)`

// flagRepeats flags the deliveries whose message id another delivery has too.
func (t *tx) flagRepeats(probe []any) error {
	var have, want int
	for _, h := range probe {
		if h != int64(0) {
			want++
		}
	}
	// A count is cheap, and hashes that repeat are rare.
	if err := t.row(sqlCountHashes, probe, &have); err != nil || have == want && distinct(probe) {
		return err
	}
	var twice []int64
	if err := t.each(sqlRepeatedHashes, probe, list(&twice, scanID)); err != nil {
		return err
	}
	for _, mh := range twice {
		if _, err := t.exec(sqlFlagRepeated, mh); err != nil {
			return err
		}
	}
	return nil
}

// distinct reports whether the list has no hash twice.
func distinct(probe []any) bool {
	for i, h := range probe {
		if h != int64(0) && slices.Contains(probe[:i], h) {
			return false
		}
	}
	return true
}

// absorbHashes applies the orphans of these hashes whose message ids are known now.
func (t *tx) absorbHashes(probe []any) error {
	var found []messageStatus
	if err := t.each(sqlOrphansAmong, probe, func(scan scanFunc) error {
		var o messageStatus
		err := scan(&o.mh, &o.messageID, &o.rank, &o.at, &o.code, &o.connection)
		found = append(found, o)
		return err
	}); err != nil {
		return err
	}
	_, err := t.absorb(found)
	return err
}

const (
	sqlOutcome      = `SELECT state, attempt, flags FROM outcome WHERE rid = ?`
	sqlFlagNoResend = `UPDATE outcome SET flags = flags | 4 /* no resend */, code = ?, detail = ?, granted_by = '' WHERE rid = ?`
	// A fenced owner queues a delivery again, and the new owner may have parked its segment.
	sqlWakeDeferred = `UPDATE segment SET wake_at = min(wake_at, ?) WHERE id = ? AND epoch <> ? AND done = 0`
	sqlEpoch        = `SELECT epoch FROM segment WHERE id = ?`
	sqlMerge        = `INSERT INTO outcome (rid, state, attempt, tries, flags, result_at, code, detail, intent_at, next_due,
			request_id, trace_id)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
		ON CONFLICT (rid) DO UPDATE SET state = excluded.state, attempt = excluded.attempt,
			tries = tries + excluded.tries, flags = flags | excluded.flags, result_at = excluded.result_at,
			code = excluded.code, detail = excluded.detail, next_due = excluded.next_due, intent_at = excluded.intent_at,
			request_id = excluded.request_id, trace_id = excluded.trace_id, granted_by = ''`
)

// merge applies one refusal, deferral or doubt.
func (t *tx) merge(r *campaign.Result) error {
	id := ledger.RowID(r.Run, r.Seq)
	var row ledger.Row
	if err := t.row(sqlOutcome, args(id), &row.State, &row.Attempt, &row.Flags); err != nil && !errors.Is(err, sql.ErrNoRows) {
		return err
	}
	m, ok := ledger.MergeOf(r).Over(row)
	if !ok {
		return nil
	}
	detail := sentence.Clip(r.Detail, campaign.MaxDetail)
	if m.Noted {
		_, err := t.exec(sqlFlagNoResend, r.Code, detail, id)
		return err
	}
	if m.Fenced {
		var epoch int64
		err := t.row(sqlEpoch, args(ledger.SegmentOf(id)), &epoch)
		if errors.Is(err, sql.ErrNoRows) || err == nil && epoch != r.Epoch {
			return nil // the new owner's Recover has written it, or will
		}
		if err != nil {
			return err
		}
	}
	_, err := t.exec(sqlMerge, id, int(m.State), m.Attempt, m.Tries, m.Flags, m.At, r.Code,
		detail, m.IntentAt, m.NextDue, r.RequestID, r.TraceID)
	switch {
	case err != nil:
	case m.State == ledger.Deferred:
		_, err = t.exec(sqlWakeDeferred, m.NextDue, ledger.SegmentOf(id), r.Epoch)
	case m.State == ledger.Doubt:
		_, err = t.exec(sqlOpenAttempts, id, id+1)
	}
	return err
}
