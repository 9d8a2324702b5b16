package ledger

import (
	"time"

	"campaignd/campaign"
	"campaignd/campaign/reception"
)

// FirstReceiptFor is how long first receipts are kept. A later repetition counts from its own time,
// which is at most 5 minutes after the first receipt.
const FirstReceiptFor = 366 * 24 * time.Hour

// Receipt is when an event came first that lifts something. Key, What and Own identify the event.
type Receipt struct {
	Key     int64  // of the recipient who resumed; 0: an event that ends holds
	What    string // what it lifts
	Own, At int64  // in milliseconds. Own 0: no event
}

// Ahead reports whether the event came before its own time. Only then a repetition may come after
// it, so only then the receipt is stored.
func (r Receipt) Ahead() bool { return r.Own > r.At }

// Receipts are those of the events of a transaction that lift something, as they came at now: first
// those of opt-ins, then those of lifts. A backend sets each At to the first receipt, if one is
// stored. The acts of operators and of breakers are no events.
func Receipts(optIns []campaign.Suppression, lifts []campaign.Lift, now time.Time) []Receipt {
	if len(optIns)+len(lifts) == 0 {
		return nil
	}
	rs := make([]Receipt, 0, len(optIns)+len(lifts))
	came := func(at time.Time) int64 {
		if at.IsZero() {
			at = now
		}
		return Millis(at)
	}
	for i := range optIns {
		s, _ := OptIn(optIns[i])
		rs = append(rs, Receipt{s.Key, s.ScopeText(), Millis(s.At), came(s.ReceivedAt)})
	}
	for _, l := range lifts {
		r := Receipt{What: string(l.Scope) + " " + l.ID, At: came(l.ReceivedAt)}
		if l.By == campaign.HoldByEvent {
			r.Own = Millis(l.At)
		}
		rs = append(rs, r)
	}
	return rs
}

// Counted returns the opt-ins and lifts of Receipts with the times from which they count, without
// those that end nothing (reception.LiftTime).
func Counted(rs []Receipt, optIns []campaign.Suppression, lifts []campaign.Lift) (ins []campaign.Suppression, ls []campaign.Lift) {
	for i, s := range optIns {
		if at, ok := reception.LiftTime(TimeOf(rs[i].Own), TimeOf(rs[i].At)); ok {
			s.At = at
			ins = append(ins, s)
		}
	}
	for i, l := range lifts {
		r := rs[len(optIns)+i]
		at, ok := reception.LiftTime(TimeOf(r.Own), TimeOf(r.At))
		switch {
		case l.By != campaign.HoldByEvent:
			ls = append(ls, l)
		case ok:
			l.At = at
			ls = append(ls, l)
		}
	}
	return ins, ls
}

// Window is the beginning of a recipient's service window, in milliseconds.
type Window struct {
	campaign.Inbound
	Began, Own int64
}

// Windows returns the windows that messages of recipients open, as they came at now. A message with
// an own time that is not later than that of a stored one is a repetition, or older.
func Windows(all []campaign.Inbound, now time.Time) (ws []Window) {
	for _, i := range all {
		first := i.ReceivedAt
		if first.IsZero() {
			first = now
		}
		if at, ok := reception.LiftTime(i.At, first); ok {
			ws = append(ws, Window{i, Millis(at), Millis(i.At)})
		}
	}
	return ws
}
