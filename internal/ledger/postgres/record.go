package postgres

import (
	"cmp"
	"context"
	"slices"
	"time"

	"campaignd/campaign"
	"campaignd/internal/ledger"
	"campaignd/internal/mutant"
)

// maxMessageID is the most bytes of a message id that a row keeps. No receipt has more than
// 256; what a webhook says beyond stands for nothing, but must not exceed an index's entry.
const maxMessageID = 1024

// storedID is a message id as rows keep and compare it.
func storedID(id string) string { return plainText(ledger.Clip(id, maxMessageID)) }

// Record implements campaign.SendLedger. Acceptances are inserted at once; refusals, deferrals
// and doubts merge by the rule of ledger.Replaces. A NoResend doubt (200 without an id)
// is a fact and merges whatever its epoch: losing it could let a policy send twice.
func (l *Ledger) Record(ctx context.Context, rs []campaign.Result) error {
	var receipts []receipt
	var others []*campaign.Result
	var suppressions []campaign.Suppression
	for i := range rs {
		r := &rs[i]
		if err := ledger.CheckResult(r); err != nil {
			return err
		}
		if r.Kind == campaign.ResultAccepted {
			id := storedID(r.MessageID)
			receipts = append(receipts, receipt{ledger.RowID(r.Run, r.Seq), l.key.MessageHash(id), id, r})
		} else {
			others = append(others, r)
		}
		if r.Suppress != nil {
			suppressions = append(suppressions, *r.Suppress)
		}
	}
	if len(rs) == 0 {
		return nil
	}
	// In the order of their rows: who locks rows in one order never waits in a circle. The first receipt of a row stays.
	slices.SortStableFunc(receipts, func(a, b receipt) int { return cmp.Compare(a.rid, b.rid) })
	receipts = slices.CompactFunc(receipts, func(a, b receipt) bool { return a.rid == b.rid })
	rounds := inRounds(others)
	return l.change(ctx, l.sender, "outcome_uncommitted", func(t *tx) error {
		keep := receipts
		if mutant.On("results_fenced_away") {
			var err error
			if keep, err = t.unfenced(receipts); err != nil {
				return err
			}
		}
		qs := acceptResults(keep)
		for _, round := range rounds {
			qs = append(qs, mergeResults(round)...)
		}
		t.last(append(qs, suppress(nil, suppressions)...)...)
		return nil
	})
}

// receipt is an acceptance on its way into the ledger.
type receipt struct {
	rid, mh int64
	id      string
	*campaign.Result
}

// inRounds parts results so that no statement has two of one row, and sorts each part.
func inRounds(rs []*campaign.Result) (rounds [][]*campaign.Result) {
	nth := map[int64]int{}
	for _, r := range rs {
		id := ledger.RowID(r.Run, r.Seq)
		n := nth[id]
		nth[id]++
		if n == len(rounds) {
			rounds = append(rounds, nil)
		}
		rounds[n] = append(rounds[n], r)
	}
	for _, round := range rounds {
		slices.SortFunc(round, func(a, b *campaign.Result) int {
			return cmp.Compare(ledger.RowID(a.Run, a.Seq), ledger.RowID(b.Run, b.Seq))
		})
	}
	return rounds
}

// absorbOrphans applies the orphans of the hashes $1 whose messages are known, and deletes them:
// in one statement. As two (update from orphans, then delete those that are known) it lost every
// status that came in between (reliability.md 2.2). $2 is now. It returns how many.
//
// Rows are found and changed without a join that the planner could turn round: a plan made
// while the table was small stays in use when it has grown, and would read all of it each time.
var absorbOrphans = `WITH d AS (DELETE FROM orphan o WHERE o.mh = ANY($1)
		AND (SELECT true FROM outcome x WHERE x.mh = o.mh AND x.message_id = o.message_id LIMIT 1)
		RETURNING o.mh, o.message_id, o.rank, o.at, o.code),
	m AS MATERIALIZED (SELECT mh, message_id, count(*) AS n, max(rank) AS rank, min(at) FILTER (WHERE rank = 1) AS sent, min(at) FILTER (WHERE rank = 3) AS delivered,
		min(at) FILTER (WHERE rank = 4) AS read, min(at) FILTER (WHERE rank = 2) AS failed, min(code) FILTER (WHERE rank = 2) AS code
		FROM d GROUP BY mh, message_id),
	u AS (` + forward + `SELECT x.rid, 5, m.mh, m.message_id, m.rank, m.sent, m.delivered, m.read, m.failed, m.code FROM m
		CROSS JOIN LATERAL (SELECT rid FROM outcome WHERE mh = m.mh AND message_id = m.message_id OFFSET 0) x ORDER BY x.rid` + onward + ` RETURNING o.rid),
	t AS (` + touch(`SELECT DISTINCT rid >> 32 FROM u`, `$2::bigint`) + `)
	SELECT coalesce(sum(n), 0)::bigint FROM m`

// absorb runs absorbOrphans; n takes how many.
func absorb(n *int64, hashes []int64) *query {
	return row(n, absorbOrphans, hashes, ledger.Millis(time.Now()))
}

// forward and onward move rows forward that are known to be there: times to the earliest, rank
// to the highest, and a failure's code with its earliest time. As an upsert, because that finds its
// row by the key whatever the planner thinks, and takes the newest version of it.
const (
	forward = `INSERT INTO outcome AS o (rid, state, mh, message_id, rank, sent_at, delivered_at, read_at, failed_at, fail_code) `
	onward  = ` ON CONFLICT (rid) DO UPDATE SET rank = greatest(o.rank, excluded.rank), sent_at = least(o.sent_at, excluded.sent_at),
		delivered_at = least(o.delivered_at, excluded.delivered_at), read_at = least(o.read_at, excluded.read_at), failed_at = least(o.failed_at, excluded.failed_at),
		fail_code = CASE WHEN excluded.failed_at IS NULL OR o.failed_at < excluded.failed_at THEN o.fail_code
			WHEN o.failed_at = excluded.failed_at THEN least(o.fail_code, excluded.fail_code) ELSE excluded.fail_code END
		WHERE o.message_id = excluded.message_id`
	overwrite = ` ON CONFLICT (rid) DO UPDATE SET rank = excluded.rank, sent_at = coalesce(excluded.sent_at, o.sent_at),
		delivered_at = coalesce(excluded.delivered_at, o.delivered_at), read_at = coalesce(excluded.read_at, o.read_at),
		failed_at = coalesce(excluded.failed_at, o.failed_at), fail_code = coalesce(excluded.fail_code, o.fail_code)` // the mistake "the last event wins"
)

// acceptResults writes acceptances, which win over everything, flags the ids that another
// delivery has as well, and absorbs the orphans of theirs.
func acceptResults(rs []receipt) (qs []*query) {
	if len(rs) == 0 {
		return nil
	}
	n := len(rs)
	rids, mhs, ats, attempts := make([]int64, n), make([]int64, n), make([]int64, n), make([]int64, n)
	ids, warnings := make([]string, n), make([]string, n)
	distinct := map[int64]bool{}
	for i, r := range rs {
		rids[i], mhs[i], ats[i], attempts[i] = r.rid, r.mh, ledger.Millis(r.At), int64(r.Attempt)
		ids[i], warnings[i] = r.id, plainText(r.Warning)
		distinct[r.mh] = true
	}
	probe := make([]int64, 0, len(distinct))
	for mh := range distinct {
		probe = append(probe, mh)
	}
	slices.Sort(probe)
	qs = []*query{
		stmt(nil, `INSERT INTO outcome (rid, state, attempt, mh, result_at, message_id, warning)
			SELECT w.rid, 5, w.attempt, w.mh, w.at, w.id, nullif(w.warning, '')
			FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::bigint[], $5::text[], $6::text[]) w (rid, attempt, mh, at, id, warning)
			ON CONFLICT (rid) DO UPDATE SET state = 5, attempt = greatest(outcome.attempt, excluded.attempt), mh = excluded.mh, result_at = excluded.result_at,
				message_id = excluded.message_id, warning = excluded.warning, code = NULL, detail = NULL, key = NULL, intent_at = NULL, next_due = NULL
			WHERE outcome.state <> 5`, rids, attempts, mhs, ats, ids, warnings),
		stmt(nil, `UPDATE outcome o SET flags = o.flags | 16 WHERE o.mh = ANY($1) AND o.flags & 16 = 0
			AND (SELECT count(*) FROM outcome x WHERE x.mh = o.mh AND x.message_id = o.message_id) > 1`, probe),
	}
	if !mutant.On("sweeper_off") {
		qs = append(qs, absorb(new(int64), probe))
	}
	return qs
}

// mergeResults writes the refusals, deferrals and doubts of one round. A refusal of a row that may have
// been sent before leaves it unknown, with what an orphan needs to adopt it.
func mergeResults(rs []*campaign.Result) (qs []*query) {
	n := len(rs)
	if n == 0 {
		return nil
	}
	rids, states, attempts, tries, flags := make([]int64, n), make([]int64, n), make([]int64, n), make([]int64, n), make([]int64, n)
	ats, keys, intents, dues, epochs := make([]int64, n), make([]int64, n), make([]int64, n), make([]int64, n), make([]int64, n)
	codes, details, requests, traces := make([]string, n), make([]string, n), make([]string, n), make([]string, n)
	noResend := false
	now := time.Now()
	for i, r := range rs {
		rids[i], attempts[i], epochs[i] = ledger.RowID(r.Run, r.Seq), int64(r.Attempt), -1 // facts have no epoch
		codes[i], details[i] = plainText(r.Code), plainText(ledger.Clip(r.Detail, ledger.MaxDetail))
		requests[i], traces[i] = plainText(r.RequestID), plainText(r.TraceID)
		if ats[i] = ledger.Millis(r.At); r.At.IsZero() {
			ats[i] = ledger.Millis(now)
		}
		switch r.Kind {
		case campaign.ResultRefused:
			states[i] = int64(ledger.Refused)
		case campaign.ResultDeferred:
			states[i], dues[i] = int64(ledger.Deferred), ledger.Millis(r.NotBefore)
			if r.Counts {
				tries[i] = 1
			}
		case campaign.ResultDoubt:
			states[i], keys[i], intents[i] = int64(ledger.Doubt), r.Key, ledger.Millis(r.IntentAt)
			if r.NoResend {
				flags[i], noResend = ledger.FlagNoResend, true
			} else {
				epochs[i] = r.Epoch
			}
		}
		if mutant.On("results_fenced_away") {
			epochs[i] = r.Epoch
		}
	}
	qs = append(qs, stmt(nil, `INSERT INTO outcome (rid, state, attempt, tries, flags, result_at, code, detail, key, intent_at, next_due, request_id, trace_id)
		SELECT w.rid, w.state, w.attempt, w.tries, w.flags, w.at, w.code, nullif(w.detail, ''), nullif(w.key, 0),
			CASE WHEN w.state = 3 THEN w.intent END, CASE WHEN w.state = 1 THEN w.due END, nullif(w.request, ''), nullif(w.trace, '')
		FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::bigint[], $5::bigint[], $6::bigint[], $7::text[], $8::text[], $9::bigint[], $10::bigint[],
			$11::bigint[], $12::text[], $13::text[], $14::bigint[]) w (rid, state, attempt, tries, flags, at, code, detail, key, intent, due, request, trace, epoch)
		WHERE w.epoch < 0 OR EXISTS (SELECT 1 FROM segment s WHERE s.id = ((w.rid >> 32) << 32) | ((w.rid & 4294967295) / 4096) AND s.epoch = w.epoch)
		ON CONFLICT (rid) DO UPDATE SET
			state = CASE WHEN excluded.state = 6 AND outcome.flags & 2 <> 0 THEN 4 ELSE excluded.state END,
			attempt = excluded.attempt, tries = outcome.tries + excluded.tries, flags = outcome.flags | excluded.flags,
			result_at = excluded.result_at, code = excluded.code, detail = excluded.detail,
			key = CASE WHEN outcome.flags & 2 <> 0 THEN coalesce(outcome.key, excluded.key) ELSE excluded.key END,
			intent_at = CASE WHEN outcome.flags & 2 <> 0 THEN outcome.intent_at ELSE excluded.intent_at END,
			next_due = excluded.next_due, request_id = excluded.request_id, trace_id = excluded.trace_id
		WHERE outcome.attempt = excluded.attempt AND (outcome.state = 2 OR outcome.state = 3 AND excluded.state <> 3)`,
		rids, states, attempts, tries, flags, ats, codes, details, keys, intents, dues, requests, traces, epochs))
	if noResend {
		qs = append(qs, stmt(nil, `UPDATE outcome o SET flags = o.flags | 4, code = w.code, detail = nullif(w.detail, '')
			FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::text[], $5::text[]) w (rid, attempt, flags, code, detail)
			WHERE o.rid = ANY($1) AND o.rid = w.rid AND w.flags = 4 AND o.state = 3 AND o.attempt = w.attempt`, rids, attempts, flags, codes, details))
	}
	return qs
}

// unfenced is the mistake "a fenced owner's answers are thrown away" (mutant results_fenced_away).
func (t *tx) unfenced(rs []receipt) (ours []receipt, err error) {
	for _, r := range rs {
		var epoch int64
		if err := t.do(row(&epoch, `SELECT epoch FROM segment WHERE id = $1`, ledger.SegmentOf(r.rid))); err != nil {
			return nil, err
		}
		if epoch == r.Epoch {
			ours = append(ours, r)
		}
	}
	return ours, nil
}

// Resolve implements campaign.SendLedger.
func (l *Ledger) Resolve(ctx context.Context, lease campaign.Lease, olderThan time.Time, p campaign.OnUncertain) (n int, err error) {
	err = l.change(ctx, l.sender, "", func(t *tx) error {
		h, err := t.hold(lease)
		if err != nil {
			return err
		}
		var again, ended int64
		err = t.do(
			stmt(&again, `UPDATE outcome SET state = 1, flags = flags | 2, next_due = $4
				WHERE rid >= $1 AND rid < $2 AND state = 3 AND result_at < $3 AND $5 AND flags & 4 = 0`,
				h.First(), h.End(), ledger.Millis(olderThan), ledger.Millis(time.Now()), p == campaign.Resend),
			stmt(&ended, `UPDATE outcome SET state = 4 WHERE rid >= $1 AND rid < $2 AND state = 3 AND result_at < $3`, h.First(), h.End(), ledger.Millis(olderThan)))
		n = int(again + ended)
		return err
	})
	if err != nil {
		return 0, err
	}
	return n, nil
}

// Drop implements campaign.SendLedger. It moves the mark to the segment's end: every
// delivery above it has an outcome now, so that Park can call the segment done.
func (l *Ledger) Drop(ctx context.Context, lease campaign.Lease, reason campaign.SkipReason) (n int, err error) {
	err = l.change(ctx, l.sender, "", func(t *tx) error {
		h, err := t.hold(lease)
		if err != nil {
			return err
		}
		now := ledger.Millis(time.Now())
		var above, below int64
		err = t.do(
			// Who may have been sent an earlier attempt is not skipped, but unknown.
			stmt(&below, `UPDATE outcome SET state = CASE WHEN flags & 2 <> 0 THEN 4 ELSE 7 END, code = $3,
				result_at = CASE WHEN flags & 2 <> 0 THEN result_at ELSE $4 END, next_due = NULL WHERE rid >= $1 AND rid < $2 AND state = 1`,
				h.First(), h.End(), string(reason), now),
			stmt(&above, `INSERT INTO outcome (rid, state, code, result_at) SELECT d.rid, 7, $3, $4
				FROM delivery d WHERE d.rid >= $1 AND d.rid < $2 AND `+noOutcome+` ORDER BY d.rid ON CONFLICT (rid) DO NOTHING`, h.Marked(), h.End(), string(reason), now),
			stmt(nil, `UPDATE segment SET mark = hi WHERE id = $1`, h.Key))
		n = int(above + below)
		return err
	})
	if err != nil {
		return 0, err
	}
	return n, nil
}
