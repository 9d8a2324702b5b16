package ledger

import (
	"database/sql"
	"fmt"
	"strconv"
	"strings"

	"campaignd/campaign"
)

// AuditStep is how many deliveries one query of Audit looks at.
const AuditStep = 65536

// faultSentences are the faults of deliveries that Audit looks for. The query of the faults has a
// bit for each, in this order.
var faultSentences = [...]string{
	"has an outcome but no delivery: outcome ",
	"lies in no segment",
	"was posted without an intent: it is above its segment's mark, in state ",
	"has no outcome though its segment is done",
	"is accepted without a message id, or has one without being accepted: state ",
	"has a status that its times do not explain: rank ",
}

// DeliveryFaults reads the faults of a delivery: their bits, the row, the seq, and the state and
// the rank of its outcome.
func DeliveryFaults(scan func(...any) error) (all []campaign.Problem, err error) {
	var faults int
	var state, rank sql.NullInt64 // none: the delivery has no outcome
	var p campaign.Problem
	if err := scan(&faults, &p.Row, &p.Seq, &state, &rank); err != nil {
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
		case strings.HasSuffix(sentence, " "):
			p.What += strconv.FormatInt(state.Int64, 10)
		}
		all = append(all, p)
	}
	return all, nil
}

// OrderFault reads the row, the seq and the order of a delivery that is counted with the order and
// should not be.
func OrderFault(scan func(...any) error) ([]campaign.Problem, error) {
	var p campaign.Problem
	var order string
	err := scan(&p.Row, &p.Seq, &order)
	p.What = "is counted with an order that the ledger does not have, or was held out and sent to: order " + order
	return []campaign.Problem{p}, err
}

// WrongSummary is the problem of a segment whose summary is not what its rows add up to.
func WrongSummary(s *KeptSegment) campaign.Problem {
	return campaign.Problem{Seq: s.Lo, What: fmt.Sprintf("the summary of segment %d is not what its rows add up to", seqOf(s.Key))}
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

// AuditRows adds to found the faults of a run's deliveries up to the row id highest, and the phone
// keys that it queues twice. It returns at most limit. check looks for faults among AuditStep row
// ids.
func AuditRows(
	found []campaign.Problem, no campaign.RunNo, highest int64, limit int,
	check func(from int64) ([]campaign.Problem, error), twice func(limit int) ([]campaign.Problem, error),
) ([]campaign.Problem, error) {
	for from := RowID(no, 0); from <= highest && len(found) < limit; from += AuditStep {
		more, err := check(from)
		if err != nil {
			return nil, err
		}
		found = append(found, more...)
	}
	if len(found) < limit {
		more, err := twice(limit - len(found))
		if err != nil {
			return nil, err
		}
		found = append(found, more...)
	}
	return found[:min(limit, len(found))], nil
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
