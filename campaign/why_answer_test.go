package campaign

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// held is a ledger of one run, as far as Explain reads it. fails names the read that fails.
type held struct {
	tallies  []Tally
	lanes    []LaneReport
	segments []SegmentState
	fails    string
}

var errDisk = errors.New("disk on fire")

func (h held) err(read string) error {
	if h.fails == read {
		return errDisk
	}
	return nil
}

func (h held) Tallies(context.Context, RunNo) ([]Tally, Funnel, error) {
	return h.tallies, Funnel{}, h.err("tallies")
}
func (h held) Lanes(context.Context, RunNo) ([]LaneReport, error) { return h.lanes, h.err("lanes") }
func (h held) SegmentStates(context.Context, RunNo) ([]SegmentState, error) {
	return h.segments, h.err("segments")
}

// The answer names one thing. The state of the run comes first, then the operator's wish, the
// window, a missing sender, the limit of a lane, and last the rows that are not finished.
func TestWhyNamesTheOneThingThatLimitsTheRun(t *testing.T) {
	now := time.Date(2026, 11, 21, 5, 0, 0, 0, time.UTC)
	lane := func(limitedBy, detail string) []LaneReport {
		return []LaneReport{{Connection: "conn_1", Owner: "host/7/1", LimitedBy: limitedBy, Detail: detail, At: now}}
	}
	queued, doubts, sending := []Tally{{Status: Queued, N: 3}}, []Tally{{Status: InDoubt, N: 2}, {Status: Read, N: 9}},
		[]Tally{{Status: Sending, N: 1}}
	leased := []SegmentState{{Segment: Segment{Hi: 20}, LeaseUntil: now.Add(time.Second)}}
	ended := []SegmentState{{Segment: Segment{Hi: 20}, LeaseUntil: now}}
	parked := []SegmentState{{Segment: Segment{Hi: 20}, WakeAt: now.Add(time.Hour)}}
	const start = ": start `campaignd serve`, or `campaignd run` with its files; the log of one that runs says what holds it up"
	for name, c := range map[string]struct {
		run  Run
		held held
		want string
	}{
		"importing": {Run{State: Importing, Rows: 12}, held{}, "its list is being imported (12 rows so far); " +
			"if the importing process is gone, a `campaignd serve` that can read the list continues the import, or launch it again with the same " +
			"file"},
		"waiting for approval": {Run{State: WaitingApproval}, held{}, "it waits for approval: `campaignd approve a-1`"},
		"paused": {Run{State: Paused, Reason: PausedByBreaker, Detail: "132012"}, held{},
			"it is paused (breaker): 132012; `campaignd resume a-1` lets it go on"},
		"paused, no detail": {Run{State: Paused, Reason: PausedByOperator}, held{},
			"it is paused (operator); `campaignd resume a-1` lets it go on"},
		"finished":  {Run{State: Finished}, held{tallies: queued}, "it waits for nothing: it is finished"},
		"cancelled": {Run{State: Cancelled, Wanted: WantCancel}, held{}, "it waits for nothing: it is cancelled"},
		"failed":    {Run{State: RunStateFailed}, held{}, "it waits for nothing: it is failed"},
		"to be paused": {Run{State: Running, Wanted: WantPause}, held{tallies: queued, segments: parked},
			"it is to be paused; its sender obeys within a fraction of a second"},
		"to be cancelled": {Run{State: Running, Wanted: WantCancel}, held{segments: ended},
			"it is to be cancelled, and nobody is there to do it: `campaignd cancel a-1` does it"},
		"being cancelled": {Run{State: Running, Wanted: WantCancel}, held{segments: leased}, "it is being cancelled"},
		"being cancelled, too": {Run{State: Running, Wanted: WantCancel},
			held{segments: ended, lanes: lane("none", "")}, "it is being cancelled"},
		"a closed window": {Run{State: Running}, held{tallies: queued, segments: parked, lanes: lane("window", "closed")},
			"its sending window is closed until 2026-11-21 06:00 UTC"},
		"a window, no sender": {Run{State: Ready}, held{tallies: queued, segments: parked},
			"its sending window is closed until 2026-11-21 06:00 UTC, and nobody is there to send it then" + start},
		"nobody sends":        {Run{State: Running}, held{tallies: queued, segments: ended}, "nobody is sending it" + start},
		"nobody ends sending": {Run{State: Running}, held{tallies: sending, segments: ended}, "nobody is sending it" + start},
		"nobody proves": {Run{State: Running}, held{tallies: doubts, segments: ended},
			"2 rows are in doubt, and nobody is there to end them" + start},
		"a lane is bound": {Run{State: Running}, held{tallies: queued, segments: leased, lanes: lane("run_rate", "the tier is used up")},
			"conn_1: the tier is used up"},
		"nothing is ready": {Run{State: Running},
			held{tallies: queued, segments: leased, lanes: lane("none", "nothing is ready")}, "it is being sent"},
		"no word of a lane":   {Run{State: Running}, held{tallies: sending, segments: leased, lanes: lane("run_rate", "")}, "it is being sent"},
		"leased, no lane yet": {Run{State: Running}, held{tallies: queued, segments: leased}, "it is being sent"},
		"only doubts": {Run{State: Running}, held{tallies: doubts, lanes: lane("none", "")},
			"2 rows are in doubt until a webhook proves them sent or their window is over; `campaignd cancel a-1` ends the wait now"},
		"only one doubt": {Run{State: Running}, held{tallies: []Tally{{Status: InDoubt, N: 1}}, lanes: lane("none", "")},
			"1 row is in doubt until a webhook proves it sent or its window is over; `campaignd cancel a-1` ends the wait now"},
		"only doubts, on a connection that is tried": {Run{State: Running}, held{tallies: doubts, lanes: lane("hold", "it is tried"),
			segments: []SegmentState{{Segment: Segment{Hi: 20}, Mark: 20, WakeAt: now.Add(time.Hour)}}},
			"2 rows are in doubt until a webhook proves them sent or their window is over, the first at " +
				Instant(now.Add(time.Hour)) + "; `campaignd cancel a-1` ends the wait now"},
		"nothing is left": {Run{State: Running},
			held{tallies: []Tally{{Status: Read, N: 9}}, lanes: lane("none", "")}, "it is about to finish"},
		"nothing, nobody": {Run{State: Running}, held{}, "it is about to finish"},
	} {
		c.run.No, c.run.Campaign = 1, "a"
		w, err := Explain(t.Context(), c.held, c.run, WhyHolds{}, now)
		if err != nil || w.Sentence != c.want {
			t.Errorf("%s: %v\ngot  %s\nwant %s", name, err, w.Sentence, c.want)
		}
		if bound := name == "a lane is bound"; bound && (w.LimitedBy != "run_rate" || w.Lanes[0].LimitedBy != "run_rate") {
			t.Errorf("%s: limited by %s and %s, want run_rate", name, w.LimitedBy, w.Lanes[0].LimitedBy)
		}
	}
	for _, read := range []string{"tallies", "lanes", "segments"} {
		if _, err := Explain(t.Context(), held{fails: read}, Run{No: 1, Campaign: "a"}, WhyHolds{}, now); !errors.Is(err, errDisk) ||
			!strings.Contains(err.Error(), "a-1") {
			t.Errorf("%s: %v, want %v of a-1", read, err, errDisk)
		}
	}
}

func TestWhyCountsRowsAndSegments(t *testing.T) {
	now := time.Date(2026, 11, 21, 5, 0, 0, 0, time.UTC)
	h := held{
		tallies: []Tally{{Status: Queued, N: 3}, {Status: Queued, Reason: "x", N: 4}, {Status: Sending, N: 5}, {Status: InDoubt, N: 6},
			{Status: InDoubt, Reason: "y", N: 7}, {Status: Read, N: 8}},
		segments: []SegmentState{
			{Done: true, LeaseUntil: now.Add(1)}, {Segment: Segment{Closed: true}, WakeAt: now.Add(1)},
			{LeaseUntil: now.Add(1), WakeAt: now.Add(time.Second)},
			{LeaseUntil: now, WakeAt: now.Add(time.Hour)}, {WakeAt: now.Add(time.Minute)}, {WakeAt: now.Add(2 * time.Minute)}, {WakeAt: now}, {},
		},
	}
	w, err := Explain(t.Context(), h, Run{No: 1, Campaign: "a", State: Running, Rows: 33}, WhyHolds{}, now)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(WhyTotals{Rows: 33, Queued: 7, Sending: 5, InDoubt: 13}, w.Totals); diff != "" {
		t.Errorf("totals -want +got:\n%s", diff)
	}
	if diff := cmp.Diff(WhySegments{All: 8, Done: 2, Leased: 1, Parked: 3, Wake: now.Add(time.Minute)}, w.Segments); diff != "" {
		t.Errorf("segments -want +got:\n%s", diff)
	}
}

// A sender reports every two seconds and is stale after 15. A sender that vanished is shown for 10
// minutes.
func TestALaneWithoutReportsIsStale(t *testing.T) {
	now := time.Date(2026, 11, 21, 5, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		age         time.Duration
		limitedBy   string
		stale, gone bool
	}{
		{0, "none", false, false}, {15 * time.Second, "none", false, false}, {15*time.Second + 1, "none", true, true},
		{0, LaneStopped, false, true}, {time.Minute, LaneStopped, true, true},
	} {
		r := LaneReport{LimitedBy: c.limitedBy, At: now.Add(-c.age)}
		if r.stale(now) != c.stale || r.Gone(now) != c.gone {
			t.Errorf("%s, %v old: stale %v, gone %v, want %v, %v", c.limitedBy, c.age, r.stale(now), r.Gone(now), c.stale, c.gone)
		}
	}
	serving := LaneReport{Connection: "a", Owner: "x/1/1", LimitedBy: "none", At: now}
	for age, want := range map[time.Duration]int{10 * time.Minute: 2, 10*time.Minute + 1: 1} {
		missed := LaneReport{Connection: "a", Owner: "y/1/1", LimitedBy: "run_rate", At: now.Add(-age)}
		var w Why
		w.show([]LaneReport{serving, missed}, now)
		if len(w.Lanes) != want {
			t.Errorf("a sender last heard of %v ago: %d lanes are shown, want %d", age, len(w.Lanes), want)
		}
	}
	for owner, want := range map[string]string{"host/7/123": "host/7", "host": "host", "/x": "/x", "": ""} {
		if got := (LaneReport{Owner: owner}).sender(); got != want {
			t.Errorf("the sender of %q is %q, want %q", owner, got, want)
		}
	}
}

// A finish is given while the run is sent, and only within three years.
func TestWhyGivesAFinishOnlyWhileItIsSent(t *testing.T) {
	now := time.Date(2026, 11, 21, 5, 0, 0, 0, time.UTC)
	for name, c := range map[string]struct {
		state  State
		queued int64
		rate   float64
		lease  time.Duration
		want   time.Duration
	}{
		"sending":           {Running, 10, 4, 1, 2 * time.Second}, // 2.5 s, whole seconds
		"ready":             {Ready, 10, 4, 1, 0},
		"nothing is queued": {Running, 0, 4, 1, 0},
		"no rate":           {Running, 10, 0, 1, 0},
		"nobody has it":     {Running, 10, 4, 0, 0},
		"nearly 1e8 s":      {Running, 99_999_999, 1, 1, 99_999_999 * time.Second},
		"1e8 s":             {Running, 100_000_000, 1, 1, 0},
	} {
		h := held{tallies: []Tally{{Status: Queued, N: c.queued}},
			lanes:    []LaneReport{{Connection: "a", LimitedBy: "run_rate", Rate: c.rate, At: now}},
			segments: []SegmentState{{Segment: Segment{Hi: 1}, LeaseUntil: now.Add(c.lease)}}}
		w, err := Explain(t.Context(), h, Run{No: 1, Campaign: "a", State: c.state}, WhyHolds{}, now)
		want := now.Add(c.want)
		if c.want == 0 {
			want = time.Time{}
		}
		if err != nil || !w.Finish.Equal(want) {
			t.Errorf("%s: sent by %v, %v, want %v", name, w.Finish, err, want)
		}
	}
}

func TestWhyGivesNoFinishWhileALimitOfADayBinds(t *testing.T) {
	now := time.Date(2026, 11, 21, 5, 0, 0, 0, time.UTC)
	for _, limit := range []string{LimitTier, LimitAllowance, LimitRamp, LimitWindow, LimitLimiter, "hold", "unreachable"} {
		lanes := []LaneReport{{Connection: "a", LimitedBy: limit, Rate: 10, At: now}, {Connection: "b", LimitedBy: "share", Rate: 1, At: now}}
		h := held{tallies: []Tally{{Status: Queued, N: 10}}, segments: []SegmentState{{Segment: Segment{Hi: 10}, LeaseUntil: now.Add(1)}}}
		for n, want := range []time.Time{1: {}, 2: now.Add(10 * time.Second)} {
			if h.lanes = lanes[:n]; n == 0 {
				continue
			}
			w, err := Explain(t.Context(), h, Run{No: 1, Campaign: "a", State: Running}, WhyHolds{}, now)
			if err != nil || !w.Finish.Equal(want) {
				t.Errorf("%s, %d lanes: sent by %v, %v, want %v", limit, n, w.Finish, err, want)
			}
		}
	}
}

// `run` sends the runs of a campaign file and a list; a follow-up has neither.
func TestWhyOffersAFollowUpItsOwnCommand(t *testing.T) {
	w := Why{Totals: WhyTotals{Queued: 3}}
	for run, want := range map[*Run]string{
		{No: 4, Campaign: "sale", Parent: 3, State: Running, Wanted: WantRun}: "nobody is sending it: " +
			"start `campaignd serve`, which sends follow-ups too",
		{No: 4, Campaign: "sale", State: Running, Wanted: WantRun}: "nobody is sending it: " +
			"start `campaignd serve`, or `campaignd run` with its files; the log of one that runs says what holds it up",
		{No: 4, Campaign: "sale", Parent: 3, State: Importing, Rows: 1}: "its rows are being copied (1 row so far); " +
			"if the process that does it is gone, " +
			"the same `campaignd follow-up sale-3` command goes on with it",
	} {
		if _, got := w.answer(*run); got != want {
			t.Errorf("%+v: got %q, want %q", run, got, want)
		}
	}
}
