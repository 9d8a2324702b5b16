// Package why says what a run, a recipient or a number waits for, and until when. The operator's
// API, the commands and the end of `campaignd run` ask it. It reads the ledger and decides nothing:
// the answer is one value of limited_by, one sentence, and the counts behind them.
package why

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"campaignd/campaign"
	"campaignd/campaign/file"
	"campaignd/campaign/launch"
	"campaignd/campaign/wording"
	"campaignd/internal/sentence"
)

// Answer is what a run waits for.
type Answer struct {
	Run   string         `json:"run"`
	State campaign.State `json:"state"`
	// LimitedBy is what the run waits for.
	LimitedBy campaign.LimitedBy `json:"limited_by"`
	// Sentence is the answer in one sentence.
	Sentence string `json:"sentence"`
	// RefusedEvents says which events of webhooks are refused for their signature, so that neither
	// statuses nor opt-outs are seen; "": none. The caller of Explain sets it.
	RefusedEvents string `json:"refused_events,omitempty"`
	// NoEvents says that no event has come about accepted messages, so that nobody knows whether they
	// were delivered; "": events have come.
	NoEvents string `json:"no_events,omitempty"`
	// Holds stop messages of the run, over all of its connections or some.
	Holds  []wording.HoldState `json:"holds"`
	Totals Totals              `json:"totals"`
	Lanes  []LaneState         `json:"lanes"`
	// Waits counts the queued rows by what they wait for.
	Waits    []Wait   `json:"waits"`
	Segments Segments `json:"segments"`
	// Moved counts the rows that moved between connections (limits.move).
	Moved []wording.MovedRows `json:"moved,omitempty"`
	// Opens is when the window opens that the run waits for; zero when it waits for none.
	Opens time.Time `json:"window_opens_at,omitzero"`
	// Limits decide the run's share of its numbers; the zero value if this version cannot read them.
	Limits campaign.RunLimits `json:"limits"`
	// Due is its deadline; zero when it has none.
	Due time.Time `json:"due,omitzero"`
	// Finish is when the queued rows will have been sent at the current rate; zero when that is
	// unknown.
	Finish time.Time `json:"finish,omitzero"`

	sender      bool             // the process that asks sends the run
	heldBy      campaign.Hold    // if every connection is held: the hold of the first
	afterCanary int64            // deliveries that wait for the verdict on the canary
	canary      string           // what was seen of the canary, in brackets; "": not counted
	postponed   map[string]int64 // queued rows by Tally.Reason
	at          time.Time
}

// Totals counts the rows of the list, and those that are not finished.
type Totals struct {
	Rows    int64 `json:"rows"`
	Queued  int64 `json:"queued"`
	Sending int64 `json:"sending"`
	InDoubt int64 `json:"in_doubt"`
}

// LaneState is the last report of one lane.
type LaneState struct {
	Connection string             `json:"connection"`
	Sender     string             `json:"sender"` // host/process id
	LimitedBy  campaign.LimitedBy `json:"limited_by"`
	Detail     string             `json:"detail"`
	// Rate, At and Until are copied from LaneReport; the rate is in messages per second, and 0 when
	// the last report is older than 6 seconds.
	Rate  float64   `json:"rate"`
	At    time.Time `json:"at"`
	Until time.Time `json:"until,omitzero"`
	// Stale means that the sender is dead, or that its report is too old: it is gone, or it stalls.
	Stale bool `json:"stale"`
}

// live reports whether a sender serves the lane.
func (l LaneState) live() bool { return !l.Stale && l.LimitedBy != campaign.ByStopped }

// Segments counts the segments of a run.
type Segments struct {
	All    int       `json:"all"`
	Done   int       `json:"done"`
	Leased int       `json:"leased"`                // with a live owner
	Parked int       `json:"parked"`                // waiting for a time
	Moved  int       `json:"moved,omitempty"`       // to another connection (limits.move)
	Wake   time.Time `json:"next_wake_at,omitzero"` // the earliest of these times
}

// Ledger is the part of the ledger that Explain reads.
type Ledger interface {
	Tallies(ctx context.Context, no campaign.RunNo) ([]campaign.Tally, campaign.Funnel, error)
	Lanes(ctx context.Context, no campaign.RunNo) ([]campaign.LaneReport, error)
	SegmentStates(ctx context.Context, no campaign.RunNo) ([]campaign.SegmentState, error)
}

// Holds is what Explain needs to know of holds.
type Holds struct {
	Holds []campaign.Hold
	// Origin tells what holds can name of a connection.
	Origin func(connection string) campaign.Origin
}

// Explain says what a run waits for at now, from the ledger alone: it works beside a sender, and
// after the sender's death.
func Explain(ctx context.Context, l Ledger, run campaign.Run, h Holds, now time.Time) (Answer, error) {
	w := Answer{Run: run.ID(), State: run.State, Totals: Totals{Rows: run.Rows}, Lanes: []LaneState{}, Holds: []wording.HoldState{},
		postponed: map[string]int64{}, at: now}
	if len(h.Holds) > 0 {
		w.Holds = wording.States(RunHolds(run, h.Holds, h.Origin, now), now)
		w.heldBy, _ = Held(run, h.Holds, h.Origin, now)
	}
	tallies, funnel, err := l.Tallies(ctx, run.No)
	if err != nil {
		return Answer{}, fmt.Errorf("count %s: %w", run.ID(), err)
	}
	silent, delivered := int64(0), int64(0)
	for _, t := range tallies {
		switch t.Status {
		case campaign.Accepted:
			silent += t.N
		case campaign.Delivered, campaign.Read:
			delivered += t.N
		case campaign.Queued:
			w.Totals.Queued += t.N
			w.postponed[t.Reason] += t.N
		case campaign.Sending:
			w.Totals.Sending += t.N
		case campaign.InDoubt:
			w.Totals.InDoubt += t.N
		}
	}
	w.NoEvents = wording.Unseen(funnel.Accepted, silent, run.State.Ended())
	w.canary = fmt.Sprintf(" (%d of the %d accepted messages were reported delivered)", delivered, funnel.Accepted)
	lanes, err := l.Lanes(ctx, run.No)
	if err != nil {
		return Answer{}, fmt.Errorf("read the lanes of %s: %w", run.ID(), err)
	}
	rate := w.show(lanes, now)
	def, refused := file.ParseStored(run.ID(), run.Definition)
	if refused == nil {
		w.Limits = def.LimitsOf(run)
		w.Due = w.Limits.Ends(run.CreatedAt)
		if w.Limits.Rate > 0 {
			rate = min(rate, w.Limits.Rate) // all numbers of a run share this limit
		}
	}
	segments, err := l.SegmentStates(ctx, run.No)
	if err != nil {
		return Answer{}, fmt.Errorf("read the segments of %s: %w", run.ID(), err)
	}
	for _, s := range segments {
		w.Segments.All++
		if s.Moved > 0 {
			w.Segments.Moved++
		}
		switch {
		case s.Done || s.Closed:
			w.Segments.Done++
		case s.AfterCanary:
			w.Segments.Parked++
		case s.LeaseUntil.After(now):
			w.Segments.Leased++
		case s.WakeAt.After(now):
			w.Segments.Parked++
			if w.Segments.Wake.IsZero() || s.WakeAt.Before(w.Segments.Wake) {
				w.Segments.Wake = s.WakeAt
			}
		}
	}
	w.Moved = wording.RowsMoved(segments)
	w.Opens = WindowOpens(segments, now)
	w.afterCanary = launch.AwaitingCanary(segments)
	if left := float64(w.Totals.Queued); rate > 0 && left > 0 && run.State == campaign.Running && w.Segments.Leased > 0 &&
		w.heldBy.Scope == "" {
		if seconds := left / rate; seconds < 1e8 { // three years; a later finish counts as unknown
			w.Finish = now.Add(time.Duration(seconds * float64(time.Second))).Truncate(time.Second)
		}
	}
	w.Waits = w.waits(run, segments)
	if slices.ContainsFunc(w.Waits, func(one Wait) bool { return one.For == campaign.ByHold }) {
		w.Finish = time.Time{} // no rate sends those rows before the hold ends
	}
	w.LimitedBy, w.Sentence = w.answer(run)
	if refused != nil && len(run.Definition) > 0 && run.Wanted == campaign.WantRun && run.State.Sends() {
		w.LimitedBy = campaign.ByNone
		w.Sentence = fmt.Sprintf("this version cannot send it (%s); a version that can will continue it, and `campaignd cancel %s` ends it",
			sentence.FirstLine(refused.Error()), run.ID())
	}
	return w, nil
}

// show selects and sorts the lanes, and sums up their rates. Within a connection, sending lanes
// come first, then lanes that wait, then lanes with nothing to do, and lanes whose sender is gone
// last. If another sender serves the connection, only those that vanished within 10 minutes are
// shown of the latter; otherwise only the last one is. Senders of one connection share its pace,
// which counts once.
func (w *Answer) show(lanes []campaign.LaneReport, now time.Time) (rate float64) {
	rank := func(r campaign.LaneReport) int {
		switch {
		case r.Gone(now):
			return 2
		case r.LimitedBy == campaign.ByNone:
			return 1
		}
		return 0
	}
	lanes = slices.Clone(lanes)
	slices.SortStableFunc(lanes, func(a, b campaign.LaneReport) int {
		return cmp.Or(cmp.Compare(a.Connection, b.Connection), cmp.Compare(rank(a), rank(b)), cmp.Compare(b.Rate, a.Rate), b.At.Compare(a.At))
	})
	pace := map[string]float64{} // by connection, if a sender serves it: the pace of the first lane in the order above
	for _, r := range lanes {
		if _, known := pace[r.Connection]; !known && !r.Gone(now) {
			pace[r.Connection] = r.Pace(now)
			if StandsStill(r.LimitedBy) {
				pace[r.Connection] = 0
			}
		}
	}
	for i, r := range lanes {
		if r.Gone(now) {
			_, served := pace[r.Connection]
			missed := r.LimitedBy != campaign.ByStopped && now.Sub(r.At) <= campaign.LaneMissed
			last := i == 0 || lanes[i-1].Connection != r.Connection
			if served && !missed || !served && !last {
				continue
			}
		}
		w.Lanes = append(w.Lanes, LaneState{r.Connection, r.Sender(), r.LimitedBy, r.Detail, r.Pace(now), r.At, r.Until, r.Stale(now)})
	}
	for _, p := range pace {
		rate += p
	}
	return rate
}

// WindowOpens is when the next window of a run opens, if all its unfinished segments wait for a
// time. It is zero when something can be sent now, when a segment may be parked for BriefPark, and
// when only rows wait that are to be tried again. A window that is closed holds the segment's mark
// back; a row that waits alone has let the mark pass (docs/protocol.md#segments-and-marks).
func WindowOpens(segments []campaign.SegmentState, now time.Time) time.Time {
	var opens time.Time
	for _, s := range segments {
		switch {
		case s.Done || s.Closed || s.AfterCanary:
		case s.LeaseUntil.After(now) || !s.WakeAt.After(now):
			return time.Time{}
		case s.Mark >= s.Hi:
		case s.WakeAt.Sub(now) <= campaign.ParkedBriefly:
			return time.Time{}
		case opens.IsZero() || s.WakeAt.Before(opens):
			opens = s.WakeAt
		}
	}
	return opens
}

// answer names the one thing that holds the run up, and says it in a sentence.
func (w *Answer) answer(run campaign.Run) (limit campaign.LimitedBy, text string) {
	switch run.State {
	case campaign.Importing:
		if run.Detail != "" {
			return campaign.ByNone,
				fmt.Sprintf("its import failed after %s, and `campaignd serve` tries it again: %s; `campaignd cancel %s` ends it",
					sentence.Count(run.Rows, "row", "rows"), run.Detail, run.ID())
		}
		if run.Parent != 0 {
			return campaign.ByNone, fmt.Sprintf("its rows are being copied (%s so far); if the process that does it is gone, "+
				"`campaignd serve` goes on with it, and so does the same `campaignd follow-up %s` command",
				sentence.Count(run.Rows, "row", "rows"), run.ParentID())
		}
		return campaign.ByNone, fmt.Sprintf("its list is being imported (%s so far); if the importing process is gone, "+
			"a `campaignd serve` that can read the list continues the import, or launch it again with the same file",
			sentence.Count(run.Rows, "row", "rows"))
	case campaign.WaitingApproval:
		return campaign.ByPause, fmt.Sprintf("it waits for approval: `campaignd approve %s`", run.ID())
	case campaign.Paused:
		s := fmt.Sprintf("it is paused (%s)", run.Reason)
		if run.Detail != "" {
			s += ": " + run.Detail
		}
		return campaign.ByPause, s + "; " + wording.Remedy(run.ID())
	case campaign.Finished, campaign.Cancelled, campaign.RunStateFailed:
		return campaign.ByNone, fmt.Sprintf("it waits for nothing: it is %s", run.State)
	}
	switch run.Wanted {
	case campaign.WantPause:
		return campaign.ByPause, "a pause was requested; the sender stops within a second"
	case campaign.WantCancel:
		if w.Segments.Leased == 0 && !w.served() {
			return campaign.ByNone, fmt.Sprintf("it is to be ended, and no process sends it: `campaignd cancel %s` ends it", run.ID())
		}
		return campaign.ByNone, "it is being cancelled"
	}
	start := "start `campaignd serve`, or `campaignd run` with its files; if one is running, its log says why"
	if run.Parent != 0 { // `run` sends the runs of a campaign file and a list alone
		start = "start `campaignd serve`, which sends follow-ups too"
	}
	nobodyThen := ", and nobody is there to send it then: " + start
	open := w.Totals.Queued + w.Totals.Sending
	if w.heldBy.Scope != "" && open > 0 {
		s := wording.Hold(w.heldBy, w.at)
		if !w.served() && w.Segments.Leased == 0 {
			s += nobodyThen
		}
		return campaign.ByHold, s
	}
	if !w.Opens.IsZero() {
		s := "its sending window is closed until " + w.Opens.UTC().Format("2006-01-02 15:04 UTC")
		if !w.served() {
			s += nobodyThen
		}
		return campaign.ByWindow, s
	}
	if w.afterCanary > 0 && open == w.afterCanary {
		return campaign.ByPause, fmt.Sprintf("%s for the verdict on its canary%s, which `campaignd serve` or `run` gives "+
			"when policies.canary.wait is over and as many were delivered as policies.canary.min_delivered wants, or an hour later",
			sentence.Count(open, "row waits", "rows wait"), w.canary)
	}
	if !w.served() && w.Segments.Leased == 0 {
		switch {
		case open > 0:
			return campaign.ByNone, "nobody is sending it: " + start
		case w.Totals.InDoubt > 0:
			return campaign.ByDoubt, fmt.Sprintf("%s in doubt, and nobody is there to end them: %s",
				sentence.Count(w.Totals.InDoubt, "row is", "rows are"), start)
		}
	}
	if open == 0 && w.Totals.InDoubt > 0 { // whatever may limit the connection
		first := ""
		if !w.Segments.Wake.IsZero() {
			first = ", the first at " + sentence.Instant(w.Segments.Wake)
		}
		return campaign.ByDoubt, fmt.Sprintf("%s is over%s; `campaignd cancel %s` ends the wait now",
			sentence.Count(w.Totals.InDoubt, "row is in doubt until a webhook proves it sent or its window",
				"rows are in doubt until a webhook proves them sent or their window"), first, run.ID())
	}
	for _, l := range w.Lanes {
		if l.live() && l.Detail != "" && l.LimitedBy != campaign.ByNone {
			return l.LimitedBy, l.Connection + ": " + l.Detail
		}
	}
	if open > 0 {
		return campaign.ByThroughput, "it is being sent"
	}
	return campaign.ByNone, "it is about to finish"
}

// served reports whether a sender serves a lane.
func (w *Answer) served() bool { return w.sender || slices.ContainsFunc(w.Lanes, LaneState.live) }
