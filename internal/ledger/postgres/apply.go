package postgres

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"campaignd/campaign"
	"campaignd/internal/ledger"
	"campaignd/internal/ledger/portable"
)

// messageStatuses is what one batch of webhooks tells about one message: the earliest time of each
// status.
type messageStatuses struct {
	mh         int64
	id         string
	at         [ledger.RankRead + 1]int64 // by rank; 0: not told
	received   [ledger.RankRead + 1]int64
	timed      [ledger.RankRead + 1]bool // an event of the rank has a time of its own
	code       string                    // of failed
	key        int64
	connection string
	marked     int64 // the row id that its mark proves, and the attempt; 0 without a mark
	attempt    int64
}

// gather groups the events of a batch, which came at now, by message, in the order of the messages'
// hashes.
func (l *Ledger) gather(events []campaign.StatusEvent, now time.Time) ([]*messageStatuses, error) {
	by := make(map[string]*messageStatuses, len(events))
	all := make([]*messageStatuses, 0, len(events))
	for _, e := range events {
		r, err := ledger.StatusRank(e)
		if err != nil {
			return nil, err
		}
		id := storedID(e.MessageID)
		n := by[id]
		if n == nil {
			n = &messageStatuses{mh: l.key.MessageHash(id), id: id}
			by[id] = n
			all = append(all, n)
		}
		when, received, untimed := ledger.EventTimes(e, now)
		at, code := ledger.Millis(when), ledger.PlainText(e.Code)
		if r == ledger.RankFailed && (n.at[r] == 0 || at < n.at[r] || at == n.at[r] && code < n.code) {
			n.code = code
		}
		if n.at[r] == 0 || at < n.at[r] {
			n.at[r] = at
		}
		if n.received[r] == 0 {
			n.received[r] = ledger.Millis(received)
		}
		n.timed[r] = n.timed[r] || !untimed
		if rid, attempt := ledger.Marked(e.Mark); rid > n.marked {
			n.marked, n.attempt = rid, int64(attempt)
		}
		n.key, n.connection = max(n.key, e.Recipient), max(n.connection, ledger.PlainText(e.Connection))
	}
	slices.SortFunc(all, func(a, b *messageStatuses) int { return cmp.Or(cmp.Compare(a.mh, b.mh), cmp.Compare(a.id, b.id)) })
	return all, nil
}

// Apply implements campaign.EventLedger. A batch takes one round trip, some more when it changes
// holds, and another one when it tells of messages that no delivery has. Those are stored in a
// transaction of their own: a batch of which only the first part was committed is not acknowledged,
// so it comes again.
func (l *Ledger) Apply(ctx context.Context, e campaign.Events) (done campaign.Applied, err error) {
	if err := ledger.CheckHolds(e.Holds, e.Lifts); err != nil || e.Len() == 0 {
		return done, err
	}
	now, err := l.now(ctx, false)
	if err == nil && ledger.Ahead(&e, now) {
		now, err = l.now(ctx, true)
	}
	if err != nil {
		return done, err
	}
	all, err := l.gather(e.Statuses, now)
	if err != nil {
		return done, err
	}
	var reached []int64
	var unreachable []campaign.Suppression // of messages that may have been delivered
	known := make([]int64, len(all))       // 0: unknown; otherwise 1 + the number of statuses that are new
	holding := len(e.Holds)+len(e.Lifts) > 0 || slices.ContainsFunc(all, func(n *messageStatuses) bool { return ledger.BeginsHold(n.code) })
	if err := l.change(ctx, l.hooks, "webhook_uncommitted", func(t *tx) error {
		clear(known)
		reached, unreachable, done.Unattributed = nil, nil, 0
		var failures ledger.Failures
		if len(e.Pairs)+len(e.Wishes) > 0 { // the numbers that it reads are stored
			if err := t.do(stmt(nil, sqlLockNumbers)); err != nil {
				return err
			}
		}
		e, err := ledger.Disown(e, users{t, l.key}, l.options.Platform())
		if err != nil {
			return err
		}
		e, found, err := ledger.Attribute(e, users{t, l.key}, l.options.Platform())
		if err != nil {
			return err
		}
		erased, err := l.erasedOf(t, append(ledger.KeysOfEvents(&e), found.Keys()...))
		if err != nil {
			return err
		}
		ledger.Timed(&e, &found, now)
		e = ledger.Unerased(e, erased)
		e.Suppressions, unreachable = ledger.Disprovable(e.Suppressions)
		t.storeUsers(found, l.key, erased, &done.Unattributed)
		done.Unattributed += found.Lost
		receipts := ledger.Receipts(e.Lifted, nil, now)
		if err := portable.FirstReceipts(portableTx{t}, receipts); err != nil { // before any other lock
			return err
		}
		lifted, _ := ledger.Counted(receipts, e.Lifted, nil)
		lifted = ledger.Later(lifted, e.Suppressions)
		if len(all) > 0 {
			t.last(moveStatuses(all, known, &failures, &reached, l.options.Platform()))
		}
		hash := func(id string) int64 { return l.key.MessageHash(storedID(id)) }
		if err := portable.StorePrices(portableTx{t}, e.Statuses, hash); err != nil {
			return err
		}
		if len(e.Moved)+len(e.Lifted) > 0 {
			t.last(stmt(nil, sqlLockSuppressions)) // before suppress takes a weaker lock
		}
		t.last(suppressBy(sqlObeyOptOuts, nil, e.Suppressions)...)
		if err := t.carry(e.Suppressions, e.Moved); err != nil {
			return err
		}
		t.last(wrote(e.Inbound, now)...)
		if err := portable.KeepReplies(portableTx{t}, &e, hash); err != nil {
			return err
		}
		for _, s := range lifted {
			if err := portable.Lift(portableTx{t}, s); err != nil {
				return err
			}
		}
		if !holding {
			return nil
		}
		if err := t.flush(); err != nil {
			return err
		}
		hs, err := l.failureHolds(t.do, failures)
		if err == nil {
			_, err = t.changeHolds(append(hs, e.Holds...), e.Lifts, now)
		}
		return err
	}); err != nil {
		return done, err
	}
	var unknown []*messageStatuses
	for i, n := range known {
		if n == 0 {
			unknown = append(unknown, all[i])
		}
		done.Matched += int(max(0, n-1))
	}
	if len(unknown) > 0 {
		var orphaned int64
		if err := l.change(ctx, l.hooks, "webhook_uncommitted", func(t *tx) error {
			keys := make([]int64, len(unknown))
			for i, n := range unknown {
				keys[i] = n.key
			}
			erased, err := l.erasedOf(t, keys)
			if err != nil {
				return err
			}
			t.last(keepOrphans(slices.DeleteFunc(slices.Clone(unknown), func(n *messageStatuses) bool { return erased.Over(n.key) }), &orphaned))
			return nil
		}); err != nil {
			return campaign.Applied{}, err
		}
		done.Orphaned = int(orphaned)
		unknown = slices.DeleteFunc(unknown, func(n *messageStatuses) bool { return n.at[ledger.RankDelivered]+n.at[ledger.RankRead] == 0 })
	}
	if err := l.reachable(ctx, unreachable, reached, unknown); err != nil {
		return campaign.Applied{}, err
	}
	done.Repeated = len(e.Statuses) - done.Matched - done.Orphaned
	return done, nil
}

// sqlMoveStatuses moves the statuses of known messages forward, so that events commute and may
// repeat. All rows of a repeated message id move. For each row that it finds it returns the
// message's position in the batch and how many of the statuses are new. No index has any of the
// columns, so the updates are heap-only. The row of an erased number has lost its message id, and
// keeps the hash. $9 is now, and $11 are the connections of the Cloud API.
var sqlMoveStatuses = sqlFindStatuses + sqlForward +
	`SELECT rid, id, rank, sent, delivered, read, failed, code FROM m WHERE fresh > 0` + sqlOnward + sqlReturnStatuses

var sqlFindStatuses = `WITH e AS (SELECT mh, id, nullif(sent, 0) AS sent, nullif(delivered, 0) AS delivered, nullif(read, 0) AS read,
			nullif(failed, 0) AS failed, CASE WHEN failed <> 0 THEN code END AS code, rank, connection, i
		FROM unnest($1::bigint[], $2::text[], $3::bigint[], $4::bigint[], $5::bigint[], $6::bigint[], $7::text[], $8::bigint[], $10::text[])
		WITH ORDINALITY w (mh, id, sent, delivered, read, failed, code, rank, connection, i)),
	m AS MATERIALIZED (SELECT e.*, o.rid, o.result_at,
		coalesce((e.sent < coalesce(o.sent_at, 9223372036854775807))::int, 0)
		+ coalesce((e.delivered < coalesce(o.delivered_at, 9223372036854775807))::int, 0)
		+ coalesce((e.read < coalesce(o.read_at, 9223372036854775807))::int, 0)
		+ coalesce((e.failed < coalesce(o.failed_at, 9223372036854775807)
			OR e.failed = o.failed_at AND e.code < o.fail_code)::int, 0) AS fresh,
		o.failed_at IS NOT NULL AND coalesce(o.delivered_at, o.read_at) IS NOT NULL AS both_known
		FROM e CROSS JOIN LATERAL (SELECT rid, sent_at, delivered_at, read_at, failed_at, fail_code, result_at FROM outcome
			WHERE mh = e.mh AND message_id IN (e.id, 'erased') AND ` + tells("e.connection", "outcome", "$11") + ` OFFSET 0) o),
	u AS (`

// tells is the condition that an event of a connection may be about the message of a row of outcome
// (ledger.Tells). With an empty array of the platform's connections it reads nothing.
func tells(event, row, platform string) string {
	return fmt.Sprintf(`(cardinality(%[3]s::text[]) = 0 OR (SELECT sent = %[1]s OR NOT (sent = ANY(%[3]s) OR %[1]s = ANY(%[3]s))
		FROM (SELECT coalesce(%[2]s.connection, (SELECT g.connection FROM segment g
			WHERE g.id = ((%[2]s.rid >> 32) << 32) | ((%[2]s.rid & 4294967295) / 4096)), '') AS sent) over))`, event, row, platform)
}

// Rows with i = 0 are of messages that failed and were delivered, as the newest versions of the
// outcomes tell, or those of a batch that comes again.
var sqlReturnStatuses = ` RETURNING o.rid, o.failed_at, coalesce(o.delivered_at, o.read_at) AS reached_at),
	` + sqlSegments + `
	SELECT i, fresh, rid, coalesce(result_at, 0) FROM m
	UNION ALL SELECT 0, 0, rid, 0 FROM u WHERE failed_at IS NOT NULL AND reached_at IS NOT NULL
	UNION ALL SELECT 0, 0, rid, 0 FROM m WHERE fresh = 0 AND both_known
	UNION ALL SELECT 0, 0, 0, 0 ` + touchRuns(`$9::bigint`)

// sqlForward and sqlOnward move forward the rows that the query between them names: times to the
// earliest, rank to the highest, and the code of a failure with its earliest time. They are locked
// in the order of their ids, and their newest versions change. An upsert would lock each row first,
// which is one more record of WAL.
//
// BETWEEN is no condition for a merge join. With = the planner reads the whole index of a table
// that has one row, and that plan stays in use when the table has grown.
const (
	sqlForward = `UPDATE outcome o SET rank = greatest(o.rank, w.rank), sent_at = least(o.sent_at, w.sent),
			delivered_at = least(o.delivered_at, w.delivered), read_at = least(o.read_at, w.read), failed_at = least(o.failed_at, w.failed),
			fail_code = CASE WHEN w.failed IS NULL OR o.failed_at < w.failed THEN o.fail_code
				WHEN o.failed_at = w.failed THEN least(o.fail_code, w.code) ELSE w.code END
		FROM (`
	sqlOnward = ` ORDER BY rid) w (rid, id, rank, sent, delivered, read, failed, code)
		WHERE o.rid BETWEEN w.rid AND w.rid AND o.message_id IN (w.id, 'erased')`
)

// touchStep is the precision of LastEventAt in milliseconds. Were it 1, each webhook of a busy run
// would wait for the one before it.
const touchStep = 100

// sqlSegments are the segments of u, the outcomes that a statement changed.
const sqlSegments = `s AS MATERIALIZED (SELECT DISTINCT ((rid >> 32) << 32) | ((rid & 4294967295) / 4096) AS id FROM u)`

// touchRuns is the part of a statement that writes now (a parameter) as the time of the last status
// of the runs of sqlSegments, and adds the segments to those that changed (tx.recount). It returns
// no row. u ends before it begins, so a transaction that waits for an outcome has no row of a run
// locked. A function of the database does it, where something is to be written; as parts of the
// statement, the two changes would cost a fourth of a single status even when they change nothing.
// OFFSET 0 keeps the planner from calling the function for each segment.
func touchRuns(now string) string {
	return fmt.Sprintf(`FROM (SELECT id FROM s WHERE NOT EXISTS (SELECT 1 FROM changed c WHERE c.segment = id)
			OR NOT EXISTS (SELECT 1 FROM run_event e WHERE e.no = id >> 32 AND e.event_at >= %[1]s - %[2]d)
		ORDER BY id OFFSET 0) x WHERE touch_segment(id, %[1]s, %[1]s - %[2]d)`, now, touchStep)
}

// moveStatuses applies a batch to the messages that deliveries have. known receives, for each
// message of the batch, 0 when no delivery has it, otherwise 1 + the number of statuses that are
// new. failures receives the failed ones of messages of which something is new, reached the rows of
// messages that failed and were delivered.
func moveStatuses(all []*messageStatuses, known []int64, failures *ledger.Failures, reached *[]int64, platform []string) *query {
	n := len(all)
	mhs, ids, codes, connections := make([]int64, n), make([]string, n), make([]string, n), make([]string, n)
	var at [ledger.RankRead + 1][]int64
	for r := range at {
		at[r] = make([]int64, n)
	}
	ranks := make([]int64, n)
	for i, x := range all {
		mhs[i], ids[i], codes[i], connections[i] = x.mh, x.id, x.code, x.connection
		for r := range at {
			if at[r][i] = x.at[r]; x.at[r] != 0 {
				ranks[i] = int64(r)
			}
		}
	}
	return each(func(scan scanFunc) error {
		var i, fresh, rid, accepted int64
		err := scan(&i, &fresh, &rid, &accepted)
		if i == 0 {
			*reached = append(*reached, rid)
			return err
		}
		known[i-1] = max(known[i-1], 1+fresh)
		if n := all[i-1]; fresh > 0 && n.at[ledger.RankFailed] != 0 {
			failures.Add(rid, n.code, accepted, n.at[ledger.RankFailed])
		}
		return err
	}, sqlMoveStatuses, mhs, ids, at[ledger.RankSent], at[ledger.RankDelivered], at[ledger.RankRead], at[ledger.RankFailed], codes, ranks,
		ledger.Millis(time.Now()), connections, ledger.NonNil(platform))
}

const sqlKeepOrphans = `WITH k AS (INSERT INTO orphan (mh, message_id, rank, at, received_at, key, connection, code, untimed,
			marked, attempt)
		SELECT u.mh, u.id, u.rank, u.at, u.received,
			coalesce(nullif((SELECT key FROM delivery WHERE rid = u.marked AND u.marked <> 0), 0), u.key),
			u.connection, u.code, u.untimed, u.marked, u.attempt
		FROM unnest($1::bigint[], $2::text[], $3::bigint[], $4::bigint[], $5::bigint[], $6::bigint[], $7::text[], $8::text[],
			$9::boolean[], $10::bigint[], $11::bigint[]) u (mh, id, rank, at, received, key, connection, code, untimed, marked, attempt)
		ORDER BY u.mh, u.id, u.rank
		ON CONFLICT (mh, message_id, rank) DO UPDATE SET
			code = CASE WHEN excluded.at < orphan.at THEN excluded.code
				WHEN excluded.at = orphan.at THEN least(orphan.code, excluded.code) ELSE orphan.code END,
			at = least(orphan.at, excluded.at), key = greatest(orphan.key, excluded.key),
			connection = greatest(orphan.connection, excluded.connection), untimed = orphan.untimed AND excluded.untimed,
			marked = greatest(orphan.marked, excluded.marked),
			attempt = CASE WHEN excluded.marked > orphan.marked THEN excluded.attempt ELSE orphan.attempt END
		RETURNING xmax = 0 AS fresh)
	SELECT count(*) FILTER (WHERE fresh) FROM k`

// keepOrphans stores the statuses of messages that no delivery has, in the order of their key.
// orphaned receives how many are new.
func keepOrphans(unknown []*messageStatuses, orphaned *int64) *query {
	var mhs, ranks, ats, received, keys, marked, attempts []int64
	var ids, connections, codes []string
	var untimed []bool
	for _, x := range unknown {
		for r := ledger.RankSent; r <= ledger.RankRead; r++ {
			if x.at[r] == 0 {
				continue
			}
			code := ""
			if r == ledger.RankFailed {
				code = x.code
			}
			mhs, ids, ranks, ats = append(mhs, x.mh), append(ids, x.id), append(ranks, int64(r)), append(ats, x.at[r])
			received, keys = append(received, x.received[r]), append(keys, x.key)
			connections, codes, untimed = append(connections, x.connection), append(codes, code), append(untimed, !x.timed[r])
			marked, attempts = append(marked, x.marked), append(attempts, x.attempt)
		}
	}
	return row(orphaned, sqlKeepOrphans, mhs, ids, ranks, ats, received, keys, connections, codes, untimed, marked, attempts)
}
