package ledger

import (
	"context"
	"database/sql"
	"errors"
	"slices"
	"sync"
	"time"

	"campaignd/campaign"
	"campaignd/internal/mutant"
)

// sweepPos is where the search by message id goes on: each sweep looks at sweepStep
// orphans, so that a million of somebody else's messages cost no more than a few.
type sweepPos struct {
	sync.Mutex
	mh        int64
	messageID string
	begun     bool
}

// asker runs a query on the writer's transaction or on a reader.
type asker func(query string, a []any, f func(scan func(...any) error) error) error

// adoptOnce is how many orphans one transaction judges: what waits for the writer waits some 50 ms for them.
const adoptOnce = 250

// fewOrphans is how many are looked up among the doubts in some 50 ms.
const fewOrphans = 20_000

// Sweep implements campaign.EventLedger. It searches on a reader and gives the writer
// only what it found, in steps: intents wait for the same writer.
func (l *SQLite) Sweep(ctx context.Context, now time.Time) (done campaign.Swept, err error) {
	if mutant.On("sweeper_off") {
		return done, nil
	}
	var some bool
	if err := l.read().row(ctx, `SELECT EXISTS (SELECT 1 FROM orphan)`, nil, &some); err != nil || !some {
		return done, err
	}
	known, err := l.knownOrphans(ctx)
	if err != nil {
		return done, err
	}
	var fitting []orphan
	var then map[int64][]suspect
	var left, old int64
	if err := l.snapshot(ctx, func(r reader) (err error) {
		ask := func(q string, a []any, f func(func(...any) error) error) error { return r.each(ctx, q, a, f) }
		if fitting, then, err = adoptable(ask); err != nil {
			return err
		}
		return r.row(ctx, `SELECT count(*), count(*) FILTER (WHERE received_at < ?) FROM orphan`, args(millis(now.Add(-orphanAge))), &left, &old)
	}); err != nil {
		return done, err
	}
	step := func(rows int, f func(*tx, *campaign.Swept) error) error {
		var did campaign.Swept
		if err := l.submit(ctx, &op{urgency: results, rows: rows, run: func(t *tx) error {
			did = campaign.Swept{}
			return f(t, &did)
		}}); err != nil {
			return err
		}
		done.Matched, done.Adopted, done.Ambiguous, done.Expired = done.Matched+did.Matched, done.Adopted+did.Adopted, done.Ambiguous+did.Ambiguous, done.Expired+did.Expired
		return nil
	}
	if len(known) > 0 {
		if err := step(len(known), func(t *tx, did *campaign.Swept) error {
			for _, o := range known {
				n, err := t.absorbMessage(o)
				if err != nil {
					return err
				}
				did.Matched += n
			}
			return nil
		}); err != nil {
			return done, err
		}
	}
	until := time.Now().Add(adoptTime)
	for some := range slices.Chunk(fitting, adoptOnce) {
		if err := step(len(some), func(t *tx, did *campaign.Swept) error {
			for _, o := range some {
				if err := t.adopt(o, then[o.key], did); err != nil {
					return err
				}
			}
			return nil
		}); err != nil {
			return done, err
		}
		if time.Now().After(until) {
			break // the next sweep goes on
		}
	}
	// First what is too old, then what is too much, as long as either was true of the snapshot.
	excess := min(max(0, left-old-orphanCap), 10*sweepStep)
	for _, drop := range []struct{ n, before int64 }{{min(old, sweepStep), millis(now.Add(-orphanAge))}, {excess, 1 << 62}} {
		for n := drop.n; n > 0; n -= sweepStep {
			if err := step(int(min(n, sweepStep)), func(t *tx, did *campaign.Swept) error {
				m, err := t.exec(`DELETE FROM orphan WHERE (mh, message_id, rank) IN
					(SELECT mh, message_id, rank FROM orphan WHERE received_at < ? ORDER BY received_at LIMIT ?)`, drop.before, min(n, sweepStep))
				did.Expired = int(m)
				return err
			}); err != nil {
				return done, err
			}
		}
	}
	done.Left = int(left)
	if done.Matched+done.Adopted+done.Expired > 0 {
		return done, l.read().row(ctx, `SELECT count(*) FROM orphan`, nil, &done.Left)
	}
	return done, nil
}

// knownOrphans finds, among the next sweepStep orphans, those whose message is known.
// The transactions that record receipts absorb their own orphans; this is for what came
// in by another process.
func (l *SQLite) knownOrphans(ctx context.Context) (known []orphan, err error) {
	p := &l.sweepAt
	p.Lock()
	defer p.Unlock()
	if !p.begun {
		p.mh, p.messageID, p.begun = -1<<63, "", true
	}
	n := 0
	err = l.read().each(ctx, `SELECT o.mh, o.message_id, EXISTS (SELECT 1 FROM outcome x WHERE x.mh = o.mh AND x.mh <> 0 AND x.message_id = o.message_id)
		FROM orphan o WHERE (o.mh, o.message_id) > (?, ?) ORDER BY o.mh, o.message_id LIMIT ?`, args(p.mh, p.messageID, sweepStep),
		func(scan func(...any) error) error {
			var o orphan
			var yes bool
			err := scan(&o.mh, &o.messageID, &yes)
			if yes && (len(known) == 0 || known[len(known)-1].messageID != o.messageID) {
				known = append(known, o)
			}
			p.mh, p.messageID = o.mh, o.messageID
			n++
			return err
		})
	if n < sweepStep {
		p.begun = false
	}
	return known, err
}

// adoptable finds the orphans that a doubt may be about, as judged on one snapshot,
// and what of the same recipients was in doubt and in flight then. An intent that comes later cannot
// have sent a message that is already here. Those that it would adopt come first: many that stay ambiguous must not keep them waiting.
func adoptable(ask asker) (fitting []orphan, then map[int64][]suspect, err error) {
	var near []orphan
	var few bool
	if err := ask(`SELECT count(*) < ?1 FROM (SELECT 1 FROM orphan INDEXED BY orphan_key WHERE key <> 0 LIMIT ?1)`, args(fewOrphans), func(scan func(...any) error) error {
		return scan(&few)
	}); err != nil {
		return nil, nil, err
	}
	// Driven by the orphans while they are few: unknowns are kept for ever. Else by the doubts.
	pairs := `orphan p INDEXED BY orphan_key CROSS JOIN outcome d INDEXED BY outcome_doubt`
	if !few {
		pairs = `outcome d INDEXED BY outcome_doubt CROSS JOIN orphan p INDEXED BY orphan_key`
	}
	if err := ask(`SELECT o.mh, o.message_id, max(o.key), max(o.connection), min(o.at) FROM
		(SELECT DISTINCT p.mh, p.message_id FROM `+pairs+` ON p.key = d.key
			WHERE d.state IN (3, 4) AND p.key <> 0) n
		CROSS JOIN orphan o ON o.mh = n.mh AND o.message_id = n.message_id GROUP BY o.mh, o.message_id`, nil,
		func(scan func(...any) error) error {
			var o orphan
			err := scan(&o.mh, &o.messageID, &o.key, &o.connection, &o.first)
			near = append(near, o)
			return err
		}); err != nil || len(near) == 0 {
		return nil, nil, err
	}
	doubts := map[int64][]suspect{}
	var unsure []orphan
	for _, o := range near {
		of, ok := doubts[o.key]
		if !ok {
			if of, err = doubtsOf(ask, o.key); err != nil {
				return nil, nil, err
			}
			doubts[o.key] = of
		}
		switch v := judge(o, of); {
		case v.adopt != 0:
			fitting = append(fitting, o)
		case len(v.ambiguous) > 0:
			unsure = append(unsure, o)
		}
	}
	if len(fitting)+len(unsure) == 0 {
		return nil, nil, nil
	}
	slices.SortFunc(fitting, byFirst)
	slices.SortFunc(unsure, byFirst)
	fitting = append(fitting, unsure...)
	keys := map[int64]bool{}
	for _, o := range fitting {
		keys[o.key] = true
	}
	if then, err = inFlight(ask, keys); err != nil {
		return nil, nil, err
	}
	for k := range keys {
		then[k] = append(then[k], doubts[k]...)
	}
	return fitting, then, nil
}

// doubtsOf reads the doubts and unknowns of a recipient, over all runs.
func doubtsOf(ask asker, key int64) (found []suspect, err error) {
	err = ask(`SELECT d.rid, CASE WHEN d.flags & 32 THEN '' ELSE coalesce(s.connection, '') END, d.intent_at, d.result_at FROM outcome d INDEXED BY outcome_doubt
		LEFT JOIN segment s ON s.id = ((d.rid >> 32) << 32) | ((d.rid & 0xffffffff) / 4096)
		WHERE d.state IN (3, 4) AND d.key = ? ORDER BY d.rid`, args(key), func(scan func(...any) error) error {
		var s suspect
		err := scan(&s.rid, &s.connection, &s.intentAt, &s.since)
		found = append(found, s)
		return err
	})
	return found, err
}

// inFlight reads what of these recipients was posted, or may be, without a result.
func inFlight(ask asker, keys map[int64]bool) (map[int64][]suspect, error) {
	type part struct {
		suspect
		first, end int64
	}
	var parts []part
	if err := ask(`SELECT (run << 32) + lo, (run << 32) + mark, connection, intents_since FROM segment WHERE done = 0 AND mark > lo`, nil,
		func(scan func(...any) error) error {
			p := part{suspect: suspect{open: true}}
			err := scan(&p.first, &p.end, &p.connection, &p.intentAt)
			parts = append(parts, p)
			return err
		}); err != nil {
		return nil, err
	}
	found := map[int64][]suspect{}
	add := func(p part) func(func(...any) error) error {
		return func(scan func(...any) error) error {
			s, key := p.suspect, int64(0)
			err := scan(&s.rid, &key)
			if keys[key] {
				found[key] = append(found[key], s)
			}
			return err
		}
	}
	for _, p := range parts {
		var settled int64
		if err := ask(`SELECT count(*) FROM outcome WHERE rid >= ? AND rid < ?`, args(p.first, p.end), func(scan func(...any) error) error {
			return scan(&settled)
		}); err != nil {
			return nil, err
		}
		if settled < p.end-p.first {
			if err := ask(`SELECT d.rid, d.key FROM delivery d LEFT JOIN outcome o ON o.rid = d.rid
				WHERE d.rid >= ? AND d.rid < ? AND o.rid IS NULL`, args(p.first, p.end), add(p)); err != nil {
				return nil, err
			}
		}
		if err := ask(`SELECT o.rid, d.key FROM outcome o INDEXED BY outcome_open CROSS JOIN delivery d ON d.rid = o.rid
			WHERE o.rid >= ? AND o.rid < ? AND o.state IN (1, 2, 3) AND o.state = 2`, args(p.first, p.end), add(p)); err != nil {
			return nil, err
		}
	}
	return found, nil
}

// adopt judges an orphan again inside the transaction and acts on it.
func (t *tx) adopt(o orphan, then []suspect, done *campaign.Swept) error {
	doubts, err := doubtsOf(t.each, o.key)
	if err != nil {
		return err
	}
	switch v := judge(o, suspects(doubts, then)); {
	case v.adopt != 0:
		n, err := t.exec(`UPDATE outcome SET state = 5, flags = flags | 1, mh = ?2, message_id = ?3, result_at = ?4,
			code = '', detail = '', key = 0, intent_at = 0 WHERE rid = ?1 AND state IN (3, 4) AND EXISTS (SELECT 1 FROM orphan WHERE mh = ?2 AND message_id = ?3)`,
			v.adopt, o.mh, o.messageID, o.first)
		if err != nil || n == 0 {
			return err
		}
		done.Adopted++
		_, err = t.absorbMessage(o)
		return err
	case len(v.ambiguous) > 0:
		done.Ambiguous++
		for _, r := range v.ambiguous {
			if _, err := t.exec(`UPDATE outcome SET flags = flags | 8 WHERE rid = ? AND flags & 8 = 0`, r); err != nil {
				return err
			}
		}
	}
	return nil
}

// absorbMessage applies all orphans of one message, if it is known.
func (t *tx) absorbMessage(o orphan) (int, error) {
	var found []waitingStatus
	if err := t.each(`SELECT mh, message_id, rank, at, code FROM orphan WHERE mh = ? AND message_id = ?`, args(o.mh, o.messageID), func(scan func(...any) error) error {
		var s waitingStatus
		err := scan(&s.mh, &s.messageID, &s.rank, &s.at, &s.code)
		found = append(found, s)
		return err
	}); err != nil {
		return 0, err
	}
	return t.absorb(found)
}

// LastEventAt implements campaign.ReportLedger.
func (l *SQLite) LastEventAt(ctx context.Context, no campaign.RunNo) (time.Time, error) {
	var at int64
	err := l.read().row(ctx, `SELECT event_at FROM run_count WHERE no = ?`, args(int64(no)), &at)
	if errors.Is(err, sql.ErrNoRows) {
		err = campaign.ErrNoRun
	}
	return timeOf(at), err
}
