package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"slices"
	"time"

	"campaignd/campaign"
	"campaignd/internal/ledger"
)

// LedgerID implements campaign.WireLedger.
func (l *Ledger) LedgerID() string { return l.id }

// Marks implements campaign.WireLedger.
func (l *Ledger) Marks() campaign.Marks { return l.key.Marks(l.id) }

// Unposted implements campaign.WireLedger.
func (l *Ledger) Unposted(ctx context.Context, w campaign.WireLog) (n int, err error) {
	posts, err := ledger.PostsOf(w)
	if err != nil {
		return 0, err
	}
	if err := l.Restored(ctx); err != nil {
		return 0, err
	}
	err = l.submit(ctx, &op{urgency: results, rows: campaign.SegmentSize, run: func(t *tx) error {
		n = 0
		if err := t.checkPosts(posts); err != nil {
			return err
		}
		segments, err := t.grantedTo(w.Owner)
		if err != nil {
			return err
		}
		for _, s := range segments {
			back, err := t.unpost(s, w.Owner, posts)
			if err != nil {
				return err
			}
			n += back
		}
		return nil
	}})
	if err != nil {
		return 0, err
	}
	return n, nil
}

const sqlMark = `SELECT mark FROM segment WHERE id = ?`

// checkPosts compares the posts with the marks.
func (t *tx) checkPosts(posts ledger.WirePosts) error {
	for _, id := range posts.Segments() {
		mark := int64(-1)
		if err := t.row(sqlMark, args(id), &mark); err != nil && !errors.Is(err, sql.ErrNoRows) {
			return err
		}
		if err := posts.Check(id, mark); err != nil {
			return err
		}
	}
	return nil
}

// sqlGrantedTo finds the segments that an owner has a lease of, or in which attempts of it are
// open.
const sqlGrantedTo = `SELECT id, lo, hi, mark, granted_by, owner = ?1 FROM segment s WHERE done = 0 AND (owner = ?1 OR granted_by = ?1
	OR EXISTS (SELECT 1 FROM outcome INDEXED BY outcome_open WHERE rid >= (s.run << 32) + s.lo AND rid < (s.run << 32) + s.hi
		AND state IN (1, 2, 3) /* open */ AND state = 3 /* in doubt */ AND granted_by = ?1)) ORDER BY id`

// leasedSegment is a segment, and whether the dead owner has its lease.
type leasedSegment struct {
	ledger.Segment
	leased bool
}

func (t *tx) grantedTo(owner string) (all []leasedSegment, err error) {
	err = t.each(sqlGrantedTo, args(owner), func(scan scanFunc) error {
		var s leasedSegment
		err := scan(&s.Key, &s.Lo, &s.Hi, &s.Mark, &s.GrantedBy, &s.leased)
		all = append(all, s)
		return err
	})
	return all, err
}

const (
	sqlRetrying = `SELECT rid, attempt FROM outcome INDEXED BY outcome_open
		WHERE rid >= ? AND rid < ? AND state IN (1, 2, 3) /* open */ AND state = 2 /* retrying */`
	sqlInterrupted = `SELECT rid, attempt FROM outcome INDEXED BY outcome_open
		WHERE rid >= ? AND rid < ? AND state IN (1, 2, 3) /* open */ AND state = 3 /* in doubt */ AND granted_by = ? AND code = ?`
	sqlUndoDoubt = `UPDATE outcome SET state = 1 /* deferred */, attempt = attempt - 1, next_due = ?2, code = ?3, granted_by = '',
			result_at = ?2, intent_at = 0
		WHERE rid = ?1 AND state = 3 /* in doubt */`
	sqlWake      = `UPDATE segment SET wake_at = 0 WHERE id = ?`
	sqlFenceDead = `UPDATE segment SET epoch = epoch + 1, owner = '', lease_until = 0 WHERE id = ?`
)

// unpost queues again what the owner was granted of a segment and had not posted.
func (t *tx) unpost(s leasedSegment, owner string, posts ledger.WirePosts) (n int, err error) {
	if s.leased {
		if _, err := t.exec(sqlFenceDead, s.Key); err != nil {
			return 0, err
		}
	}
	var open, doubts []attempted
	if s.GrantedBy == owner {
		if err := t.unanswered(&open, posts, sqlWithoutOutcome, 1, s.First(), s.Marked()); err != nil {
			return 0, err
		}
		if err := t.unanswered(&open, posts, sqlRetrying, 0, s.First(), s.End()); err != nil {
			return 0, err
		}
	}
	if err := t.unanswered(&doubts, posts, sqlInterrupted, 0, s.First(), s.End(), owner, ledger.CodeInterrupted); err != nil {
		return 0, err
	}
	if n = len(open) + len(doubts); n == 0 {
		return 0, nil
	}
	now, back := ledger.Millis(time.Now()), int64(0)
	rids := make([]int64, 0, n)
	for _, a := range slices.Concat(open, doubts) {
		rids = append(rids, a.rid)
	}
	for _, a := range open {
		first, err := t.undo(a.rid, now)
		if err != nil {
			return 0, err
		}
		if first {
			back++
		}
	}
	for _, a := range doubts {
		if _, err := t.exec(sqlProven, a.rid, a.attempt); err != nil {
			return 0, err
		}
		t.recount(a.rid)
		if _, err := t.exec(sqlUndoDoubt, a.rid, now, ledger.CodeReleased); err != nil {
			return 0, err
		}
		if a.attempt == 1 {
			back++
		}
	}
	if err := t.giveBack(rids...); err != nil {
		return 0, err
	}
	if _, err := t.exec(sqlGiveBackBudget, back, int64(ledger.RunOf(s.Key))); err != nil {
		return 0, err
	}
	_, err = t.exec(sqlWake, s.Key)
	return n, err
}

// attempted is an attempt without a result.
type attempted struct {
	rid     int64
	attempt int
}

// unanswered adds the attempts of a query that were not posted. If attempt is not 0, it is that of
// each row, and the query's second column is another.
func (t *tx) unanswered(all *[]attempted, posts ledger.WirePosts, query string, attempt int, a ...any) error {
	return t.each(query, a, func(scan scanFunc) error {
		var one attempted
		err := scan(&one.rid, &one.attempt)
		if attempt != 0 {
			one.attempt = attempt
		}
		if err == nil && !posts.Has(one.rid, one.attempt) {
			*all = append(*all, one)
		}
		return err
	})
}
