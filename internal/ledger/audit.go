package ledger

import (
	"fmt"

	"campaignd/campaign"
)

// AuditStep is how many deliveries one query of Audit looks at.
const AuditStep = 65536

// The faults of deliveries that Audit looks for. Each backend has a query for each fault, which
// returns the row, the seq and a detail of the deliveries that have it.
const (
	FaultNoDelivery = iota // detail: the state of the outcome
	FaultNoSegment
	FaultNoIntent // detail: the state
	FaultNoOutcome
	FaultMessageID // detail: the state
	FaultRank      // detail: the rank
	FaultOrder     // detail: the id of the order
	DeliveryFaults // how many there are
)

var faultSentences = [DeliveryFaults]string{
	FaultNoDelivery: "has an outcome but no delivery: outcome ",
	FaultNoSegment:  "lies in no segment",
	FaultNoIntent:   "was posted without an intent: it is above its segment's mark, in state ",
	FaultNoOutcome:  "has no outcome though its segment is done",
	FaultMessageID:  "is accepted without a message id, or has one without being accepted: state ",
	FaultRank:       "has a status that its times do not explain: rank ",
	FaultOrder:      "is counted with an order that the ledger does not have, or was held out and sent to: order ",
}

// DeliveryFault reads a row of the query for a fault.
func DeliveryFault(fault int, scan func(...any) error) (p campaign.Problem, err error) {
	var detail string
	err = scan(&p.Row, &p.Seq, &detail)
	p.What = faultSentences[fault] + detail
	return p, err
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
// keys that it queues twice. It returns at most limit. check looks for a fault among AuditStep row
// ids.
func AuditRows(
	found []campaign.Problem, no campaign.RunNo, highest int64, limit int,
	check func(fault int, from int64) ([]campaign.Problem, error), twice func(limit int) ([]campaign.Problem, error),
) ([]campaign.Problem, error) {
	for from := RowID(no, 0); from <= highest && len(found) < limit; from += AuditStep {
		for fault := range DeliveryFaults {
			more, err := check(fault, from)
			if err != nil {
				return nil, err
			}
			found = append(found, more...)
		}
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
