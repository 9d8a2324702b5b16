package postgres

import (
	"context"
	"slices"
	"time"

	"campaignd/campaign"
	"campaignd/internal/ledger"
)

// LedgerID implements campaign.WireLedger.
func (l *Ledger) LedgerID() string { return l.id }

// Marks implements campaign.WireLedger.
func (l *Ledger) Marks() campaign.Marks { return l.key.Marks(l.id) }

const (
	sqlMarks = `SELECT id, mark FROM segment WHERE id = ANY($1)`
	// sqlGrantedTo finds the segments that an owner has leased, or in which attempts that it was
	// granted are open.
	sqlGrantedTo = `SELECT s.id FROM segment s WHERE NOT s.done AND (s.owner = $1 OR s.granted_by = $1
		OR (SELECT true FROM outcome o WHERE o.rid >= (s.run << 32) + s.lo AND o.rid < (s.run << 32) + s.hi
			AND o.state = 3 /* in doubt */ AND o.granted_by = $1 LIMIT 1))`
)

// Unposted implements campaign.WireLedger, with a transaction for each segment. The transaction
// locks the segment, and so waits for an intent of the dead owner that is still being committed.
// The new epoch fences an intent that comes later.
func (l *Ledger) Unposted(ctx context.Context, w campaign.WireLog) (n int, err error) {
	posts, err := ledger.PostsOf(w)
	if err != nil {
		return 0, err
	}
	if err := l.checkIdentity(ctx); err != nil {
		return 0, err
	}
	owner, marks, ids := ledger.PlainText(w.Owner), map[int64]int64{}, []int64{}
	if err := l.read(ctx, l.sender, each(func(scan scanFunc) error {
		var id, mark int64
		err := scan(&id, &mark)
		marks[id] = mark
		return err
	}, sqlMarks, posts.Segments()), list(&ids, scanID, sqlGrantedTo, owner)); err != nil {
		return 0, err
	}
	for _, id := range posts.Segments() {
		mark, ok := marks[id]
		if !ok {
			mark = -1
		}
		if err := posts.Check(id, mark); err != nil {
			return 0, l.explain(err)
		}
	}
	slices.Sort(ids)
	for _, id := range ids {
		back := 0
		if err := l.change(ctx, l.sender, "", func(t *tx) (err error) {
			back, err = t.unpost(id, owner, posts)
			return err
		}); err != nil {
			return n, err
		}
		n += back
	}
	return n, nil
}

const (
	sqlLeasedSegment = `SELECT lo, hi, mark, granted_by = $2, owner = $2 FROM segment WHERE id = $1 FOR NO KEY UPDATE`
	sqlFresh         = `SELECT d.rid, 1 FROM delivery d WHERE d.rid >= $1 AND d.rid < $2 AND ` + sqlNoOutcome + ` ORDER BY d.rid`
	sqlUnanswered    = `SELECT rid, attempt FROM outcome WHERE rid >= $1 AND rid < $2 AND state = 2 /* retrying */ ORDER BY rid`
	sqlInterrupted   = `SELECT rid, attempt FROM outcome
		WHERE rid >= $1 AND rid < $2 AND state = 3 /* in doubt */ AND granted_by = $3 AND code = $4 ORDER BY rid`
	sqlUndoDoubts = `WITH u AS (UPDATE outcome SET state = 1 /* deferred */, attempt = attempt - 1, next_due = $2, code = $3,
			granted_by = NULL, result_at = $2, intent_at = NULL
			WHERE rid = ANY($1) AND state = 3 /* in doubt */ AND granted_by = $4 RETURNING attempt)
		SELECT count(*), count(*) FILTER (WHERE attempt <= 0) FROM u`
	sqlWake      = `UPDATE segment SET wake_at = 0 WHERE id = $1`
	sqlFenceDead = `UPDATE segment SET epoch = epoch + 1, owner = '', lease_until = 0 WHERE id = $1`
)

// unpost queues again the deliveries of a segment that the owner was granted and had not posted.
func (t *tx) unpost(id int64, owner string, posts ledger.WirePosts) (n int, err error) {
	s := ledger.Segment{Key: id}
	var granted, leased bool
	if err := t.do(rowOf([]any{&s.Lo, &s.Hi, &s.Mark, &granted, &leased}, sqlLeasedSegment, id, owner)); err != nil {
		return 0, err
	}
	var open, doubts []int64
	var proven provenAttempts // those of doubts
	unposted := func(into *[]int64) func(scanFunc) error {
		return func(scan scanFunc) error {
			var rid int64
			var attempt int
			err := scan(&rid, &attempt)
			if err == nil && !posts.Has(rid, attempt) {
				*into = append(*into, rid)
				if into == &doubts {
					proven.add(rid, int64(attempt))
				}
			}
			return err
		}
	}
	qs := []*query{each(unposted(&doubts), sqlInterrupted, s.First(), s.End(), owner, ledger.CodeInterrupted)}
	if granted {
		qs = append(qs, each(unposted(&open), sqlFresh, s.First(), s.Marked()),
			each(unposted(&open), sqlUnanswered, s.First(), s.End()))
	}
	if leased {
		qs = append(qs, stmt(nil, sqlFenceDead, id))
	}
	if err := t.do(qs...); err != nil {
		return 0, err
	}
	slices.Sort(open)
	if len(open)+len(doubts) == 0 {
		return 0, nil
	}
	t.recount(s.First())
	now := ledger.Millis(time.Now())
	var fresh, retries, first, undone, firstUndone int64
	if err := t.do(append(proven.end(),
		rowOf([]any{&retries, &first}, sqlUndoRetries, open, now, ledger.CodeReleased),
		stmt(&fresh, sqlDeferUnposted, open, now, ledger.CodeReleased),
		rowOf([]any{&undone, &firstUndone}, sqlUndoDoubts, doubts, now, ledger.CodeReleased, owner),
		stmt(nil, sqlWake, id))...); err != nil {
		return 0, err
	}
	t.last(giveBackPeople(append(open, doubts...))...)
	return int(fresh + retries + undone), t.giveBack(ledger.RunOf(id), id, fresh+first+firstUndone)
}
