package postgres

import (
	"fmt"
	"slices"
	"time"

	"campaignd/campaign"
	"campaignd/internal/ledger"
	"campaignd/recipients"
)

// grants is one transaction of intents: what it read, and what it answers.
type grants struct {
	segments   map[int64]*segment
	runs       map[int64]*budget
	rows       ledger.SendingRows // of all intents, without Suppressed
	byKey      map[int64][]string // scopes of suppressions, by the key that they are stored under
	repeated   []int64            // deliveries whose runs leave them out
	holds      []campaign.Hold    // in force
	answers    []campaign.Granted
	at         int64       // now, in milliseconds
	recipients *addressees // nil when no intent depends on its recipients

	skipRids      []int64 // deliveries that are suppressed
	skipWhy       []string
	retryRids     []int64 // retries that begin
	retryAttempts []int64
	retryBy       []string // their connections
	skipRetryRids []int64  // retries that are suppressed
	skipRetryWhy  []string
	marked, begun int64 // rows that sqlMoveMarks and sqlBeginRetries changed
}

// segment is a segment as the intents of the transaction change it.
type segment struct {
	id, run, epoch, lo, hi, mark, from int64 // from: the mark that was read
	done                               bool
	connection                         string
	count                              int64 // deliveries granted
	wrote                              bool
	retried, attempts                  []int64 // retries granted
}

func (s *segment) raised() bool { return s.wrote && s.mark != s.from }

// tells reports whether reading the segment back can show that the intents were committed. A
// segment whose retries were all suppressed cannot show it.
func (s *segment) tells() bool { return s.raised() || s.wrote && len(s.retried) > 0 }

// budget is a run as the intents of the transaction use up its budget.
type budget struct {
	state     campaign.State
	wanted    campaign.Wanted
	marketing bool
	limit     int64 // 0: none
	taken     int64 // deliveries taken before, of a run with a limit
	count     int64 // deliveries granted
	start     bool
}

// intend reads, decides and writes.
func (l *Ledger) intend(t *tx, in []campaign.Intent) (*grants, error) {
	g := &grants{segments: map[int64]*segment{}, runs: map[int64]*budget{}, byKey: map[int64][]string{},
		at: ledger.Millis(time.Now()), rows: ledger.SendingRows{WithOutcome: map[int64]bool{}, Retries: map[int64]ledger.Waiting{}}}
	in, err := withKeys(t, in)
	if err != nil {
		return nil, err
	}
	if err := l.readGrants(t, g, in, l.readHolds(in, g.at, &g.holds)); err != nil {
		return nil, err
	}
	for id, s := range g.segments {
		if a, lost := l.marks.behind(id, s.mark); lost {
			if err := l.raise(t, id, a); err != nil {
				return nil, err
			}
			s.epoch = -1 // fences every intent of the segment
		}
	}
	for i := range in {
		answer, err := g.decide(in[i])
		if err != nil {
			return nil, &malformedIntent{i, err}
		}
		g.answers = append(g.answers, answer)
	}
	if g.recipients != nil {
		if err := g.recipients.limits(t, g.answers); err != nil {
			return nil, err
		}
	}
	g.write(t)
	return g, nil
}

const (
	sqlSendingSegments = `SELECT id, run, epoch, lo, hi, mark, done, connection FROM segment
		WHERE id = ANY($1) ORDER BY id FOR NO KEY UPDATE`
	sqlSendingRuns  = `SELECT no, state, wanted, marketing, budget FROM run WHERE no = ANY($1)`
	sqlTakenBudgets = `SELECT c.no, c.taken FROM run_count c JOIN run r ON r.no = c.no
		WHERE c.no = ANY($1) AND r.budget > 0 ORDER BY c.no FOR NO KEY UPDATE OF c`
	sqlWithOutcome = `SELECT o.rid FROM unnest($1::bigint[], $2::bigint[]) w (a, b) CROSS JOIN LATERAL (
		SELECT rid FROM outcome WHERE rid >= w.a AND rid < w.b OFFSET 0) o`
	sqlWaiting = `SELECT rid, state, attempt FROM outcome WHERE rid = ANY($1) ORDER BY rid FOR NO KEY UPDATE`
	// LATERAL with OFFSET 0: a few rows are looked up by their keys, whatever the statistics say.
	sqlRepeated = `SELECT p.rid FROM repeat p
		CROSS JOIN LATERAL (SELECT ended_at, wanted FROM run WHERE no = p.other >> 32 OFFSET 0) r
		CROSS JOIN LATERAL (SELECT mark FROM segment WHERE id = (p.other >> 32 << 32) + (p.other & 4294967295) / 4096 OFFSET 0) s
		LEFT JOIN LATERAL (SELECT rid, state, rank, flags FROM outcome WHERE rid = p.other OFFSET 0) o ON true
		WHERE p.rid = ANY($1) AND ` + ledger.IsRepeated
	sqlKeysOf = `SELECT rid, key FROM delivery WHERE rid = ANY($1)`
)

// withKeys adds the keys of the recipients to the intents that do not give them.
func withKeys(t *tx, in []campaign.Intent) ([]campaign.Intent, error) {
	unkeyed := func(x campaign.Intent) bool {
		return !ledger.Keyed(&x) && x.To-x.From <= campaign.SegmentSize /* else malformed */
	}
	if !slices.ContainsFunc(in, unkeyed) {
		return in, nil
	}
	in = slices.Clone(in)
	for i := range in {
		x := &in[i]
		if !unkeyed(*x) {
			continue
		}
		ids, of := ledger.RowIDs(x), map[int64]int64{}
		if err := t.do(each(func(scan scanFunc) error {
			var id, key int64
			err := scan(&id, &key)
			of[id] = key
			return err
		}, sqlKeysOf, ids)); err != nil {
			return nil, err
		}
		x.Keys = make([]int64, len(ids))
		for n, id := range ids {
			x.Keys[n] = of[id]
		}
	}
	return in, nil
}

// readGrants reads all rows that the intents depend on, in one round trip. It locks the segments,
// the counters of runs with a budget, and the outcomes of the retries, each in the order of their
// keys, so what is decided stays true until the commit.
func (l *Ledger) readGrants(t *tx, g *grants, in []campaign.Intent, holds *query) error {
	var ids, nos, from, to, rids, keys, leaveOut []int64
	for i := range in {
		x := &in[i]
		no := x.Lease.Run
		ids, nos = append(ids, ledger.SegmentKey(no, x.Lease.Index)), append(nos, int64(no))
		if x.To > x.From {
			from, to = append(from, ledger.RowID(no, x.From)), append(to, ledger.RowID(no, x.To))
		}
		for _, r := range x.Retries {
			rids = append(rids, ledger.RowID(no, r.Seq))
		}
		keys = append(keys, x.Keys...)
		if x.LeaveOut {
			leaveOut = append(leaveOut, ledger.RowIDs(x)...)
		}
	}
	keys = recipients.Spelled(keys)
	pseudonyms, of := l.key.Pseudonyms(keys) // of keys that a planner read before an erasure
	keys = append(keys, pseudonyms...)
	for _, s := range []*[]int64{&ids, &nos, &rids, &keys} {
		slices.Sort(*s)
		*s = slices.Compact(*s)
	}
	people := g.readRecipients(in)
	qs := []*query{
		each(func(scan scanFunc) error {
			s := &segment{}
			err := scan(&s.id, &s.run, &s.epoch, &s.lo, &s.hi, &s.mark, &s.done, &s.connection)
			s.from = s.mark
			g.segments[s.id] = s
			return err
		}, sqlSendingSegments, ids),
		each(func(scan scanFunc) error {
			var no int64
			b := &budget{}
			err := scan(&no, &b.state, &b.wanted, &b.marketing, &b.limit)
			g.runs[no] = b
			return err
		}, sqlSendingRuns, nos),
		each(func(scan scanFunc) error {
			var no, taken int64
			err := scan(&no, &taken)
			if b := g.runs[no]; b != nil {
				b.taken = taken
			}
			return err
		}, sqlTakenBudgets, nos),
		holds,
	}
	if len(from) > 0 {
		qs = append(qs, each(func(scan scanFunc) error {
			var r int64
			err := scan(&r)
			g.rows.WithOutcome[r] = true
			return err
		}, sqlWithOutcome, from, to))
	}
	if len(rids) > 0 {
		qs = append(qs, each(func(scan scanFunc) error {
			var r int64
			var w ledger.Waiting
			err := scan(&r, &w.State, &w.Attempt)
			g.rows.Retries[r] = w
			return err
		}, sqlWaiting, rids))
	}
	if len(keys) > 0 {
		qs = append(qs, each(func(scan scanFunc) error {
			var key int64
			var scope string
			err := scan(&key, &scope)
			if key < 0 && of[key] != 0 {
				key = of[key]
			}
			g.byKey[key] = append(g.byKey[key], scope)
			return err
		}, sqlSuppressedKeys, keys, g.at))
	}
	if len(leaveOut) > 0 {
		qs = append(qs, each(func(scan scanFunc) error {
			id, err := scanID(scan)
			g.repeated = append(g.repeated, id)
			return err
		}, sqlRepeated, leaveOut))
	}
	if err := t.do(append(qs, people...)...); err != nil || g.recipients == nil {
		return err
	}
	g.recipients.ready()
	return nil
}

const (
	// A compare-and-swap on (epoch, mark) although the rows are locked: at most one intent per
	// delivery depends on this statement (docs/protocol.md#intents).
	sqlMoveMarks = `UPDATE segment s SET mark = w.mark, connection = w.connection, taken = s.taken + w.n
		FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::bigint[], $5::text[], $6::bigint[]) w (id, epoch, was, mark, connection, n)
		WHERE s.id = ANY($1) AND s.id = w.id AND s.mark = w.was AND s.epoch = w.epoch`

	sqlInsertSkips = `INSERT INTO outcome (rid, state, code, result_at)
		SELECT r, 7 /* skipped */, why, $3 FROM unnest($1::bigint[], $2::text[]) w (r, why) ORDER BY r`
	sqlBeginRetries = `UPDATE outcome o SET state = 2 /* retrying */, attempt = w.attempt, intent_at = $3, next_due = NULL,
			connection = CASE WHEN o.connection IS NOT NULL THEN w.connection END
		FROM unnest($1::bigint[], $2::bigint[], $4::text[]) w (r, attempt, connection)
		WHERE o.rid = ANY($1) AND o.rid = w.r AND o.state = 1 /* deferred */`
	sqlSkipRetries = `UPDATE outcome o SET ` + ledger.SkippedState + `, code = w.why, result_at = $3, next_due = NULL
		FROM unnest($1::bigint[], $2::text[]) w (r, why) WHERE o.rid = ANY($1) AND o.rid = w.r AND o.state = 1 /* deferred */`
	sqlTakeBudgets = `UPDATE run_count c SET taken = c.taken + w.n FROM unnest($1::bigint[], $2::bigint[]) w (no, n) WHERE c.no = w.no`
)

// write adds what was decided to the commit.
func (g *grants) write(t *tx) {
	var ids, epochs, was, marks, counts, nos, used, start []int64
	var connections []string
	for id, s := range g.segments {
		if s.wrote {
			ids, epochs, was, marks = append(ids, id), append(epochs, s.epoch), append(was, s.from), append(marks, s.mark)
			connections, counts = append(connections, s.connection), append(counts, s.count)
		}
	}
	for no, r := range g.runs {
		if r.limit > 0 && r.count > 0 {
			nos, used = append(nos, no), append(used, r.count)
		}
		if r.start {
			start = append(start, no)
		}
	}
	t.recount(slices.Concat(g.skipRids, g.retryRids, g.skipRetryRids)...)
	var people []*query
	if g.recipients != nil {
		t.recount(g.recipients.deferred()...)
		people = g.recipients.write(g.at)
	}
	if len(ids) == 0 {
		t.last(people...) // places that are free again
		return
	}
	qs := []*query{stmt(&g.marked, sqlMoveMarks, ids, epochs, was, marks, connections, counts)}
	if len(g.skipRids) > 0 {
		qs = append(qs, stmt(nil, sqlInsertSkips, g.skipRids, g.skipWhy, g.at))
	}
	if len(g.retryRids) > 0 {
		qs = append(qs, stmt(&g.begun, sqlBeginRetries, g.retryRids, g.retryAttempts, g.at, g.retryBy))
	}
	if len(g.skipRetryRids) > 0 {
		qs = append(qs, stmt(nil, sqlSkipRetries, g.skipRetryRids, g.skipRetryWhy, g.at))
	}
	if len(nos) > 0 {
		qs = append(qs, stmt(nil, sqlTakeBudgets, nos, used))
	}
	if len(start) > 0 {
		qs = append(qs, t.startRun(start...))
	}
	t.last(append(qs, people...)...)
}

// check compares what was committed with what was decided. The rows were locked in between, so only
// a defect of this package can make the two differ. Then nothing is granted, and the next owner
// takes the committed intents for doubts.
func (g *grants) check() error {
	marks := 0
	for _, s := range g.segments {
		if s.wrote {
			marks++
		}
	}
	if g.marked != int64(marks) || g.begun != int64(len(g.retryRids)) {
		return fmt.Errorf("%d of %d marks and %d of %d retries moved under their lock", g.marked, marks, g.begun, len(g.retryRids))
	}
	return nil
}
