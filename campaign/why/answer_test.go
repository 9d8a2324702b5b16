package why

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"campaignd/campaign"
	"campaignd/campaign/wording"
	"campaignd/internal/sentence"
)

// held is a ledger of one run, as far as Explain reads it. fails names the read that fails.
type held struct {
	tallies  []campaign.Tally
	lanes    []campaign.LaneReport
	segments []campaign.SegmentState
	fails    string
}

var errDisk = errors.New("disk on fire")

func (h held) err(read string) error {
	if h.fails == read {
		return errDisk
	}
	return nil
}

func (h held) Tallies(context.Context, campaign.RunNo) ([]campaign.Tally, campaign.Funnel, error) {
	return h.tallies, campaign.Funnel{}, h.err("tallies")
}
func (h held) Lanes(context.Context, campaign.RunNo) ([]campaign.LaneReport, error) {
	return h.lanes, h.err("lanes")
}
func (h held) SegmentStates(context.Context, campaign.RunNo) ([]campaign.SegmentState, error) {
	return h.segments, h.err("segments")
}

// The answer names one thing. The state of the run comes first, then the operator's wish, the
// window, a missing sender, the limit of a lane, and last the rows that are not finished.
func TestWhyNamesTheOneThingThatLimitsTheRun(t *testing.T) {
	now := time.Date(2026, 11, 21, 5, 0, 0, 0, time.UTC)
	lane := func(limitedBy campaign.LimitedBy, detail string) []campaign.LaneReport {
		return []campaign.LaneReport{{Connection: "conn_1", Owner: "host/7/1", LimitedBy: limitedBy, Detail: detail, At: now}}
	}
	queued, doubts, sending := []campaign.Tally{{Status: campaign.Queued, N: 3}}, []campaign.Tally{{Status: campaign.InDoubt, N: 2},
		{Status: campaign.Read, N: 9}},
		[]campaign.Tally{{Status: campaign.Sending, N: 1}}
	leased := []campaign.SegmentState{{Segment: campaign.Segment{Hi: 20}, LeaseUntil: now.Add(time.Second)}}
	ended := []campaign.SegmentState{{Segment: campaign.Segment{Hi: 20}, LeaseUntil: now}}
	parked := []campaign.SegmentState{{Segment: campaign.Segment{Hi: 20}, WakeAt: now.Add(time.Hour)}}
	const start = ": start `campaignd serve`, or `campaignd run` with its files; if one is running, its log says why"
	for name, c := range map[string]struct {
		run  campaign.Run
		held held
		want string
	}{
		"importing": {campaign.Run{State: campaign.Importing, Rows: 12}, held{}, "its list is being imported (12 rows so far); " +
			"if the importing process is gone, a `campaignd serve` that can read the list continues the import, or launch it again with the same " +
			"file"},
		"waiting for approval": {campaign.Run{State: campaign.WaitingApproval}, held{}, "it waits for approval: `campaignd approve a-1`"},
		"paused": {campaign.Run{State: campaign.Paused, Reason: campaign.PausedByBreaker, Detail: "132012"}, held{},
			"it is paused (breaker): 132012; `campaignd resume a-1` resumes it"},
		"paused, no detail": {campaign.Run{State: campaign.Paused, Reason: campaign.PausedByOperator}, held{},
			"it is paused (operator); `campaignd resume a-1` resumes it"},
		"finished":  {campaign.Run{State: campaign.Finished}, held{tallies: queued}, "it waits for nothing: it is finished"},
		"cancelled": {campaign.Run{State: campaign.Cancelled, Wanted: campaign.WantCancel}, held{}, "it waits for nothing: it is cancelled"},
		"failed":    {campaign.Run{State: campaign.RunStateFailed}, held{}, "it waits for nothing: it is failed"},
		"to be paused": {campaign.Run{State: campaign.Running, Wanted: campaign.WantPause}, held{tallies: queued, segments: parked},
			"a pause was requested; the sender stops within a second"},
		"to be cancelled": {campaign.Run{State: campaign.Running, Wanted: campaign.WantCancel}, held{segments: ended},
			"it is to be ended, and no process sends it: `campaignd cancel a-1` ends it"},
		"being cancelled": {campaign.Run{State: campaign.Running, Wanted: campaign.WantCancel}, held{segments: leased}, "it is being cancelled"},
		"being cancelled, too": {campaign.Run{State: campaign.Running, Wanted: campaign.WantCancel},
			held{segments: ended, lanes: lane("none", "")}, "it is being cancelled"},
		"a closed window": {campaign.Run{State: campaign.Running}, held{tallies: queued, segments: parked, lanes: lane("window", "closed")},
			"its sending window is closed until 2026-11-21 06:00 UTC"},
		"a window, no sender": {campaign.Run{State: campaign.Ready}, held{tallies: queued, segments: parked},
			"its sending window is closed until 2026-11-21 06:00 UTC, and nobody is there to send it then" + start},
		"nobody sends":        {campaign.Run{State: campaign.Running}, held{tallies: queued, segments: ended}, "nobody is sending it" + start},
		"nobody ends sending": {campaign.Run{State: campaign.Running}, held{tallies: sending, segments: ended}, "nobody is sending it" + start},
		"nobody proves": {campaign.Run{State: campaign.Running}, held{tallies: doubts, segments: ended},
			"2 rows are in doubt, and nobody is there to end them" + start},
		"a lane is bound": {campaign.Run{State: campaign.Running}, held{tallies: queued, segments: leased, lanes: lane("run_rate",
			"the tier is used up")},
			"conn_1: the tier is used up"},
		"nothing is ready": {campaign.Run{State: campaign.Running},
			held{tallies: queued, segments: leased, lanes: lane("none", "nothing is ready")}, "it is being sent"},
		"no word of a lane": {campaign.Run{State: campaign.Running}, held{tallies: sending, segments: leased, lanes: lane("run_rate", "")},
			"it is being sent"},
		"leased, no lane yet": {campaign.Run{State: campaign.Running}, held{tallies: queued, segments: leased}, "it is being sent"},
		"only doubts": {campaign.Run{State: campaign.Running}, held{tallies: doubts, lanes: lane("none", "")},
			"2 rows are in doubt until a webhook proves them sent or their window is over; `campaignd cancel a-1` ends the wait now"},
		"only one doubt": {campaign.Run{State: campaign.Running}, held{tallies: []campaign.Tally{{Status: campaign.InDoubt, N: 1}},
			lanes: lane("none", "")},
			"1 row is in doubt until a webhook proves it sent or its window is over; `campaignd cancel a-1` ends the wait now"},
		"only doubts, on a connection that is tried": {campaign.Run{State: campaign.Running}, held{tallies: doubts, lanes: lane("hold",
			"it is tried"),
			segments: []campaign.SegmentState{{Segment: campaign.Segment{Hi: 20}, Mark: 20, WakeAt: now.Add(time.Hour)}}},
			"2 rows are in doubt until a webhook proves them sent or their window is over, the first at " +
				sentence.Instant(now.Add(time.Hour)) + "; `campaignd cancel a-1` ends the wait now"},
		"nothing is left": {campaign.Run{State: campaign.Running},
			held{tallies: []campaign.Tally{{Status: campaign.Read, N: 9}}, lanes: lane("none", "")}, "it is about to finish"},
		"nothing, nobody": {campaign.Run{State: campaign.Running}, held{}, "it is about to finish"},
	} {
		c.run.No, c.run.Campaign = 1, "a"
		w, err := Explain(t.Context(), c.held, c.run, Holds{}, now)
		if err != nil || w.Sentence != c.want {
			t.Errorf("%s: %v\ngot  %s\nwant %s", name, err, w.Sentence, c.want)
		}
		if bound := name == "a lane is bound"; bound && (w.LimitedBy != campaign.ByRunRate || w.Lanes[0].LimitedBy != campaign.ByRunRate) {
			t.Errorf("%s: limited by %s and %s, want run_rate", name, w.LimitedBy, w.Lanes[0].LimitedBy)
		}
	}
	for _, read := range []string{"tallies", "lanes", "segments"} {
		if _, err := Explain(t.Context(), held{fails: read}, campaign.Run{No: 1, Campaign: "a"}, Holds{}, now); !errors.Is(err, errDisk) ||
			!strings.Contains(err.Error(), "a-1") {
			t.Errorf("%s: %v, want %v of a-1", read, err, errDisk)
		}
	}
}

func TestWhyCountsRowsAndSegments(t *testing.T) {
	now := time.Date(2026, 11, 21, 5, 0, 0, 0, time.UTC)
	h := held{
		tallies: []campaign.Tally{{Status: campaign.Queued, N: 3}, {Status: campaign.Queued, Reason: "x", N: 4}, {Status: campaign.Sending,
			N: 5}, {Status: campaign.InDoubt, N: 6},
			{Status: campaign.InDoubt, Reason: "y", N: 7}, {Status: campaign.Read, N: 8}},
		segments: []campaign.SegmentState{
			{Done: true, LeaseUntil: now.Add(1)}, {Segment: campaign.Segment{Closed: true}, WakeAt: now.Add(1)},
			{LeaseUntil: now.Add(1), WakeAt: now.Add(time.Second)},
			{LeaseUntil: now, WakeAt: now.Add(time.Hour)}, {WakeAt: now.Add(time.Minute)}, {WakeAt: now.Add(2 * time.Minute)}, {WakeAt: now}, {},
		},
	}
	w, err := Explain(t.Context(), h, campaign.Run{No: 1, Campaign: "a", State: campaign.Running, Rows: 33}, Holds{}, now)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(Totals{Rows: 33, Queued: 7, Sending: 5, InDoubt: 13}, w.Totals); diff != "" {
		t.Errorf("totals -want +got:\n%s", diff)
	}
	if diff := cmp.Diff(Segments{All: 8, Done: 2, Leased: 1, Parked: 3, Wake: now.Add(time.Minute)}, w.Segments); diff != "" {
		t.Errorf("segments -want +got:\n%s", diff)
	}
}

// A sender reports every two seconds and is stale after 15. A sender that vanished is shown for 10
// minutes.
func TestALaneWithoutReportsIsStale(t *testing.T) {
	now := time.Date(2026, 11, 21, 5, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		age         time.Duration
		limitedBy   campaign.LimitedBy
		stale, gone bool
	}{
		{0, "none", false, false}, {15 * time.Second, "none", false, false}, {15*time.Second + 1, "none", true, true},
		{0, campaign.ByStopped, false, true}, {time.Minute, campaign.ByStopped, true, true},
	} {
		r := campaign.LaneReport{LimitedBy: c.limitedBy, At: now.Add(-c.age)}
		if r.Stale(now) != c.stale || r.Gone(now) != c.gone {
			t.Errorf("%s, %v old: stale %v, gone %v, want %v, %v", c.limitedBy, c.age, r.Stale(now), r.Gone(now), c.stale, c.gone)
		}
	}
	serving := campaign.LaneReport{Connection: "a", Owner: "x/1/1", LimitedBy: campaign.ByNone, At: now}
	for age, want := range map[time.Duration]int{10 * time.Minute: 2, 10*time.Minute + 1: 1} {
		missed := campaign.LaneReport{Connection: "a", Owner: "y/1/1", LimitedBy: campaign.ByRunRate, At: now.Add(-age)}
		var w Answer
		w.show([]campaign.LaneReport{serving, missed}, now)
		if len(w.Lanes) != want {
			t.Errorf("a sender last heard of %v ago: %d lanes are shown, want %d", age, len(w.Lanes), want)
		}
	}
	for owner, want := range map[string]string{"host/7/123": "host/7", "host": "host", "/x": "/x", "": ""} {
		if got := (campaign.LaneReport{Owner: owner}).Sender(); got != want {
			t.Errorf("the sender of %q is %q, want %q", owner, got, want)
		}
	}
}

// A finish is given while the run is sent, and only within three years.
func TestWhyGivesAFinishOnlyWhileItIsSent(t *testing.T) {
	now := time.Date(2026, 11, 21, 5, 0, 0, 0, time.UTC)
	for name, c := range map[string]struct {
		state  campaign.State
		queued int64
		rate   float64
		lease  time.Duration
		want   time.Duration
	}{
		"sending":           {campaign.Running, 10, 4, 1, 2 * time.Second}, // 2.5 s, whole seconds
		"ready":             {campaign.Ready, 10, 4, 1, 0},
		"nothing is queued": {campaign.Running, 0, 4, 1, 0},
		"no rate":           {campaign.Running, 10, 0, 1, 0},
		"nobody has it":     {campaign.Running, 10, 4, 0, 0},
		"nearly 1e8 s":      {campaign.Running, 99_999_999, 1, 1, 99_999_999 * time.Second},
		"1e8 s":             {campaign.Running, 100_000_000, 1, 1, 0},
	} {
		h := held{tallies: []campaign.Tally{{Status: campaign.Queued, N: c.queued}},
			lanes:    []campaign.LaneReport{{Connection: "a", LimitedBy: campaign.ByRunRate, Rate: c.rate, At: now}},
			segments: []campaign.SegmentState{{Segment: campaign.Segment{Hi: 1}, LeaseUntil: now.Add(c.lease)}}}
		w, err := Explain(t.Context(), h, campaign.Run{No: 1, Campaign: "a", State: c.state}, Holds{}, now)
		want := now.Add(c.want)
		if c.want == 0 {
			want = time.Time{}
		}
		if err != nil || !w.Finish.Equal(want) {
			t.Errorf("%s: sent by %v, %v, want %v", name, w.Finish, err, want)
		}
	}
}

// The other number's rate sends none of the rows that a held one has.
func TestWhyGivesNoFinishWhileRowsWaitForAHold(t *testing.T) {
	now := time.Date(2026, 11, 21, 5, 0, 0, 0, time.UTC)
	h := held{tallies: []campaign.Tally{{Status: campaign.Queued, N: 10}},
		lanes: []campaign.LaneReport{{Connection: "a", LimitedBy: campaign.ByHold, At: now},
			{Connection: "b", LimitedBy: campaign.ByNone, Rate: 10, At: now}},
		segments: []campaign.SegmentState{{Segment: campaign.Segment{Hi: 10}, LeaseUntil: now.Add(1), Connection: "a"}}}
	w, err := Explain(t.Context(), h, campaign.Run{No: 1, Campaign: "a", State: campaign.Running}, Holds{}, now)
	if err != nil || !w.Finish.IsZero() || len(w.Waits) != 1 || w.Waits[0].For != campaign.ByHold {
		t.Errorf("got sent by %v, waits %+v, %v; want no time, and all rows waiting for the hold", w.Finish, w.Waits, err)
	}
}

func TestWhyGivesNoFinishWhileALimitOfADayBinds(t *testing.T) {
	now := time.Date(2026, 11, 21, 5, 0, 0, 0, time.UTC)
	for _, limit := range []campaign.LimitedBy{campaign.ByTier, campaign.ByAllowance, campaign.ByRamp, campaign.ByWindow,
		campaign.ByLimiter, campaign.ByHold, campaign.ByUnreachable} {
		lanes := []campaign.LaneReport{{Connection: "a", LimitedBy: limit, Rate: 10, At: now}, {Connection: "b", LimitedBy: campaign.ByShare,
			Rate: 1, At: now}}
		h := held{tallies: []campaign.Tally{{Status: campaign.Queued, N: 10}},
			segments: []campaign.SegmentState{{Segment: campaign.Segment{Hi: 10}, LeaseUntil: now.Add(1)}}}
		for n, want := range []time.Time{1: {}, 2: now.Add(10 * time.Second)} {
			if h.lanes = lanes[:n]; n == 0 {
				continue
			}
			w, err := Explain(t.Context(), h, campaign.Run{No: 1, Campaign: "a", State: campaign.Running}, Holds{}, now)
			if err != nil || !w.Finish.Equal(want) {
				t.Errorf("%s, %d lanes: sent by %v, %v, want %v", limit, n, w.Finish, err, want)
			}
		}
	}
}

// `run` sends the runs of a campaign file and a list; a follow-up has neither.
func TestWhyOffersAFollowUpItsOwnCommand(t *testing.T) {
	w := Answer{Totals: Totals{Queued: 3}}
	for run, want := range map[*campaign.Run]string{
		{No: 4, Campaign: "sale", Parent: 3, State: campaign.Running, Wanted: campaign.WantRun}: "nobody is sending it: " +
			"start `campaignd serve`, which sends follow-ups too",
		{No: 4, Campaign: "sale", State: campaign.Running, Wanted: campaign.WantRun}: "nobody is sending it: " +
			"start `campaignd serve`, or `campaignd run` with its files; if one is running, its log says why",
		{No: 4, Campaign: "sale", Parent: 3, State: campaign.Importing, Rows: 1}: "its rows are being copied (1 row so far); " +
			"if the process that does it is gone, " +
			"`campaignd serve` goes on with it, and so does the same `campaignd follow-up sale-3` command",
	} {
		if _, got := w.answer(*run); got != want {
			t.Errorf("%+v: got %q, want %q", run, got, want)
		}
	}
}

func TestWhyNamesTheHold(t *testing.T) {
	noon := time.Date(2026, 9, 21, 12, 0, 0, 0, time.UTC)
	minute := func(n int) time.Time { return noon.Add(time.Duration(n) * time.Minute) }
	run := campaign.Run{No: 1, Campaign: "spring", State: campaign.Running,
		Definition: []byte("name: spring\nconnections: [a]\ntemplate: {name: promo, language: en_US}\n" +
			"recipients: {file: x.csv, columns: {to: phone}}\n")}
	h := campaign.Hold{Scope: campaign.HoldAccount, ID: "acc", Reason: "131042", Source: campaign.HoldByStatus, Since: noon}
	of := func(c string) campaign.Origin { return campaign.Origin{Connection: c, Account: "acc"} }
	l := held{tallies: []campaign.Tally{{Status: campaign.Queued, N: 5}},
		segments: []campaign.SegmentState{{Segment: campaign.Segment{Hi: 5}, LeaseUntil: minute(2)}}}
	w, err := Explain(t.Context(), l, run, Holds{[]campaign.Hold{h}, of}, minute(1))
	if err != nil {
		t.Fatal(err)
	}
	if want := wording.Hold(h, minute(1)); w.LimitedBy != campaign.ByHold || w.Sentence != want || len(w.Holds) != 1 ||
		w.Holds[0].Sentence != want {
		t.Errorf("got %s: %s and %d holds\nwant hold: %s", w.LimitedBy, w.Sentence, len(w.Holds), want)
	}
	if w, _ = Explain(t.Context(), l, run, Holds{}, minute(1)); w.LimitedBy == campaign.ByHold || w.Holds == nil {
		t.Errorf("got %s, %v; want no hold, and an empty list", w.LimitedBy, w.Holds)
	}
}
