package postgres

import (
	"fmt"
	"slices"
	"time"

	"campaignd/campaign"
	"campaignd/internal/ledger"
	"campaignd/internal/mutant"
)

// grants is one call of Intend: what it found and what it answers.
type grants struct {
	segments map[int64]*segment
	runs     map[int64]*budget
	rows     ledger.SendingRows         // of all intents; Suppressed where the caller gave no keys
	scopes   map[int64][]campaign.Scope // of the keys asked about
	answers  []campaign.Granted
	at       int64

	skipRids       []int64 // of the groups, suppressed
	skipWhy        []string
	goRids         []int64 // retries granted
	goAttempts     []int64
	dropRids       []int64 // retries that are suppressed
	dropWhy        []string
	swapped, began int64 // rows that the commit's statements moved
}

// segment is a segment as the intents of the call move it on.
type segment struct {
	id, run, epoch, lo, hi, mark, from int64
	done                               bool
	connection                         string
	count                              int64 // granted
	wrote                              bool
	retried, attempts                  []int64 // retries granted
}

func (s *segment) moved() bool { return s.wrote && s.mark != s.from }

// tells reports whether the segment looks otherwise when the intents are committed. One whose retries were all
// suppressed does not.
func (s *segment) tells() bool { return s.moved() || s.wrote && len(s.retried) > 0 }

// budget is a run as the intents of the call use it up.
type budget struct {
	state     campaign.State
	wanted    campaign.Wanted
	marketing bool
	limit     int64
	left      int64
	count     int64
	start     bool
}

// intend reads, decides and writes.
func (l *Ledger) intend(t *tx, in []campaign.Intent) (*grants, error) {
	g := &grants{segments: map[int64]*segment{}, runs: map[int64]*budget{}, scopes: map[int64][]campaign.Scope{}, at: ledger.Millis(time.Now()),
		rows: ledger.SendingRows{Settled: map[int64]bool{}, Suppressed: map[int64]campaign.SkipReason{}, Retries: map[int64]ledger.Waiting{}}}
	if err := g.read(t, in); err != nil {
		return nil, err
	}
	for id, s := range g.segments {
		if a, lost := l.marks.behind(id, s.mark); lost {
			if err := l.raise(t, id, a); err != nil {
				return nil, err
			}
			s.epoch = -1 // fences every intent of it
		}
	}
	for i := range in {
		answer, err := g.decide(in[i])
		if err != nil {
			return nil, &malformedIntent{i, err}
		}
		g.answers = append(g.answers, answer)
	}
	g.write(t)
	return g, nil
}

// read asks all that the intents depend on. Segments are locked, in their order, and so are
// the counters of runs with a budget, and the deferred rows: what is decided holds until the commit.
func (g *grants) read(t *tx, in []campaign.Intent) error {
	var ids, nos, from, to, rids, keys, barefrom, bareto []int64
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
		if keyed(x) {
			keys = append(keys, x.Keys...)
			continue
		}
		if x.To > x.From {
			barefrom, bareto = append(barefrom, ledger.RowID(no, x.From)), append(bareto, ledger.RowID(no, x.To))
		}
		for _, r := range x.Retries {
			barefrom, bareto = append(barefrom, ledger.RowID(no, r.Seq)), append(bareto, ledger.RowID(no, r.Seq)+1)
		}
	}
	for _, s := range []*[]int64{&ids, &nos, &rids, &keys} {
		slices.Sort(*s)
		*s = slices.Compact(*s)
	}
	qs := []*query{
		each(func(scan func(...any) error) error {
			s := &segment{}
			err := scan(&s.id, &s.run, &s.epoch, &s.lo, &s.hi, &s.mark, &s.done, &s.connection)
			s.from = s.mark
			g.segments[s.id] = s
			return err
		}, `SELECT id, run, epoch, lo, hi, mark, done, connection FROM segment WHERE id = ANY($1) ORDER BY id FOR NO KEY UPDATE`, ids),
		each(func(scan func(...any) error) error {
			var no int64
			b := &budget{}
			err := scan(&no, &b.state, &b.wanted, &b.marketing, &b.limit)
			b.left = ledger.Unlimited
			g.runs[no] = b
			return err
		}, `SELECT no, state, wanted, marketing, budget FROM run WHERE no = ANY($1)`, nos),
		each(func(scan func(...any) error) error {
			var no, taken int64
			err := scan(&no, &taken)
			if b := g.runs[no]; b != nil {
				b.left = max(0, b.limit-taken)
			}
			return err
		}, `SELECT c.no, c.taken FROM run_count c JOIN run r ON r.no = c.no WHERE c.no = ANY($1) AND r.budget > 0 ORDER BY c.no FOR NO KEY UPDATE OF c`, nos),
	}
	if len(from) > 0 {
		qs = append(qs, each(func(scan func(...any) error) error {
			var r int64
			err := scan(&r)
			g.rows.Settled[r] = true
			return err
		}, `SELECT o.rid FROM unnest($1::bigint[], $2::bigint[]) w (a, b) CROSS JOIN LATERAL (
			SELECT rid FROM outcome WHERE rid >= w.a AND rid < w.b OFFSET 0) o`, from, to))
	}
	if len(rids) > 0 {
		qs = append(qs, each(func(scan func(...any) error) error {
			var r int64
			var w ledger.Waiting
			err := scan(&r, &w.State, &w.Attempt)
			g.rows.Retries[r] = w
			return err
		}, `SELECT rid, state, attempt FROM outcome WHERE rid = ANY($1) ORDER BY rid FOR NO KEY UPDATE`, rids))
	}
	if len(keys) > 0 {
		qs = append(qs, each(func(scan func(...any) error) error {
			var key int64
			var s campaign.Scope
			err := scan(&key, &s)
			g.scopes[key] = append(g.scopes[key], s)
			return err
		}, `SELECT key, scope FROM suppression WHERE key = ANY($1) AND key <> 0 AND (until = 0 OR until > $2)`, keys, g.at))
	}
	if len(barefrom) > 0 {
		qs = append(qs, each(func(scan func(...any) error) error {
			var r int64
			var s campaign.Scope
			err := scan(&r, &s)
			if b := g.runs[int64(ledger.RunOf(r))]; b != nil {
				g.rows.Suppressed[r] = ledger.Stronger(g.rows.Suppressed[r], ledger.SkipFor(s, b.marketing))
			}
			return err
		}, `SELECT d.rid, s.scope FROM unnest($1::bigint[], $2::bigint[]) w (a, b)
			CROSS JOIN LATERAL (SELECT rid, key FROM delivery WHERE rid >= w.a AND rid < w.b AND key <> 0 OFFSET 0) d
			CROSS JOIN LATERAL (SELECT scope FROM suppression x WHERE x.key = d.key AND (x.until = 0 OR x.until > $3) OFFSET 0) s`, barefrom, bareto, g.at))
	}
	return t.do(qs...)
}

// swapMarks moves the marks: compare-and-swap on (epoch, mark), although the rows are
// locked, because this is the statement that everything rests on.
const swapMarks = `UPDATE segment s SET mark = w.mark, connection = w.connection, taken = s.taken + w.n
	FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::bigint[], $5::text[], $6::bigint[]) w (id, epoch, was, mark, connection, n)
	WHERE s.id = ANY($1) AND s.id = w.id AND s.mark = w.was AND `

// write commits to what was decided.
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
	if len(ids) == 0 {
		return
	}
	same := `s.epoch = w.epoch`
	if mutant.On("no_epoch_in_swap") {
		same = `w.epoch IS NOT NULL`
	}
	qs := []*query{stmt(&g.swapped, swapMarks+same, ids, epochs, was, marks, connections, counts)}
	if len(g.skipRids) > 0 {
		qs = append(qs, stmt(nil, `INSERT INTO outcome (rid, state, code, result_at) SELECT r, 7, why, $3 FROM unnest($1::bigint[], $2::text[]) w (r, why)
			ORDER BY r`, g.skipRids, g.skipWhy, g.at))
	}
	if len(g.goRids) > 0 {
		// A row that may be a duplicate keeps the intent of its first attempt, which may still be adopted.
		qs = append(qs, stmt(&g.began, `UPDATE outcome o SET state = 2, attempt = w.attempt, intent_at = CASE WHEN o.flags & 2 <> 0 THEN o.intent_at ELSE $3 END, next_due = NULL
			FROM unnest($1::bigint[], $2::bigint[]) w (r, attempt) WHERE o.rid = ANY($1) AND o.rid = w.r AND o.state = 1`, g.goRids, g.goAttempts, g.at))
	}
	if len(g.dropRids) > 0 {
		// Who may have been sent an earlier attempt is not skipped, but unknown.
		qs = append(qs, stmt(nil, `UPDATE outcome o SET state = CASE WHEN o.flags & 2 <> 0 THEN 4 ELSE 7 END, code = w.why,
			result_at = CASE WHEN o.flags & 2 <> 0 THEN o.result_at ELSE $3 END, next_due = NULL
			FROM unnest($1::bigint[], $2::text[]) w (r, why) WHERE o.rid = ANY($1) AND o.rid = w.r AND o.state = 1`, g.dropRids, g.dropWhy, g.at))
	}
	if len(nos) > 0 {
		qs = append(qs, stmt(nil, `UPDATE run_count c SET taken = c.taken + w.n FROM unnest($1::bigint[], $2::bigint[]) w (no, n) WHERE c.no = w.no`, nos, used))
	}
	if len(start) > 0 {
		qs = append(qs, startRun(start...))
	}
	t.last(qs...)
}

// check compares what was committed with what was decided. It is locked meanwhile, so nothing but a mistake of
// ours makes them differ; then nothing is granted, and the next owner takes what was committed for doubts.
func (g *grants) check() error {
	marks := 0
	for _, s := range g.segments {
		if s.wrote {
			marks++
		}
	}
	if g.swapped != int64(marks) || g.began != int64(len(g.goRids)) {
		return fmt.Errorf("%d of %d marks and %d of %d retries moved under their lock", g.swapped, marks, g.began, len(g.goRids))
	}
	return nil
}
