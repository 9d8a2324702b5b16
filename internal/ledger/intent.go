package ledger

import (
	"fmt"
	"slices"
	"time"

	"campaignd/campaign"
)

// unlimited is what the budget of a run without one still allows.
const unlimited = int64(1) << 62

// Sending is what the transaction of an intent reads of its segment and run.
type Sending struct {
	Epoch, Lo, Hi, Mark int64
	Done                bool
	Connection          string // of the segment; "": none yet

	State     campaign.State
	Wanted    campaign.Wanted
	Marketing bool
	Budget    int64 // deliveries that the run may take; 0: any number
	Taken     int64 // deliveries that it has taken of its budget
	left      int64 // deliveries that the budget still allows, or unlimited; set by Grant

	Holds []campaign.Hold // in force: every hold that can stop this intent; other holds may be in the list too

	People *People // nil when the intent does not depend on it (CountsPeople)
}

// SendingRows are the rows that an intent is about, by their keys (RowID).
type SendingRows struct {
	WithOutcome map[int64]bool    // deliveries of From..To that have an outcome
	Suppressed  Stops             // recipients that must not be sent to
	Retries     map[int64]Waiting // outcomes of the retries
	Keys        map[int64]int64   // recipients.Key; where Sending.People is set
}

// Waiting is the outcome of a delivery that a retry is about.
type Waiting struct {
	State   Outcome
	Attempt int
}

// Keyed reports whether the caller gave every recipient's key; otherwise the ledger reads them.
func Keyed(in *campaign.Intent) bool {
	return len(in.Keys) == int(max(0, in.To-in.From))+len(in.Retries)
}

// RowIDs are the row ids of From..To, then those of the retries: the order of Intent.Keys.
func RowIDs(in *campaign.Intent) []int64 {
	ids := make([]int64, 0, max(0, in.To-in.From)+int64(len(in.Retries)))
	for seq := in.From; seq < in.To; seq++ {
		ids = append(ids, RowID(in.Lease.Run, seq))
	}
	for _, r := range in.Retries {
		ids = append(ids, RowID(in.Lease.Run, r.Seq))
	}
	return ids
}

// Decision is what becomes of an intent. The zero value writes nothing.
type Decision struct {
	Answer campaign.Granted

	Write       bool                          // the fields below are to be written
	Mark        int64                         // the new mark
	Count       int64                         // deliveries taken from the budget
	Skip        map[int64]campaign.SkipReason // by seq: suppressed deliveries that the mark passes
	Grant       []campaign.Retry              // retries that begin
	SkipRetries map[int64]campaign.SkipReason // by seq: retries that are suppressed
	Start       bool                          // set the run to running: it was resumed while a sender still had its leases

	Defer    map[int64]Deferral // by seq: deferred by the cap or the pair limit; a seq below From is a retry
	Reached  []Reached          // places of the tier
	Contacts []Contact
	Full     *Full // the tier that ended the grant; the caller then fills Answer.Limit with People.Limit
}

// Admit decides what needs no rows of the intent: ok is false when the answer, or the error, is
// final.
func (s *Sending) Admit(in *campaign.Intent) (answer campaign.Granted, ok bool, err error) {
	no, index := in.Lease.Run, in.Lease.Index
	switch {
	// Compare the epoch too, not only the mark: another owner may have moved the mark to the same
	// value (docs/protocol.md#intents).
	case s.Epoch != in.Lease.Epoch || s.Mark != in.From || s.Done:
		return campaign.Granted{Fenced: true}, false, nil
	case s.Connection != "" && s.Connection != in.Connection:
		return answer, false, fmt.Errorf("run %d segment %d has the connection %s and cannot be sent by %s",
			no, index, s.Connection, in.Connection)
	case in.Connection == "":
		return answer, false, fmt.Errorf("run %d segment %d: an intent needs a connection", no, index)
	case in.To < in.From || in.To > s.Hi:
		return answer, false, fmt.Errorf("run %d segment %d: an intent for %d to %d of %d to %d", no, index, in.From, in.To, s.Lo, s.Hi)
	}
	if s.Wanted != campaign.WantRun || !s.State.Sends() {
		return campaign.Granted{Denied: true, To: in.From}, false, nil
	}
	if !in.Until.IsZero() && !time.Now().Before(in.Until) {
		return campaign.Granted{Denied: true, To: in.From, Limit: campaign.Limit{By: campaign.ByWindow}}, false, nil
	}
	if h, held := campaign.HeldBy(s.Holds, IntentOrigin(in), time.Now()); held {
		return campaign.Granted{Denied: true, HeldBy: h, To: in.From}, false, nil
	}
	for i := range in.Retries {
		if seq := in.Retries[i].Seq; seq < s.Lo || seq >= s.Hi {
			return answer, false, fmt.Errorf("run %d: retry of seq %d is not of segment %d", no, seq, index)
		}
	}
	return answer, true, nil
}

// Grant decides an intent that Admit let pass: its deliveries in their order, then its retries,
// until the budget ends or the tier is full.
func (s *Sending) Grant(in *campaign.Intent, rows SendingRows) Decision {
	d := Decision{Mark: in.From}
	s.left = s.budgetLeft()
	s.group(in, rows, &d)
	stale, short := s.retries(in, rows, &d)
	d.Answer = campaign.Granted{To: d.Mark, OverBudget: s.left == d.Count}
	done := len(d.Grant) + len(d.SkipRetries) + len(d.Defer)
	if short && done == 0 && d.Mark == in.From {
		// Nothing was granted because a limit is used up: answer Denied. The caller asks for all of them
		// again.
		stale = nil
	}
	if nothing := d.Mark == in.From && done+len(stale) == 0; nothing && (in.To > in.From || short) {
		d.Answer.Denied = true // by the budget or the tier
		return Decision{Answer: d.Answer, Full: d.Full}
	}
	d.Write, d.Start = true, s.State == campaign.Ready
	for seq, wait := range d.Defer {
		if d.Answer.Deferred == nil {
			d.Answer.Deferred = make(map[int64]time.Time, len(d.Defer))
		}
		d.Answer.Deferred[seq] = TimeOf(wait.At)
	}
	if n := len(d.Skip) + len(d.SkipRetries) + len(stale); n > 0 {
		d.Answer.Skipped = make(map[int64]campaign.SkipReason, n)
		for _, seq := range stale {
			d.Answer.Skipped[seq] = ""
		}
		for _, skipped := range []map[int64]campaign.SkipReason{d.SkipRetries, d.Skip} {
			for seq, why := range skipped {
				d.Answer.Skipped[seq] = why
			}
		}
	}
	return d
}

// budgetLeft returns how many deliveries the budget still allows, or unlimited.
func (s *Sending) budgetLeft() int64 {
	if s.Budget <= 0 {
		return unlimited
	}
	return max(0, s.Budget-s.Taken)
}

// group moves the mark over From..To until the budget ends or the tier is full. A delivery that the
// import skipped, that is suppressed now, or that its recipient defers costs nothing.
func (s *Sending) group(in *campaign.Intent, rows SendingRows, d *Decision) {
	for seq := in.From; seq < in.To; seq++ {
		id := RowID(in.Lease.Run, seq)
		switch why, wait := s.recipient(in, rows, id); {
		case rows.WithOutcome[id]:
		case why != "":
			d.Skip = withReason(d.Skip, seq, why)
		case wait.At != 0:
			d.postpone(seq, wait)
		case d.Count == s.left || !s.reach(in, rows.Keys[id], id, d):
			return
		default:
			d.Count++
		}
		d.Mark = seq + 1
	}
}

// retries grants the retries that are still due and not suppressed, and that their recipients do
// not defer. One that was never counted also needs a place in the budget. stale are the retries
// that are no longer due and those for which the budget or the tier had no place; short says that
// there are some of the latter.
func (s *Sending) retries(in *campaign.Intent, rows SendingRows, d *Decision) (stale []int64, short bool) {
	for _, r := range in.Retries {
		id := RowID(in.Lease.Run, r.Seq)
		w, ok := rows.Retries[id]
		again := slices.ContainsFunc(d.Grant, func(g campaign.Retry) bool { return g.Seq == r.Seq })
		_, put := d.Defer[r.Seq]
		uncounted := w.Attempt == 0 // never granted, or given back
		switch why, wait := s.recipient(in, rows, id); {
		case !ok || again || put || w.State != Deferred || w.Attempt != r.Attempt-1:
			stale = append(stale, r.Seq)
		case why != "":
			d.SkipRetries = withReason(d.SkipRetries, r.Seq, why)
		case wait.At != 0:
			d.postpone(r.Seq, wait)
		case uncounted && d.Count == s.left || !s.reach(in, rows.Keys[id], id, d):
			short, stale = true, append(stale, r.Seq)
		default:
			if uncounted {
				d.Count++
			}
			d.Grant = append(d.Grant, r)
		}
	}
	return stale, short
}

// recipient says whether a delivery is to be skipped or must wait because of its recipient.
func (s *Sending) recipient(in *campaign.Intent, rows SendingRows, id int64) (why campaign.SkipReason, wait Deferral) {
	if why = rows.Suppressed[id]; why != "" || s.People == nil {
		return why, wait
	}
	key := rows.Keys[id]
	if until, capped := s.People.capped(in, key, id); capped {
		if in.Cap.Action != campaign.CapDefer {
			return campaign.FrequencyCap, wait
		}
		wait = Deferral{s.People.local(until), CodeCap}
	}
	if until := s.People.close(in, key); until != 0 && s.People.local(until) > wait.At {
		wait = Deferral{s.People.local(until), CodePair}
	}
	return "", wait
}

// reach takes what the recipient needs of the limits that count people. It reports false when the
// tier is full.
func (s *Sending) reach(in *campaign.Intent, key, id int64, d *Decision) bool {
	if s.People == nil {
		return true
	}
	if _, _, free := s.People.place(in, key); !free {
		by := Portfolio(in)
		d.Full = &Full{Portfolio: by, Places: in.Tier.Places, Taken: s.People.Used(by)}
		return false
	}
	s.People.take(in, key, id, d)
	return true
}

// postpone queues a delivery again.
func (d *Decision) postpone(seq int64, wait Deferral) {
	if d.Defer == nil {
		d.Defer = map[int64]Deferral{}
	}
	d.Defer[seq] = wait
}

func withReason(m map[int64]campaign.SkipReason, seq int64, why campaign.SkipReason) map[int64]campaign.SkipReason {
	if m == nil {
		m = map[int64]campaign.SkipReason{}
	}
	m[seq] = why
	return m
}
