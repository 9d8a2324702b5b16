package postgres

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"campaignd/campaign"
	"campaignd/internal/ledger"
	"campaignd/internal/mutant"
)

// news is all that one batch of webhooks tells about one message: of each status the
// earliest time.
type news struct {
	mh         int64
	id         string
	at         [ledger.RankRead + 1]int64 // by rank; 0: not told
	received   [ledger.RankRead + 1]int64
	code       string // of failed
	key        int64
	connection string
	last       ledger.Rank // of the last event, for the mutant
}

// gather folds the events of a batch by message, in the order of their hashes.
func (l *Ledger) gather(events []campaign.StatusEvent) ([]*news, error) {
	by := make(map[string]*news, len(events))
	all := make([]*news, 0, len(events))
	now := time.Now()
	for _, e := range events {
		r, ok := ledger.RankOf(e.Status)
		if !ok || e.MessageID == "" {
			return nil, fmt.Errorf("status event %q: want sent, delivered, read or failed, of a message id", e.Status)
		}
		id := storedID(e.MessageID)
		n := by[id]
		if n == nil {
			n = &news{mh: l.key.MessageHash(id), id: id}
			by[id] = n
			all = append(all, n)
		}
		when, received := ledger.EventTimes(e, now)
		at, code := max(1, ledger.Millis(when)), plainText(e.Code)
		if r == ledger.RankFailed && (n.at[r] == 0 || at < n.at[r] || at == n.at[r] && code < n.code) {
			n.code = code
		}
		if n.at[r] == 0 || at < n.at[r] {
			n.at[r] = at
		}
		if n.received[r] == 0 {
			n.received[r] = ledger.Millis(received)
		}
		n.key, n.connection, n.last = max(n.key, e.Recipient), max(n.connection, plainText(e.Connection)), r
	}
	slices.SortFunc(all, func(a, b *news) int { return cmp.Or(cmp.Compare(a.mh, b.mh), cmp.Compare(a.id, b.id)) })
	return all, nil
}

// moves moves the statuses of known messages forward, so that events commute and repeat
// harmlessly. All rows of a repeated message id move. It answers, for each row it knows, the
// message's place in the batch and how many of the statuses were news. None of the columns
// stands in an index: the updates are heap-only. $10 is now.
func moves() string {
	rank, onward, some := `rank`, onward, `fresh > 0`
	if mutant.On("rank_overwritten") {
		rank, onward, some = `last`, overwrite, `true`
	}
	return `WITH e AS (SELECT mh, id, nullif(sent, 0) AS sent, nullif(delivered, 0) AS delivered, nullif(read, 0) AS read, nullif(failed, 0) AS failed,
			CASE WHEN failed <> 0 THEN code END AS code, rank, last, i
			FROM unnest($1::bigint[], $2::text[], $3::bigint[], $4::bigint[], $5::bigint[], $6::bigint[], $7::text[], $8::bigint[], $9::bigint[])
			WITH ORDINALITY w (mh, id, sent, delivered, read, failed, code, rank, last, i)),
		m AS MATERIALIZED (SELECT e.*, o.rid,
			coalesce((e.sent < coalesce(o.sent_at, 9223372036854775807))::int, 0) + coalesce((e.delivered < coalesce(o.delivered_at, 9223372036854775807))::int, 0)
			+ coalesce((e.read < coalesce(o.read_at, 9223372036854775807))::int, 0)
			+ coalesce((e.failed < coalesce(o.failed_at, 9223372036854775807) OR e.failed = o.failed_at AND e.code < o.fail_code)::int, 0) AS fresh
			FROM e CROSS JOIN LATERAL (SELECT rid, sent_at, delivered_at, read_at, failed_at, fail_code FROM outcome WHERE mh = e.mh AND message_id = e.id OFFSET 0) o),
		u AS (` + forward + `SELECT rid, 5, mh, id, ` + rank + `, sent, delivered, read, failed, code FROM m WHERE ` + some + ` ORDER BY rid` + onward + ` RETURNING o.rid),
		t AS (` + touch(`SELECT DISTINCT rid >> 32 FROM u`, `$10::bigint`) + `)
		SELECT i, fresh FROM m`
}

// keepOrphans stores statuses of messages that nobody knows.
const keepOrphans = `WITH k AS (INSERT INTO orphan (mh, message_id, rank, at, received_at, key, connection, code)
		SELECT * FROM unnest($1::bigint[], $2::text[], $3::bigint[], $4::bigint[], $5::bigint[], $6::bigint[], $7::text[], $8::text[])
		ON CONFLICT (mh, message_id, rank) DO UPDATE SET
			code = CASE WHEN excluded.at < orphan.at THEN excluded.code WHEN excluded.at = orphan.at THEN least(orphan.code, excluded.code) ELSE orphan.code END,
			at = least(orphan.at, excluded.at), key = greatest(orphan.key, excluded.key), connection = greatest(orphan.connection, excluded.connection)
		RETURNING xmax = 0 AS fresh)
	SELECT count(*) FILTER (WHERE fresh) FROM k`

// Apply implements campaign.EventLedger. A batch takes one round trip, and another one when it tells of messages that nobody
// knows. Those are stored in a transaction of their own: a batch that is cut in two was not acknowledged, so it comes again.
func (l *Ledger) Apply(ctx context.Context, e campaign.Events) (done campaign.Applied, err error) {
	all, err := l.gather(e.Statuses)
	if err != nil || len(e.Statuses)+len(e.Suppressions)+len(e.Lifted)+len(e.Templates) == 0 {
		return done, err
	}
	moves := moves()
	known := make([]int64, len(all)) // 0: unknown, else 1 + how many statuses were news
	if err := l.change(ctx, l.hooks, "webhook_uncommitted", func(t *tx) error {
		clear(known)
		if len(all) > 0 {
			t.last(moved(moves, all, known))
		}
		t.last(suppress(nil, e.Suppressions)...)
		for _, s := range e.Lifted {
			t.last(lift(s))
		}
		for _, x := range e.Templates {
			t.last(template(x)...)
		}
		if mutant.On("failed_resends") {
			t.last(stmt(nil, resendFailed))
		}
		return nil
	}); err != nil {
		return done, err
	}
	var unknown []*news
	for i, n := range known {
		if n == 0 {
			unknown = append(unknown, all[i])
		}
		done.Matched += int(max(0, n-1))
	}
	if len(unknown) > 0 {
		var orphaned int64
		if err := l.change(ctx, l.hooks, "webhook_uncommitted", func(t *tx) error {
			t.last(kept(unknown, &orphaned))
			return nil
		}); err != nil {
			return campaign.Applied{}, err
		}
		done.Orphaned = int(orphaned)
	}
	done.Repeated = len(e.Statuses) - done.Matched - done.Orphaned
	return done, nil
}

// resendFailed is the mistake "what failed is sent again by itself" (mutant failed_resends).
const resendFailed = `WITH f AS (UPDATE outcome SET state = 1, rank = 0, mh = NULL, failed_at = NULL, next_due = 0 WHERE rank = 2 AND state = 5 RETURNING rid)
	UPDATE segment SET done = false, wake_at = 0 WHERE id IN (SELECT ((rid >> 32) << 32) | ((rid & 4294967295) / 4096) FROM f)`

// moved asks moves about a batch.
func moved(sql string, all []*news, known []int64) *query {
	n := len(all)
	mhs, ids, codes := make([]int64, n), make([]string, n), make([]string, n)
	var at [ledger.RankRead + 1][]int64
	for r := range at {
		at[r] = make([]int64, n)
	}
	ranks, lasts := make([]int64, n), make([]int64, n)
	for i, x := range all {
		mhs[i], ids[i], codes[i], lasts[i] = x.mh, x.id, x.code, int64(x.last)
		for r := range at {
			if at[r][i] = x.at[r]; x.at[r] != 0 {
				ranks[i] = int64(r)
			}
		}
	}
	return each(func(scan func(...any) error) error {
		var i, fresh int64
		err := scan(&i, &fresh)
		known[i-1] = max(known[i-1], 1+fresh)
		return err
	}, sql, mhs, ids, at[ledger.RankSent], at[ledger.RankDelivered], at[ledger.RankRead], at[ledger.RankFailed], codes, ranks, lasts, ledger.Millis(time.Now()))
}

// kept asks keepOrphans to store what is unknown, in the order of its key.
func kept(unknown []*news, orphaned *int64) *query {
	var mhs, ranks, ats, received, keys []int64
	var ids, connections, codes []string
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
			received, keys, connections, codes = append(received, x.received[r]), append(keys, x.key), append(connections, x.connection), append(codes, code)
		}
	}
	return row(orphaned, keepOrphans, mhs, ids, ranks, ats, received, keys, connections, codes)
}

// touchStep is how exactly LastEventAt is kept, in milliseconds: each webhook of a busy
// run would otherwise wait for the one before it.
const touchStep = 100

// touch remembers at now when a status of these runs was last applied. The runs come from what changed the outcomes, so that
// whoever waits for an outcome holds no row of a run.
func touch(runs, now string) string {
	return fmt.Sprintf(`UPDATE run_event e SET event_at = %[2]s FROM (
		SELECT no FROM run_event WHERE no = ANY(ARRAY(%[1]s)) AND event_at < %[2]s - %[3]d ORDER BY no FOR NO KEY UPDATE) w WHERE e.no = w.no`, runs, now, touchStep)
}

// template pauses the runs of a template that may not be sent any more, and makes them
// ready again when it is approved; campaign.TemplateEvent.Effect decides which.
func template(e campaign.TemplateEvent) []*query {
	name, language := plainText(e.Name), plainText(e.Language)
	switch e.Effect() {
	case campaign.TemplateResumes:
		return []*query{stmt(nil, `UPDATE run SET state = 'ready', reason = '', detail = '', template_event = ''
			WHERE state = 'paused' AND reason = 'template' AND template_event <> $1 AND template = $2 AND language = $3`, ledger.EventDisabled, name, language)}
	case campaign.TemplatePauses, campaign.TemplateEnds:
		event, detail := ledger.TemplatePause(e)
		return []*query{stmt(nil, `UPDATE run SET state = 'paused', reason = 'template', detail = $1, template_event = $2
			WHERE template = $3 AND language = $4 AND (state IN ('ready', 'running') OR state = 'paused' AND reason = 'template' AND template_event <> $5)`,
			plainText(detail), event, name, language, ledger.EventDisabled)}
	}
	return nil
}
