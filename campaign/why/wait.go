package why

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"slices"
	"strings"
	"time"

	"campaignd/campaign"
	"campaignd/campaign/wording"
	"campaignd/internal/sentence"
	"campaignd/recipients"
)

// Wait counts the queued rows of a run that wait for the same thing.
type Wait struct {
	// For is retry, frequency_cap or pair_limit for rows that an intent passed over or that were
	// posted before: they are tried again.
	For campaign.LimitedBy `json:"for"`
	// Connection is that whose limit they wait for; "": any.
	Connection string `json:"connection,omitempty"`
	Rows       int64  `json:"rows"`
	// Until is when the first of them is free; zero: that is not known.
	Until time.Time `json:"until,omitzero"`
}

// text is a wait for a person: "the window, until 2026-03-02 08:00 UTC".
func (w Wait) text() string {
	s := string(w.For)
	if w.Connection != "" {
		s += " of " + w.Connection
	}
	if !w.Until.IsZero() {
		s += ", until " + sentence.Instant(w.Until)
	}
	return s
}

// waiting says what all queued rows of the run wait for, if it is one thing.
func (w *Answer) waiting(run campaign.Run) (Wait, bool) {
	switch {
	case run.State == campaign.Paused || run.State == campaign.WaitingApproval || run.Wanted == campaign.WantPause:
		return Wait{For: campaign.ByPause}, true
	case w.heldBy.Scope != "":
		return Wait{For: campaign.ByHold, Until: w.heldBy.Until}, true
	}
	return Wait{}, false
}

// aboveMark says what the rows above the mark of a segment wait for.
func (w *Answer) aboveMark(s campaign.SegmentState) Wait {
	leased, served := s.LeaseUntil.After(w.at), false
	parked := !leased && s.WakeAt.After(w.at)
	switch {
	case s.AfterCanary: // its WakeAt is no time, but the ledger's sign for this wait
		return Wait{For: campaign.ByPause}
	case parked && s.WakeAt.Sub(w.at) > campaign.ParkedBriefly:
		return Wait{For: campaign.ByWindow, Until: s.WakeAt}
	}
	if leased || s.Bound != "" {
		for _, l := range w.Lanes {
			if l.Connection == s.Connection && l.live() {
				if served = true; l.LimitedBy != campaign.ByNone {
					return Wait{For: l.LimitedBy, Connection: l.Connection, Until: l.Until}
				}
			}
		}
		if leased && s.Connection == "" { // the sender has taken it for whichever connection comes first
			return w.standstill(parked)
		}
		if leased || served {
			return Wait{For: campaign.ByThroughput, Connection: s.Connection}
		}
	}
	if !w.served() {
		return Wait{For: campaign.ByNone}
	}
	return w.standstill(parked)
}

// standstill is what limits every live lane of the run, if none of them sends or all have the run's
// own rate, and until when the first of them waits; else throughput. A lane without anything to do
// does not count for a segment that is parked, because it does not see that segment.
func (w *Answer) standstill(parked bool) Wait {
	limit, until := campaign.LimitedBy(""), time.Time{}
	for _, l := range w.Lanes {
		switch {
		case !l.live() || parked && l.LimitedBy == campaign.ByNone:
		case l.LimitedBy != campaign.ByRunRate && !StandsStill(l.LimitedBy), limit != "" && limit != l.LimitedBy:
			return Wait{For: campaign.ByThroughput}
		default:
			limit = l.LimitedBy
			if until.IsZero() || !l.Until.IsZero() && l.Until.Before(until) {
				until = l.Until
			}
		}
	}
	return Wait{For: cmp.Or(limit, campaign.ByThroughput), Until: until}
}

// StandsStill reports whether a lane with this limit sends nothing, because it waits for something
// other than its next instant, such as a place of the tier. Its Rate is then only what its number
// may send.
func StandsStill(by campaign.LimitedBy) bool {
	return slices.Contains([]campaign.LimitedBy{campaign.ByTier, campaign.ByAllowance, campaign.ByRamp, campaign.ByWindow,
		campaign.ByLimiter, campaign.ByHold, campaign.ByUnreachable}, by)
}

// waits counts the queued rows by what they wait for, those that are free first at the top.
func (w *Answer) waits(run campaign.Run, segments []campaign.SegmentState) []Wait {
	all := []Wait{}
	if run.State.Ended() || run.State == campaign.Importing || w.Totals.Queued == 0 {
		return all
	}
	if one, whole := w.waiting(run); whole {
		one.Rows = w.Totals.Queued
		return append(all, one)
	}
	add := func(one Wait, rows int64) {
		for i := range all {
			if all[i].For == one.For && all[i].Connection == one.Connection && all[i].Until.Equal(one.Until) {
				all[i].Rows += rows
				return
			}
		}
		one.Rows = rows
		all = append(all, one)
	}
	left := w.Totals.Queued
	var retry time.Time
	// A sender knows when the retries of its segments are due, and the ledger does not. The others
	// wake for their first retry or the end of their first doubt.
	leased := false // a segment of which only retries are left
	for _, s := range segments {
		if s.Done || s.Closed {
			continue
		}
		if rows := min(s.Hi-s.Mark, left); rows > 0 {
			add(w.aboveMark(s), rows)
			left -= rows
		} else if s.LeaseUntil.After(w.at) {
			leased = true
		} else if s.WakeAt.After(w.at) && (retry.IsZero() || s.WakeAt.Before(retry)) {
			retry = s.WakeAt
		}
	}
	if leased {
		retry = time.Time{}
	}
	for _, reason := range []campaign.LimitedBy{campaign.ByFrequencyCap, campaign.ByPairLimit} { // below a mark, as all that are left
		if rows := min(w.postponed[string(reason)], left); rows > 0 {
			add(Wait{For: reason, Until: retry}, rows)
			left -= rows
		}
	}
	if left > 0 {
		add(Wait{For: campaign.ByRetry, Until: retry}, left)
	}
	slices.SortStableFunc(all, func(a, b Wait) int {
		return cmp.Or(a.Until.Compare(b.Until), cmp.Compare(b.Rows, a.Rows))
	})
	return all
}

// Row is what one recipient of a run waits for.
type Row struct {
	Run    string          `json:"run"`
	To     string          `json:"to"`
	Row    int64           `json:"row"`
	Status campaign.Status `json:"status"`
	Reason string          `json:"reason,omitempty"`
	// LimitedBy is what a queued row waits for (Wait.For); none: it waits for nothing.
	LimitedBy  campaign.LimitedBy `json:"limited_by"`
	Connection string             `json:"connection,omitempty"`
	Until      time.Time          `json:"until,omitzero"`
	// Ahead is how many rows of its segment go before it.
	Ahead int64 `json:"ahead"`
	// Suppressions are the entries of the suppression list that skip the row now, or will when its
	// turn comes. None: the row is not skipped for its number, or the entry that skipped it was
	// removed since.
	Suppressions []Suppression `json:"suppressions,omitempty"`
	// SentBy are the other runs with the recipient of a row that is skipped as sent_before.
	SentBy   []string `json:"sent_by,omitempty"`
	Sentence string   `json:"sentence"`
}

// RowLedger is the part of the ledger that ExplainRecipient reads.
type RowLedger interface {
	Ledger
	Lines(ctx context.Context, no campaign.RunNo) iter.Seq2[campaign.Line, error]
	SuppressionsOf(ctx context.Context, key int64) ([]campaign.Suppression, error)
	RepeatsOf(ctx context.Context, no campaign.RunNo, seq int64) ([]campaign.Repeat, error)
	Run(ctx context.Context, no campaign.RunNo) (campaign.Run, error)
}

// ExplainRecipient says what the row of a recipient waits for at now. key is recipients.Key of the
// number. It reports false if the list has no such number.
func ExplainRecipient(ctx context.Context, l RowLedger, run campaign.Run, h Holds, key int64, now time.Time) (Row, bool, error) {
	var line campaign.Line
	found := false
	for one, err := range l.Lines(ctx, run.No) {
		if err != nil {
			return Row{}, false, fmt.Errorf("read the rows of %s: %w", run.ID(), err)
		}
		if recipients.Fold(one.Key) != key || key == 0 || found && one.Status == campaign.Skipped { // a duplicate
			continue
		}
		line, found = one, true
		if one.Status != campaign.Skipped {
			break
		}
	}
	if !found {
		return Row{}, false, nil
	}
	w, err := Explain(ctx, l, run, h, now)
	if err != nil {
		return Row{}, false, err
	}
	segments, err := l.SegmentStates(ctx, run.No)
	if err != nil {
		return Row{}, false, fmt.Errorf("read the segments of %s: %w", run.ID(), err)
	}
	r := w.row(run, line, segments)
	switch scope, of := suppressedBy[campaign.SkipReason(line.Reason)]; {
	case line.Status == campaign.Skipped && of:
		err = r.suppressed(ctx, l, key, scope, now)
	case line.Status == campaign.Skipped && line.Reason == string(campaign.SentBefore):
		err = r.sentBefore(ctx, l, run.No, line.Seq)
	case line.Status == campaign.Refused && line.Note != "":
		r.Sentence += ": " + line.Note
	case line.Status == campaign.Queued:
		err = r.toBeSkipped(ctx, l, key, run.Marketing, h, now)
	}
	return r, true, err
}

// sentBefore names the other runs with the recipient of a row, the newest first.
func (r *Row) sentBefore(ctx context.Context, l RowLedger, no campaign.RunNo, seq int64) error {
	all, err := l.RepeatsOf(ctx, no, seq)
	if err != nil {
		return fmt.Errorf("read the runs with the same recipient: %w", err)
	}
	for _, repeat := range slices.Backward(all) {
		other, err := l.Run(ctx, repeat.Other)
		if err != nil {
			return fmt.Errorf("read a run with the same recipient: %w", err)
		}
		r.SentBy = append(r.SentBy, other.ID())
	}
	if len(r.SentBy) > 0 {
		r.Sentence += ": the recipient is in " + strings.Join(r.SentBy, ", ") + " too, of the same template"
	}
	return nil
}

// row says what a row waits for.
func (w *Answer) row(run campaign.Run, line campaign.Line, segments []campaign.SegmentState) Row {
	r := Row{Run: w.Run, To: line.To, Row: line.Row, Status: line.Status, Reason: cmp.Or(line.Reason, line.Code),
		LimitedBy: campaign.ByNone, Connection: line.Connection}
	said := fmt.Sprintf("row %d is %s", r.Row, r.Status)
	if r.Reason != "" {
		said += " (" + r.Reason + ")"
	}
	r.Sentence = said
	if r.Status == campaign.InDoubt {
		r.LimitedBy = campaign.ByDoubt
		r.Sentence = said + " until a webhook proves it sent or its window is over"
	}
	if r.Status != campaign.Queued {
		return r
	}
	wait, whole := w.waiting(run)
	for _, s := range segments {
		if line.Seq < s.Lo || line.Seq >= s.Hi || whole {
			continue
		}
		if line.Seq < s.Mark {
			wait = Wait{For: campaign.ByRetry}
			if by := campaign.LimitedBy(r.Reason); by == campaign.ByFrequencyCap || by == campaign.ByPairLimit {
				wait.For = by
			}
			if !s.LeaseUntil.After(w.at) && s.WakeAt.After(w.at) {
				wait.Until = s.WakeAt
			}
			break
		}
		wait = w.aboveMark(s)
		r.Ahead = line.Seq - s.Mark
	}
	r.LimitedBy, r.Until = wait.For, wait.Until
	if wait.Connection != "" {
		r.Connection = wait.Connection
	}
	r.Sentence = said + " and waits for: " + wait.text()
	if wait.For == campaign.ByNone {
		r.Sentence = said + ", and nobody is sending it: start `campaignd serve`, or `campaignd run` with its files"
	}
	if r.Ahead > 0 {
		r.Sentence += fmt.Sprintf("; %s of its segment go first", sentence.Count(r.Ahead, "row", "rows"))
	}
	return r
}

// Number is what limits a number, over all unfinished runs.
type Number struct {
	Connection string              `json:"connection"`
	LimitedBy  campaign.LimitedBy  `json:"limited_by"`
	Sentence   string              `json:"sentence"`
	Holds      []wording.HoldState `json:"holds"`
	Runs       []Lane              `json:"runs"`
}

// Lane is what one run waits for on a number.
type Lane struct {
	Run string `json:"run"`
	LaneState
	Queued int64  `json:"queued"` // of the whole run
	Waits  []Wait `json:"waits"`  // of the whole run
}

// ExplainNumber says what limits a connection at now: what holds it, and what each of the runs that
// are to be sent over it waits for there. runs are the answers of Explain for them.
func ExplainNumber(connection string, runs []Answer, h Holds, now time.Time) Number {
	n := Number{Connection: connection, LimitedBy: campaign.ByNone, Holds: []wording.HoldState{}, Runs: []Lane{}}
	var longest campaign.Hold
	if h.Origin != nil {
		o := h.Origin(connection)
		longest, _ = campaign.HeldBy(h.Holds, o, now)
		for _, one := range h.Holds {
			if one.InForce(now) && one.Stops(o) {
				n.Holds = append(n.Holds, wording.State(one, now))
			}
		}
	}
	for _, w := range runs {
		lane := Lane{Run: w.Run, LaneState: LaneState{Connection: connection, LimitedBy: w.LimitedBy, Detail: w.Sentence},
			Queued: w.Totals.Queued, Waits: w.Waits}
		for _, one := range w.Lanes {
			if one.Connection == connection {
				lane.LaneState = one
				break
			}
		}
		n.Runs = append(n.Runs, lane)
	}
	n.Sentence = connection + " has nothing to send"
	switch {
	case len(n.Holds) > 0:
		n.LimitedBy, n.Sentence = campaign.ByHold, wording.Hold(longest, now)
	default:
		for _, one := range n.Runs {
			if one.live() && one.LimitedBy != campaign.ByNone && one.LimitedBy != "" && !one.At.IsZero() {
				n.LimitedBy, n.Sentence = one.LimitedBy, connection+": "+one.Detail
				break
			}
		}
		if n.LimitedBy == campaign.ByNone && len(n.Runs) > 0 {
			n.Sentence = fmt.Sprintf("nobody is sending over %s now; %s to be sent over it", connection,
				sentence.Count(len(n.Runs), "run is", "runs are"))
		}
	}
	return n
}
