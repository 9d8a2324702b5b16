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
// (docs/protocol.md#invariants):
//
//   - the totals add up to the rows of the list;
//   - each row 1..N has one delivery, and no seq occurs twice;
//   - the statuses counted over the rows are the totals;
//   - no recipient has two deliveries that were not skipped;
//   - each row's status agrees with what else is known of the row;
//   - ReportLedger.Audit finds nothing.
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
	inLedger, err := l.Audit(ctx, run.No, maxProblems)
	if err != nil {
		return nil, fmt.Errorf("audit of run %s: %w", run.ID(), err)
	}
	for _, p := range inLedger {
		reading.add(p.Row, p.Seq, "%s", p.What)
	}
	return &AuditResult{
		Run: run.ID(), Balanced: reading.found == 0, Rows: reading.rows, Counted: reading.counted, Totals: reading.after,
		Moving: reading.moving, Importing: reading.run.State == campaign.Importing, Problems: reading.problems, Found: reading.found,
	}, nil
}

// reading is the list read once, between two readings of the totals.
type reading struct {
	run           campaign.Run
	before, after Totals
	moving        bool // before and after differ
	rows          int64
	counted       int64
	statuses      Totals
	seqs          seqSet
	keys          []keyRow // of deliveries not skipped
	problems      []Problem
	found         int64
}

// keyRow is the key of a recipient, and the row of the list.
type keyRow struct{ key, row int64 }

func read(ctx context.Context, l campaign.ReportLedger, run campaign.Run) (*reading, error) {
	tallies, _, err := l.Tallies(ctx, run.No)
	if err != nil {
		return nil, err
	}
	r := &reading{run: run, before: totalsOf(tallies), rows: run.Rows, statuses: totalsOf(nil), seqs: seqSet{}, problems: []Problem{}}
	next := int64(1)
	for line, err := range l.Lines(ctx, run.No) {
		if err != nil {
			return nil, err
		}
		switch {
		case line.Row > next:
			r.missing(next, line.Row)
		case line.Row < next:
			r.add(line.Row, line.Seq, "this row is there twice, or out of order")
		}
		next = max(next, line.Row+1)
		r.take(&line)
	}
	if r.run.State != campaign.Importing && next <= run.Rows {
		r.missing(next, run.Rows+1)
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

// take checks one delivery.
func (r *reading) take(l *campaign.Line) {
	r.counted++
	r.statuses[l.Status]++
	if !r.seqs.add(l.Seq) {
		r.add(l.Row, l.Seq, "seq %d belongs to another row too", l.Seq)
	}
	if what := contradiction(l); what != "" {
		r.add(l.Row, l.Seq, "%s", what)
	}
	if l.Status == campaign.Skipped {
		return
	}
	if l.Key == 0 {
		r.add(l.Row, l.Seq, "%s, but the row has no phone number", l.Status)
		return
	}
	r.keys = append(r.keys, keyRow{l.Key, l.Row})
}

// contradiction says what disagrees with a delivery's status; "" if nothing does.
func contradiction(l *campaign.Line) string {
	switch l.Status {
	case campaign.Skipped:
		if !slices.Contains(campaign.SkipReasons, campaign.SkipReason(l.Reason)) {
			return fmt.Sprintf("skipped for the unknown reason %q", l.Reason)
		}
		if l.MessageID != "" {
			return "skipped, but a messageId is known: it was posted"
		}
	case campaign.Queued, campaign.Sending, campaign.InDoubt, campaign.Unknown, campaign.Refused:
		if l.MessageID != "" {
			return fmt.Sprintf("%s, but a messageId is known: the service accepted it", l.Status)
		}
		if l.Status == campaign.Refused && l.Code == "" {
			return "refused without a code"
		}
	case campaign.Accepted, campaign.Sent, campaign.Delivered, campaign.Read, campaign.Failed:
		if l.MessageID == "" {
			return fmt.Sprintf("%s without a messageId", l.Status)
		}
		if l.Connection == "" {
			return fmt.Sprintf("%s without a connection", l.Status)
		}
		if want := shown(l); want != l.Status {
			return fmt.Sprintf("%s, but its times say %s", l.Status, want)
		}
	default:
		return fmt.Sprintf("status %q does not exist", l.Status)
	}
	return ""
}

// shown is the status of an accepted delivery by its times: read > delivered > failed > sent >
// accepted (docs/protocol.md#statuses).
func shown(l *campaign.Line) campaign.Status {
	switch {
	case !l.ReadAt.IsZero():
		return campaign.Read
	case !l.DeliveredAt.IsZero():
		return campaign.Delivered
	case !l.FailedAt.IsZero():
		return campaign.Failed
	case !l.SentAt.IsZero():
		return campaign.Sent
	}
	return campaign.Accepted
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
			r.add(0, 0, "while importing: %s stored, the totals then added up to %d and later to %d, and %s read",
				sentence.Count(r.run.Rows, "row was", "rows were"), r.before.sum(), sum,
				sentence.Count(r.counted, "delivery was", "deliveries were"))
		}
	case sum != r.rows:
		r.add(0, 0, "the totals add up to %d, the list has %s", sum, sentence.Count(r.rows, "row", "rows"))
	case r.counted != r.rows-r.run.Retired.Rows:
		r.add(0, 0, "%s read, the list has %s",
			sentence.Count(r.counted, "delivery was", "deliveries were"), sentence.Count(r.rows, "row", "rows"))
	}
	if !r.moving && r.run.Retired.Rows == 0 {
		for _, s := range campaign.Statuses {
			if r.statuses[s] != r.after[s] {
				r.add(0, 0, "%s %s, the totals say %d", sentence.Count(r.statuses[s], "row is", "rows are"), s, r.after[s])
			}
		}
	}
	slices.SortFunc(r.keys, func(a, b keyRow) int { return cmp.Or(cmp.Compare(a.key, b.key), cmp.Compare(a.row, b.row)) })
	for i := 1; i < len(r.keys); i++ {
		if r.keys[i].key == r.keys[i-1].key {
			r.add(r.keys[i].row, 0, "the same phone number as row %d, and neither is skipped", r.keys[i-1].row)
		}
	}
}

func (r *reading) missing(from, to int64) {
	if r.run.Retired.Rows > 0 {
		return // retention deleted rows; the ledger's own audit counts them
	}
	if to == from+1 {
		r.add(from, 0, "this row has no delivery")
	} else {
		r.add(from, 0, "rows %d to %d have no delivery", from, to-1)
	}
}

func (r *reading) add(row, seq int64, format string, args ...any) {
	r.found++
	if len(r.problems) < maxProblems {
		r.problems = append(r.problems, Problem{Row: row, Seq: seq, What: fmt.Sprintf(format, args...)})
	}
}

// seqSet is a set of seqs, one bit for each, in blocks of a segment's size: seqs have gaps between
// segments.
type seqSet map[int64]*[campaign.SegmentSize / 64]uint64

// add reports whether seq is new.
func (s seqSet) add(seq int64) bool {
	first := seq &^ (campaign.SegmentSize - 1)
	block := s[first]
	if block == nil {
		block = new([campaign.SegmentSize / 64]uint64)
		s[first] = block
	}
	at := uint64(seq) % campaign.SegmentSize
	if block[at/64]&(1<<(at%64)) != 0 {
		return false
	}
	block[at/64] |= 1 << (at % 64)
	return true
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
