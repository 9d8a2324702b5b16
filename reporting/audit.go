package reporting

import (
	"bufio"
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"campaignd/campaign"
	"campaignd/internal/sentence"
)

// maxProblems is the most problems that an audit lists; it only counts further ones.
const maxProblems = 100

// AuditResult says whether the totals of a run agree with its rows, and which rows are wrong.
type AuditResult struct {
	Run      string `json:"run"`
	Balanced bool   `json:"balanced"`
	// Rows is the number of rows of the list.
	Rows int64 `json:"rows"`
	// Counted is the number of deliveries that were read.
	Counted int64  `json:"counted"`
	Totals  Totals `json:"totals"`
	// Summaries is the number of summaries that the ledger keeps, which were compared with the rows.
	Summaries int64 `json:"summaries"`
	// Moving means that statuses changed while they were read. Only the sum of the totals was then
	// compared, not each of them.
	Moving bool `json:"moving"`
	// Importing means that the import is unfinished: Rows counts the rows so far.
	Importing bool `json:"importing,omitempty"`
	// Problems has at most maxProblems entries; Found counts all.
	Problems []Problem `json:"problems"`
	Found    int64     `json:"found"`
}

// Problem is one thing that is wrong. Row and Seq are 0 when it concerns the whole run.
type Problem struct {
	Row  int64  `json:"row,omitempty"`
	Seq  int64  `json:"seq,omitempty"`
	What string `json:"what"`
}

// rereads is how often the list is read at most, if its statuses differ from the totals although
// the totals did not change. Two rows may change their statuses in opposite directions during a
// reading, which the totals do not show. That is not expected during three readings in a row.
const rereads = 3

// Audit checks that every row of the list has exactly one delivery with exactly one status
// (docs/protocol.md#invariants): the totals add up to the rows of the list, the statuses counted
// over the rows are the totals, and ReportLedger.Audit finds nothing.
//
// It checks only the totals of rows that retention deleted (campaign.Retired).
//
// It may be called at any time, also while the run is imported or sent. An error means that the
// ledger could not be read, not that the totals are wrong.
func Audit(ctx context.Context, l campaign.ReportLedger, run campaign.Run) (*AuditResult, error) {
	var reading *reading
	for range rereads {
		var err error
		if reading, err = read(ctx, l, run); err != nil {
			return nil, fmt.Errorf("audit of run %s: %w", run.ID(), err)
		}
		if reading.moving || run.Retired.Rows > 0 || reading.statuses.equal(reading.after) {
			break
		}
	}
	reading.compare()
	return &AuditResult{
		Run: run.ID(), Balanced: reading.found == 0, Rows: reading.rows, Counted: reading.counted, Summaries: reading.summaries,
		Totals: reading.after, Moving: reading.moving, Importing: reading.run.State == campaign.Importing, Problems: reading.problems,
		Found: reading.found,
	}, nil
}

// reading is the list read once, between two readings of the totals.
type reading struct {
	run           campaign.Run
	before, after Totals
	moving        bool // before and after differ
	rows          int64
	counted       int64
	summaries     int64
	statuses      Totals
	problems      []Problem
	found         int64
}

func read(ctx context.Context, l campaign.ReportLedger, run campaign.Run) (*reading, error) {
	tallies, _, err := l.Tallies(ctx, run.No)
	if err != nil {
		return nil, err
	}
	r := &reading{run: run, before: totalsOf(tallies), rows: run.Rows, statuses: totalsOf(nil), problems: []Problem{}}
	found, counts, err := l.Audit(ctx, run.No, maxProblems)
	if err != nil {
		return nil, err
	}
	for _, p := range found {
		r.problems = append(r.problems, Problem(p))
	}
	r.found, r.counted, r.summaries = counts.Problems, counts.Rows, counts.Summaries
	for s, n := range counts.Statuses {
		r.statuses[s] += n
	}
	if tallies, _, err = l.Tallies(ctx, run.No); err != nil {
		return nil, err
	}
	r.after = totalsOf(tallies)
	if r.run.State == campaign.Importing {
		r.rows = max(r.rows, r.counted) // rows were added since the run was read
	}
	r.moving = !r.before.equal(r.after)
	return r, nil
}

func (t Totals) equal(other Totals) bool {
	return !slices.ContainsFunc(campaign.Statuses, func(s campaign.Status) bool { return t[s] != other[s] })
}

// compare compares the figures of the whole run with each other.
func (r *reading) compare() {
	sum := r.after.sum()
	switch {
	case r.run.State == campaign.Importing:
		if sum < r.run.Rows || r.counted < r.before.sum() || r.counted > sum {
			r.add("while importing: %s stored, the totals then added up to %d and later to %d, and %s read",
				sentence.Count(r.run.Rows, "row was", "rows were"), r.before.sum(), sum,
				sentence.Count(r.counted, "delivery was", "deliveries were"))
		}
	case sum != r.rows:
		r.add("the totals add up to %d, the list has %s", sum, sentence.Count(r.rows, "row", "rows"))
	case r.counted != r.rows-r.run.Retired.Rows:
		r.add("%s read, the list has %s",
			sentence.Count(r.counted, "delivery was", "deliveries were"), sentence.Count(r.rows, "row", "rows"))
	}
	if !r.moving && r.run.Retired.Rows == 0 {
		for _, s := range campaign.Statuses {
			if r.statuses[s] != r.after[s] {
				r.add("%s %s, the totals say %d", sentence.Count(r.statuses[s], "row is", "rows are"), s, r.after[s])
			}
		}
	}
}

// add adds a problem of the whole run.
func (r *reading) add(format string, args ...any) {
	r.found++
	if len(r.problems) < maxProblems {
		r.problems = append(r.problems, Problem{What: fmt.Sprintf(format, args...)})
	}
}

// JSON is the result for scripts.
func (a *AuditResult) JSON() ([]byte, error) { return indented(a) }

// Text writes the result for people: one line when the sum balances, else one
// line per problem.
func (a *AuditResult) Text(w io.Writer) error {
	b := bufio.NewWriter(w)
	var sum []string
	for _, s := range campaign.Statuses {
		if n := a.Totals[s]; n > 0 {
			sum = append(sum, count(n)+" "+string(s))
		}
	}
	if a.Balanced {
		far := ""
		if a.Importing {
			far = " so far (the import is unfinished)"
		}
		fmt.Fprintf(b, "%s: the sum balances: %s%s = %s\n", printable(a.Run), countOf(a.Rows, "row"), far, cmp.Or(strings.Join(sum, " + "), "0"))
	} else {
		fmt.Fprintf(b, "%s: the sum does not balance: %s, %s; %s\n",
			printable(a.Run), countOf(a.Rows, "row"), cmp.Or(strings.Join(sum, " + "), "nothing counted"), countOf(a.Found, "problem"))
		for _, p := range a.Problems {
			where := "run"
			if p.Row > 0 {
				where = fmt.Sprintf("row %d", p.Row)
			}
			fmt.Fprintf(b, "  %s: %s\n", where, printable(p.What))
		}
		if more := a.Found - int64(len(a.Problems)); more > 0 {
			fmt.Fprintf(b, "  and %s more\n", count(more))
		}
	}
	return b.Flush()
}
