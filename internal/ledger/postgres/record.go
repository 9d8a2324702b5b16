package postgres

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"time"

	"campaignd/campaign"
	"campaignd/internal/ledger"
	"campaignd/internal/sentence"
)

// maxMessageID is the most bytes of a message id that a row keeps. No receipt has more than 256; a
// webhook may bring more, for which an entry of an index has no room.
const maxMessageID = 1024

// storedID is a message id as rows keep and compare it.
func storedID(id string) string { return ledger.PlainText(sentence.Clip(id, maxMessageID)) }

// Record implements campaign.SendLedger, by the rule of ledger.Merge.Over. A NoResend doubt (200
// without an id) is a fact, so it merges whatever its epoch is. If it were lost, a policy could
// send twice.
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
			suppressions = append(suppressions, l.options.SuppressionOf(r))
		}
	}
	if len(rs) == 0 {
		return nil
	}
	// In the order of their rows: transactions that lock rows in one order do not deadlock. The
	// first receipt of a row stays.
	slices.SortStableFunc(receipts, func(a, b receipt) int { return cmp.Compare(a.rid, b.rid) })
	receipts = slices.CompactFunc(receipts, func(a, b receipt) bool { return a.rid == b.rid })
	merges := parts(others, func(a, b *campaign.Result) int {
		return cmp.Compare(ledger.RowID(a.Run, a.Seq), ledger.RowID(b.Run, b.Seq))
	})
	var told absorbed
	if err := l.change(ctx, l.sender, "outcome_uncommitted", func(t *tx) error {
		told = absorbed{}
		for i := range rs {
			t.recount(ledger.RowID(rs[i].Run, rs[i].Seq))
		}
		qs := append(wakeDeferred(rs), provenBy(rs)...) // locks segments before outcomes, as every transaction does
		qs = append(qs, acceptResults(receipts, &told, l.options.Platform())...)
		for _, part := range merges {
			qs = append(qs, mergeResults(part)...)
		}
		qs = append(qs, giveBackPeople(ledger.Unsent(rs))...)
		t.last(append(qs, suppress(nil, suppressions)...)...)
		return nil
	}); err != nil {
		return err
	}
	l.holdAbsorbed(ctx, told)
	return nil
}

// sqlWakeDeferred locks the segments whose owner is another by now.
const sqlWakeDeferred = `UPDATE segment s SET wake_at = least(s.wake_at, w.due)
	FROM unnest($1::bigint[], $2::bigint[], $3::bigint[]) w (id, epoch, due)
	WHERE s.id = ANY($1) AND s.id = w.id AND s.epoch <> w.epoch AND NOT s.done`

// wakeDeferred wakes the segments of deliveries that a fenced owner queues again: the new owner may
// have parked a segment until the doubts end that it wrote for these deliveries.
func wakeDeferred(rs []campaign.Result) []*query {
	due := map[[2]int64]int64{} // by segment and epoch
	for _, r := range rs {
		if r.Kind == campaign.ResultDeferred {
			k, at := [2]int64{ledger.SegmentOf(ledger.RowID(r.Run, r.Seq)), r.Epoch}, ledger.Millis(r.NotBefore)
			if before, ok := due[k]; !ok || at < before {
				due[k] = at
			}
		}
	}
	if len(due) == 0 {
		return nil
	}
	var ids, epochs, dues []int64
	for _, k := range slices.SortedFunc(maps.Keys(due), func(a, b [2]int64) int { return slices.Compare(a[:], b[:]) }) {
		ids, epochs, dues = append(ids, k[0]), append(epochs, k[1]), append(dues, due[k])
	}
	return []*query{stmt(nil, sqlWakeDeferred, ids, epochs, dues)}
}

// receipt is an acceptance that is being recorded.
type receipt struct {
	rid, mh int64
	id      string
	*campaign.Result
}

// parts divides rows into parts that have none twice, each in the order of order, because one
// statement changes a row once. The first part has the first of each row.
func parts[T any](all []T, order func(a, b T) int) (parts [][]T) {
	n := 0
	sorted := slices.SortedStableFunc(slices.Values(all), order)
	for i, row := range sorted {
		if n++; i == 0 || order(sorted[i-1], row) != 0 {
			n = 0
		}
		if n == len(parts) {
			parts = append(parts, nil)
		}
		parts[n] = append(parts[n], row)
	}
	return parts
}

// sqlAbsorb applies the orphans of the hashes $1 whose messages are known, deletes them, and
// returns how many orphans each message had, and its failed status with the delivery's row; $2 is
// now. Rows of 0 orphans are the deliveries of messages that failed and were delivered. It is one
// statement. As two (update from the orphans, then delete those that are known) it lost every
// status that came in between (docs/protocol.md#orphan-events). $3 are the connections of the Cloud
// API (ledger.Tells).
//
// It has no join whose order the planner could reverse: a plan that was made for a small table
// stays in use, and would read all of the large one each time.
var sqlAbsorb = `WITH d AS (DELETE FROM orphan o WHERE o.mh = ANY($1)
		AND (SELECT true FROM outcome x WHERE x.mh = o.mh AND x.message_id = o.message_id
			AND ` + tells("o.connection", "x", "$3") + ` LIMIT 1)
		RETURNING o.mh, o.message_id, o.rank, o.at, o.code, o.connection),
	m AS MATERIALIZED (SELECT mh, message_id, max(connection) AS connection, count(*) AS n, max(rank) AS rank,
		min(at) FILTER (WHERE rank = 1 /* sent */) AS sent, min(at) FILTER (WHERE rank = 3 /* delivered */) AS delivered,
		min(at) FILTER (WHERE rank = 4 /* read */) AS read, min(at) FILTER (WHERE rank = 2 /* failed */) AS failed,
		min(code) FILTER (WHERE rank = 2 /* failed */) AS code
		FROM d GROUP BY mh, message_id),
	u AS (` + sqlForward + `SELECT x.rid, m.message_id, m.rank, m.sent, m.delivered, m.read, m.failed, m.code FROM m
		CROSS JOIN LATERAL (SELECT rid FROM outcome x WHERE mh = m.mh AND message_id = m.message_id
			AND ` + tells("m.connection", "x", "$3") + ` OFFSET 0) x` + sqlOnward + `
		RETURNING o.rid, o.failed_at, coalesce(o.delivered_at, o.read_at) AS reached_at),
	` + sqlSegments + `
	SELECT n, coalesce(failed, 0), coalesce(code, ''), coalesce(f.rid, 0), coalesce(f.result_at, 0) FROM m
		LEFT JOIN LATERAL (SELECT rid, result_at FROM outcome x WHERE failed IS NOT NULL AND x.mh = m.mh AND x.message_id = m.message_id
			ORDER BY rid LIMIT 1) f ON true
	UNION ALL SELECT 0, 0, '', rid, 0 FROM u WHERE failed_at IS NOT NULL AND reached_at IS NOT NULL
	UNION ALL SELECT 0, 0, '', 0, 0 ` + touchRuns(`$2::bigint`)

// absorbed is what the orphans tell that a transaction applied and deleted.
type absorbed struct {
	n        int64
	failures ledger.Failures
	reached  []int64 // the rows of messages that failed and were delivered
}

// absorb runs sqlAbsorb; a receives its result.
func absorb(a *absorbed, hashes []int64, platform []string) *query {
	return each(func(scan scanFunc) error {
		var n, failed, rid, accepted int64
		var code string
		err := scan(&n, &failed, &code, &rid, &accepted)
		if n == 0 {
			a.reached = append(a.reached, rid)
		} else if a.n += n; failed != 0 {
			a.failures.Add(rid, code, accepted, failed)
		}
		return err
	}, sqlAbsorb, hashes, ledger.Millis(time.Now()), ledger.NonNil(platform))
}

const (
	// sqlOfErased tells whether an outcome is of a number that was erased while the outcome was
	// unknown.
	sqlOfErased = `(SELECT d.key < 0 FROM delivery d WHERE d.rid = outcome.rid)`
	sqlAccept   = `INSERT INTO outcome (rid, state, attempt, mh, result_at, message_id, warning)
		SELECT w.rid, 5 /* accepted */, w.attempt, w.mh, w.at, w.id, nullif(w.warning, '')
		FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::bigint[], $5::text[], $6::text[]) w (rid, attempt, mh, at, id, warning)
		ON CONFLICT (rid) DO UPDATE SET state = 5 /* accepted */, attempt = greatest(outcome.attempt, excluded.attempt), mh = excluded.mh,
			result_at = excluded.result_at,
			message_id = CASE WHEN ` + sqlOfErased + ` THEN 'erased' ELSE excluded.message_id END,
			warning = CASE WHEN ` + sqlOfErased + ` THEN NULL ELSE excluded.warning END,
			code = NULL, detail = NULL, intent_at = NULL, next_due = NULL
		WHERE outcome.state <> 5 /* accepted */`
	// A count is cheap, and hashes that repeat are rare: with as many outcomes as hashes ($2), nothing
	// else of the statement is executed.
	sqlFlagRepeated = `UPDATE outcome o SET flags = o.flags | 16 /* repeated id */
		WHERE (SELECT count(*) FROM outcome WHERE mh = ANY($1)) > $2 AND o.mh = ANY($1) AND o.flags & 16 /* repeated id */ = 0
		AND (SELECT count(*) FROM outcome x WHERE x.mh = o.mh AND x.message_id = o.message_id) > 1`
)

// acceptResults writes acceptances, which replace every other outcome, flags the message ids that
// another delivery has too, and absorbs the orphans of the accepted messages. told receives what
// the orphans tell.
func acceptResults(rs []receipt, told *absorbed, platform []string) (qs []*query) {
	if len(rs) == 0 {
		return nil
	}
	n := len(rs)
	rids, mhs, ats, attempts := make([]int64, n), make([]int64, n), make([]int64, n), make([]int64, n)
	ids, warnings := make([]string, n), make([]string, n)
	distinct := map[int64]bool{}
	for i, r := range rs {
		rids[i], mhs[i], ats[i], attempts[i] = r.rid, r.mh, ledger.Millis(r.At), int64(r.Attempt)
		ids[i], warnings[i] = r.id, ledger.PlainText(r.Warning)
		distinct[r.mh] = true
	}
	probe := make([]int64, 0, len(distinct))
	for mh := range distinct {
		probe = append(probe, mh)
	}
	slices.Sort(probe)
	return []*query{stmt(nil, sqlAccept, rids, attempts, mhs, ats, ids, warnings), stmt(nil, sqlFlagRepeated, probe, len(probe)),
		absorb(told, probe, platform)}
}

const (
	// ledger.Merge.Over, and ledger.GivenUp in it, for many rows.
	sqlMerge = `INSERT INTO outcome (rid, state, attempt, tries, flags, result_at, code, detail, intent_at, next_due, request_id, trace_id)
		SELECT w.rid, w.state, w.attempt, w.tries, w.flags, w.at, w.code, nullif(w.detail, ''),
			CASE WHEN w.state = 3 /* in doubt */ THEN w.intent END, CASE WHEN w.state = 1 /* deferred */ THEN w.due END,
			nullif(w.request, ''), nullif(w.trace, '')
		FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::bigint[], $5::bigint[], $6::bigint[], $7::text[], $8::text[],
			$9::bigint[], $10::bigint[], $11::text[], $12::text[], $13::bigint[])
			w (rid, state, attempt, tries, flags, at, code, detail, intent, due, request, trace, epoch)
		WHERE w.epoch < 0 OR EXISTS (SELECT 1 FROM segment s
			WHERE s.id = ((w.rid >> 32) << 32) | ((w.rid & 4294967295) / 4096) AND s.epoch = w.epoch)
		ON CONFLICT (rid) DO UPDATE SET
			state = CASE WHEN excluded.state = 6 /* refused */ AND outcome.flags & 2 /* may be a duplicate */ <> 0
				THEN 4 /* unknown */ ELSE excluded.state END,
			attempt = excluded.attempt, tries = outcome.tries + excluded.tries, flags = outcome.flags | excluded.flags,
			result_at = excluded.result_at, code = excluded.code, detail = excluded.detail, intent_at = excluded.intent_at,
			next_due = excluded.next_due, request_id = excluded.request_id, trace_id = excluded.trace_id, granted_by = NULL
		WHERE outcome.attempt = excluded.attempt
		AND (outcome.state = 2 /* retrying */ OR outcome.state = 3 /* in doubt */ AND excluded.state <> 3 /* in doubt */)`
	sqlFlagNoResend = `UPDATE outcome o SET flags = o.flags | 4 /* no resend */, code = w.code, detail = nullif(w.detail, ''),
			granted_by = NULL
		FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::text[], $5::text[]) w (rid, attempt, flags, code, detail)
		WHERE o.rid = ANY($1) AND o.rid = w.rid AND w.flags = 4 /* no resend */ AND o.state = 3 /* in doubt */ AND o.attempt = w.attempt`
)

// mergeResults writes refusals, deferrals and doubts that have no row twice.
func mergeResults(rs []*campaign.Result) (qs []*query) {
	n := len(rs)
	if n == 0 {
		return nil
	}
	rids, states, attempts, tries, flags := make([]int64, n), make([]int64, n), make([]int64, n), make([]int64, n), make([]int64, n)
	ats, intents, dues, epochs := make([]int64, n), make([]int64, n), make([]int64, n), make([]int64, n)
	codes, details, requests, traces := make([]string, n), make([]string, n), make([]string, n), make([]string, n)
	doubts, noResend := false, false
	for i, r := range rs {
		m := ledger.MergeOf(r)
		rids[i], attempts[i] = ledger.RowID(r.Run, r.Seq), int64(m.Attempt)
		states[i], tries[i], flags[i] = int64(m.State), m.Tries, m.Flags
		ats[i], intents[i], dues[i] = m.At, m.IntentAt, m.NextDue
		codes[i], details[i] = ledger.PlainText(r.Code), ledger.PlainText(sentence.Clip(r.Detail, campaign.MaxDetail))
		requests[i], traces[i] = ledger.PlainText(r.RequestID), ledger.PlainText(r.TraceID)
		if epochs[i] = -1; m.Fenced { // facts have no epoch
			epochs[i] = r.Epoch
		}
		doubts, noResend = doubts || m.State == ledger.Doubt, noResend || m.Flags == ledger.FlagNoResend
	}
	qs = append(qs, stmt(nil, sqlMerge,
		rids, states, attempts, tries, flags, ats, codes, details, intents, dues, requests, traces, epochs))
	if noResend {
		qs = append(qs, stmt(nil, sqlFlagNoResend, rids, attempts, flags, codes, details))
	}
	if doubts {
		qs = append(qs, stmt(nil, sqlOpenAttempts, rids))
	}
	return qs
}
