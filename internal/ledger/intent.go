package ledger

import (
	"fmt"
	"slices"
	"time"

	"campaignd/campaign"
	"campaignd/internal/mutant"
)

// Unlimited is what the budget of a run without one still allows.
const Unlimited = int64(1) << 62

// Sending is a segment and its run as an intent finds them.
type Sending struct {
	Epoch, Lo, Hi, Mark int64
	Done                bool
	Connection          string // the one that the segment is bound to; "": none yet

	State     campaign.State
	Wanted    campaign.Wanted
	Marketing bool
	Left      int64 // deliveries that the budget still allows, or Unlimited

	Holds []campaign.Hold // in force: all that can stop the intent, and perhaps others
}

// SendingRows are the rows that an intent is about, by their keys (RowID).
type SendingRows struct {
	Settled    map[int64]bool                // deliveries of From..To that have an outcome
	Suppressed map[int64]campaign.SkipReason // recipients that must not be sent to
	Retries    map[int64]Waiting             // outcomes of the retries
}

// Waiting is the outcome of a delivery that a retry is about.
type Waiting struct {
	State   Outcome
	Attempt int
}

// Decision is what becomes of an intent. The zero value writes nothing.
type Decision struct {
	Answer campaign.Granted

	Write bool                          // the rest is to be written
	Mark  int64                         // the new mark
	Count int64                         // deliveries taken from the budget
	Skip  map[int64]campaign.SkipReason // by seq: suppressed deliveries that the mark passes
	Grant []campaign.Retry              // retries that begin
	Drop  map[int64]campaign.SkipReason // by seq: retries that are suppressed
	Start bool                          // the run was resumed while its leases were held: it is running
}

// Admit answers an intent that needs no look at its rows: ok is false when the answer, or the
// error, is final.
func (s *Sending) Admit(in *campaign.Intent) (answer campaign.Granted, ok bool, err error) {
	no, index := in.Lease.Run, in.Lease.Index
	switch {
	// Compare the epoch too, not only the mark: another owner may have moved the mark to the same
	// value (docs/protocol.md#intents).
	case s.Epoch != in.Lease.Epoch || s.Mark != in.From || s.Done:
		return campaign.Granted{Fenced: true}, false, nil
	case s.Connection != "" && s.Connection != in.Connection:
		return answer, false, fmt.Errorf("run %d segment %d is bound to connection %s and cannot be sent by %s",
			no, index, s.Connection, in.Connection)
	case in.Connection == "":
		return answer, false, fmt.Errorf("run %d segment %d: an intent needs a connection", no, index)
	case in.To < in.From || in.To > s.Hi:
		return answer, false, fmt.Errorf("run %d segment %d: an intent for %d to %d of %d to %d", no, index, in.From, in.To, s.Lo, s.Hi)
	}
	if s.Wanted != campaign.WantRun || s.State != campaign.Running && s.State != campaign.Ready {
		return campaign.Granted{Held: true, To: in.From}, false, nil
	}
	if !in.Until.IsZero() && !time.Now().Before(in.Until) && !mutant.On("window_unchecked") {
		return campaign.Granted{Held: true, To: in.From, Limit: campaign.Limit{By: campaign.LimitWindow}}, false, nil
	}
	if h, held := campaign.HeldBy(s.Holds, IntentOrigin(in), time.Now()); held && !mutant.On("holds_unread") {
		return campaign.Granted{Held: true, HeldBy: h, To: in.From}, false, nil
	}
	for i := range in.Retries {
		if seq := in.Retries[i].Seq; seq < s.Lo || seq >= s.Hi {
			return answer, false, fmt.Errorf("run %d: retry of seq %d is not of segment %d", no, seq, index)
		}
	}
	return answer, true, nil
}

// Grant decides an intent that Admit let pass: its deliveries in their order, then its retries,
// until the budget ends.
func (s *Sending) Grant(in *campaign.Intent, rows SendingRows) Decision {
	d := Decision{Mark: in.From}
	s.group(in, rows, &d)
	stale, short := s.retries(in, rows, &d)
	d.Answer = campaign.Granted{To: d.Mark, OverBudget: s.Left == d.Count}
	if short && len(d.Grant)+len(d.Drop) == 0 {
		stale = nil // the budget was short: the answer is Held, and all are asked for again
	}
	if nothing := d.Mark == in.From && len(d.Grant)+len(d.Drop)+len(stale) == 0; nothing && (in.To > in.From || short) {
		d.Answer.Held = true // by the budget
		return Decision{Answer: d.Answer}
	}
	d.Write, d.Start = true, s.State == campaign.Ready
	if n := len(d.Skip) + len(d.Drop) + len(stale); n > 0 {
		d.Answer.Skipped = make(map[int64]campaign.SkipReason, n)
		for _, seq := range stale {
			d.Answer.Skipped[seq] = ""
		}
		for _, skipped := range []map[int64]campaign.SkipReason{d.Drop, d.Skip} {
			for seq, why := range skipped {
				d.Answer.Skipped[seq] = why
			}
		}
	}
	return d
}

// group moves the mark over From..To until the budget ends. A delivery that the import skipped, or
// that is suppressed now, costs nothing.
func (s *Sending) group(in *campaign.Intent, rows SendingRows, d *Decision) {
	for seq := in.From; seq < in.To; seq++ {
		id := RowID(in.Lease.Run, seq)
		switch why := rows.Suppressed[id]; {
		case rows.Settled[id]:
		case why != "":
			d.Skip = withReason(d.Skip, seq, why)
		case d.Count == s.Left:
			return
		default:
			d.Count++
		}
		d.Mark = seq + 1
	}
}

// retries takes the retries that are still due, not suppressed and, if they were never counted,
// within the budget. It returns the others, and whether the budget was short of one.
func (s *Sending) retries(in *campaign.Intent, rows SendingRows, d *Decision) (stale []int64, short bool) {
	for _, r := range in.Retries {
		id := RowID(in.Lease.Run, r.Seq)
		w, ok := rows.Retries[id]
		again := slices.ContainsFunc(d.Grant, func(g campaign.Retry) bool { return g.Seq == r.Seq })
		uncounted := w.Attempt == 0 // never granted, or given back
		switch why := rows.Suppressed[id]; {
		case !ok || again || w.State != Deferred || w.Attempt != r.Attempt-1:
			stale = append(stale, r.Seq)
		case why != "":
			d.Drop = withReason(d.Drop, r.Seq, why)
		case uncounted && d.Count == s.Left:
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

func withReason(m map[int64]campaign.SkipReason, seq int64, why campaign.SkipReason) map[int64]campaign.SkipReason {
	if m == nil {
		m = map[int64]campaign.SkipReason{}
	}
	m[seq] = why
	return m
}
