package ledger

import (
	"database/sql"
	"fmt"
	"math/bits"
	"strconv"
	"strings"

	"campaignd/campaign"
)

// AuditStep is how many row ids one statement of Audit looks at.
const AuditStep = 65536

// faultSentences are the faults of deliveries that Audit looks for. The query of the faults has a
// bit for each, in this order. The last word of a sentence names the column that follows it.
var faultSentences = [...]string{
	"has an outcome but no delivery: outcome ",
	"lies in no segment",
	"was posted without an intent: it is above its segment's mark, in state ",
	"has no outcome though its segment is done",
	"is accepted without a message id, or has one without being accepted: state ",
	"has a status that its times do not explain: rank ",
	"is not skipped, but the row has no phone number",
	"is skipped for an unknown reason: code ",
	"is refused without a code",
	"is accepted without a connection",
	"has an outcome that does not exist: state ",
}

// DeliveryFaults reads the faults of a delivery: their bits, the row, the seq, and the state, the
// rank and the code of its outcome.
func DeliveryFaults(scan func(...any) error) (all []campaign.Problem, err error) {
	var faults int
	var state, rank sql.NullInt64 // none: the delivery has no outcome
	var code sql.NullString
	var p campaign.Problem
	if err := scan(&faults, &p.Row, &p.Seq, &state, &rank, &code); err != nil {
		return nil, err
	}
	for i, sentence := range faultSentences {
		if faults&(1<<i) == 0 {
			continue
		}
		p.What = sentence
		switch {
		case strings.HasSuffix(sentence, "rank "):
			p.What += strconv.FormatInt(rank.Int64, 10)
		case strings.HasSuffix(sentence, "code "):
			p.What += strconv.Quote(code.String)
		case strings.HasSuffix(sentence, " "):
			p.What += strconv.FormatInt(state.Int64, 10)
		}
		all = append(all, p)
	}
	return all, nil
}

// AuditGroup is N deliveries of a range that the statement of Audit does not tell apart.
type AuditGroup struct {
	State         Outcome // 0: they have no outcome
	Rank          Rank
	Posted, Alive bool // they are below the mark; the lease of their segment is live
	Faults        uint
	N             int64
}

// ScanAuditGroup reads the columns of a group.
func ScanAuditGroup(scan func(...any) error) (g AuditGroup, err error) {
	err = scan(&g.State, &g.Rank, &g.Posted, &g.Alive, &g.Faults, &g.N)
	return g, err
}

// Count adds the group to what an audit has read.
func (g *AuditGroup) Count(to *campaign.AuditCounts) {
	to.Problems += int64(bits.OnesCount(g.Faults)) * g.N
	status := campaign.Queued
	switch {
	case g.Faults&1 != 0:
		return // no delivery
	case g.State != 0:
		status = shown(g.State, g.Rank, g.Alive)
	case g.Posted:
		status = Dispatched(g.Alive)
	}
	to.Rows += g.N
	to.Statuses[status] += g.N
}

// OrderFault reads the row, the seq and the order of a delivery that is counted with the order and
// should not be.
func OrderFault(scan func(...any) error) (campaign.Problem, error) {
	var p campaign.Problem
	var order string
	err := scan(&p.Row, &p.Seq, &order)
	p.What = "is counted with an order that the ledger does not have, or was held out and sent to: order " + order
	return p, err
}

// WrongSummary is the problem of a segment whose summary is not what its rows add up to.
func WrongSummary(s *KeptSegment) campaign.Problem {
	return campaign.Problem{Seq: s.Lo, What: fmt.Sprintf("the summary of segment %d is not what its rows add up to", seqOf(s.Key))}
}

// RowSum is what the rows of a run's deliveries add up to.
type RowSum struct{ N, Lowest, Highest, Sum int64 }

// Whole reports whether each of the rows 1 to Highest is there once, as far as the sums tell.
func (r RowSum) Whole() bool {
	return r.N == r.Highest && r.Sum == r.N*(r.N+1)/2 && (r.N == 0 || r.Lowest == 1)
}

// AuditCounts compares the counts of a run that must be equal: its own, its deliveries, and the
// deliveries that its segments cover.
func AuditCounts(r campaign.Run, deliveries, covered int64) (found []campaign.Problem) {
	add := func(format string, a ...any) {
		found = append(found, campaign.Problem{What: fmt.Sprintf(format, a...)})
	}
	if deliveries != r.Rows {
		add("the run counts %d rows, the ledger holds %d deliveries", r.Rows, deliveries)
	}
	if covered != deliveries {
		add("its segments cover %d deliveries of %d", covered, deliveries)
	}
	if r.Budget > 0 && r.Taken > r.Budget {
		add("%d deliveries were granted, max_messages is %d", r.Taken, r.Budget)
	}
	return found
}

// MisplacedRow reads a row of the list that the next row does not follow: the row, the seq, and the
// next row.
func MisplacedRow(scan func(...any) error) (campaign.Problem, error) {
	var p campaign.Problem
	var next int64
	err := scan(&p.Row, &p.Seq, &next)
	if next > p.Row {
		return MissingRows(p.Row+1, next), err
	}
	p.What = "this row is there twice"
	return p, err
}

// MissingEnds returns the problems of a run that lacks the first or the last rows of its list. The
// last ones of an import may still come.
func MissingEnds(r campaign.Run, have RowSum) (missing []campaign.Problem) {
	if have.N > 0 && have.Lowest > 1 {
		missing = append(missing, MissingRows(1, have.Lowest))
	}
	if r.State != campaign.Importing && have.Highest < r.Rows {
		missing = append(missing, MissingRows(have.Highest+1, r.Rows+1))
	}
	return missing
}

// MissingRows is the problem that a run has no deliveries of the rows from, up to but not including
// to.
func MissingRows(from, to int64) campaign.Problem {
	if to == from+1 {
		return campaign.Problem{Row: from, What: "this row has no delivery"}
	}
	return campaign.Problem{Row: from, What: fmt.Sprintf("rows %d to %d have no delivery", from, to-1)}
}

// BrokenSegment reads index, lo, hi and mark of a segment whose mark or borders are out of bounds.
func BrokenSegment(scan func(...any) error) (p campaign.Problem, err error) {
	var index, hi, mark int64
	err = scan(&index, &p.Seq, &hi, &mark)
	p.What = fmt.Sprintf("segment %d has its mark or borders out of bounds: %d to %d, mark %d", index, p.Seq, hi, mark)
	return p, err
}

// QueuedTwice reads row and seq of a delivery whose phone key an earlier row has too.
func QueuedTwice(scan func(...any) error) (campaign.Problem, error) {
	p := campaign.Problem{What: "its phone number is queued in an earlier row too"}
	err := scan(&p.Row, &p.Seq)
	return p, err
}
