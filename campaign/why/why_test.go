package why

import (
	"context"
	"strings"
	"testing"
	"time"

	"campaignd/campaign"
)

// waiting is a ledger of one run with 20 queued rows, as far as Explain reads it.
type waiting struct {
	lanes    []campaign.LaneReport
	segments []campaign.SegmentState
}

func (w waiting) Tallies(context.Context, campaign.RunNo) ([]campaign.Tally, campaign.Funnel, error) {
	return []campaign.Tally{{Status: campaign.Queued, N: 20}}, campaign.Funnel{}, nil
}
func (w waiting) Lanes(context.Context, campaign.RunNo) ([]campaign.LaneReport, error) {
	return w.lanes, nil
}
func (w waiting) SegmentStates(context.Context, campaign.RunNo) ([]campaign.SegmentState, error) {
	return w.segments, nil
}

func TestWhyNamesAClosedWindow(t *testing.T) {
	now := time.Date(2026, 11, 21, 5, 0, 0, 0, time.UTC)
	segment := func(mark int64, leased, wake time.Duration) campaign.SegmentState {
		s := campaign.SegmentState{Segment: campaign.Segment{Hi: 20}, Mark: mark}
		if leased != 0 {
			s.LeaseUntil = now.Add(leased)
		}
		if wake != 0 {
			s.WakeAt = now.Add(wake)
		}
		return s
	}
	skipped := campaign.SegmentState{Segment: campaign.Segment{Closed: true}}
	sender := []campaign.LaneReport{{LimitedBy: campaign.ByNone, Detail: "nothing is ready", Rate: 900, At: now}}
	closed := "its sending window is closed until 2026-11-21 08:00 UTC"
	for name, c := range map[string]struct {
		lanes    []campaign.LaneReport
		segments []campaign.SegmentState
		want     string
		finish   bool
	}{
		"its window is closed":   {sender, []campaign.SegmentState{skipped, segment(0, 0, 3*time.Hour)}, closed, false},
		"the first of two zones": {sender, []campaign.SegmentState{segment(0, 0, 5*time.Hour), segment(4, 0, 3*time.Hour)}, closed, false},
		"and nobody is there":    {nil, []campaign.SegmentState{segment(0, 0, 3*time.Hour)}, closed + ", and nobody is there", false},
		"another zone is being sent": {sender,
			[]campaign.SegmentState{segment(0, 0, 3*time.Hour), segment(4, time.Second, 0)}, "it is being sent", true},
		"another zone is about to begin": {sender,
			[]campaign.SegmentState{segment(0, 0, 3*time.Hour), segment(4, 0, -time.Second)}, "it is being sent", false},
		"its number waits for a limit": {[]campaign.LaneReport{
			{Connection: "a", LimitedBy: campaign.ByRamp, Detail: "the day's messages are sent", At: now},
			{Connection: "b", LimitedBy: campaign.ByNone, Detail: "nothing is ready", Rate: 900, At: now}},
			[]campaign.SegmentState{segment(0, 0, campaign.BriefPark)}, "a: the day's messages are sent", false},
		"its number waited, and nobody is there": {nil, []campaign.SegmentState{segment(0, 0, campaign.BriefPark)}, "nobody is sending it",
			false},
		"rows wait for another try": {sender, []campaign.SegmentState{segment(20, 0, 5*time.Second)}, "it is being sent", false},
	} {
		t.Run(name, func(t *testing.T) {
			w, err := Explain(t.Context(), waiting{c.lanes, c.segments}, campaign.Run{No: 1, Campaign: "spring", State: campaign.Running,
				Rows: 20}, Holds{}, now)
			if err != nil {
				t.Fatal(err)
			}
			if !strings.HasPrefix(w.Sentence, c.want) {
				t.Errorf("%q, want %q", w.Sentence, c.want)
			}
			if w.Finish.IsZero() == c.finish {
				t.Errorf("sent by %v, want a time: %v", w.Finish, c.finish)
			}
		})
	}
}

// Several numbers of a campaign share the campaign's limit, and a sender that is gone sends
// nothing.
func TestWhyCountsALimitOnceAndNoGoneSender(t *testing.T) {
	now := time.Date(2026, 11, 21, 5, 0, 0, 0, time.UTC)
	lane := func(connection string, rate float64, age time.Duration) campaign.LaneReport {
		return campaign.LaneReport{Connection: connection, LimitedBy: campaign.ByThroughput, Rate: rate, At: now.Add(-age)}
	}
	run := campaign.Run{No: 1, Campaign: "spring", State: campaign.Running, Rows: 20}
	capped := run
	capped.Definition = []byte("name: spring\nconnections: [a, b]\ntemplate: {name: x, language: en}\nrecipients: {file: l.csv}\nlimits: " +
		"{rate: 2}\n")
	for name, c := range map[string]struct {
		run   campaign.Run
		lanes []campaign.LaneReport
		takes time.Duration
		stale int
	}{
		"two numbers":              {run, []campaign.LaneReport{lane("a", 2, time.Second), lane("b", 2, 6*time.Second)}, 5 * time.Second, 0},
		"under the campaign's own": {capped, []campaign.LaneReport{lane("a", 2, 0), lane("b", 2, 0)}, 10 * time.Second, 0},
		"one of them is silent":    {run, []campaign.LaneReport{lane("a", 2, 0), lane("b", 2, 6*time.Second+1)}, 10 * time.Second, 0},
		"one of them is gone":      {run, []campaign.LaneReport{lane("a", 2, 0), lane("b", 2, 16*time.Second)}, 10 * time.Second, 1},
	} {
		w, err := Explain(t.Context(), waiting{c.lanes, []campaign.SegmentState{{Segment: campaign.Segment{Hi: 20},
			LeaseUntil: now.Add(time.Second)}}},
			c.run, Holds{}, now)
		if err != nil {
			t.Fatal(err)
		}
		stale := 0
		for _, l := range w.Lanes {
			if l.Stale {
				stale++
			}
		}
		if !w.Finish.Equal(now.Add(c.takes)) || stale != c.stale {
			t.Errorf("%s: sent by %v with %d stale, want %v and %d", name, w.Finish, stale, now.Add(c.takes), c.stale)
		}
	}
}

// Replicas share the pace of a number, so two do not send a list in half the time. The report of
// the one that sends counts for the connection.
func TestWhyCountsASharedPaceOnce(t *testing.T) {
	now := time.Date(2026, 11, 21, 5, 0, 0, 0, time.UTC)
	lane := func(connection, owner string, by campaign.LimitedBy, rate float64, age time.Duration) campaign.LaneReport {
		return campaign.LaneReport{Connection: connection, Owner: owner + "/7/123", LimitedBy: by, Detail: string(by) + " of " + owner,
			Rate: rate, At: now.Add(-age)}
	}
	for name, c := range map[string]struct {
		lanes    []campaign.LaneReport
		takes    time.Duration // to send 20 rows; 0: unknown
		sentence string
		shown    string // the lanes in their order
	}{
		"two senders of one number": {[]campaign.LaneReport{lane("a", "x", "none", 2, 0), lane("a", "y", "throughput", 2, 0), lane("b", "x",
			"none", 2, 0),
			lane("b", "y", "throughput", 2, 0)},
			5 * time.Second, "a: throughput of y", "a:y/7 a:x/7 b:y/7 b:x/7"},
		"one of them is held": {[]campaign.LaneReport{lane("a", "x", "unreachable", 0, 0), lane("a", "y", "throughput", 2, 0)},
			10 * time.Second, "a: throughput of y", "a:y/7 a:x/7"},
		"a sender without work, and one that is held": {[]campaign.LaneReport{lane("a", "x", "none", 2, 0), lane("a", "y", "limiter", 0, 0)},
			0, "a: limiter of y", "a:y/7 a:x/7"},
		"both are held": {[]campaign.LaneReport{lane("a", "x", "limiter", 0, 0), lane("a", "y", "limiter", 0, 0)},
			0, "a: limiter of x", "a:x/7 a:y/7"},
		"one has ended, one is missed, one was long ago": {[]campaign.LaneReport{lane("a", "w", "throughput", 2, time.Hour),
			lane("a", "x", campaign.ByStopped, 0, 0), lane("a", "y", "throughput", 2, time.Minute), lane("a", "z", "throughput", 2, 0)},
			10 * time.Second, "a: throughput of z", "a:z/7 a:y/7"},
		"all have ended": {[]campaign.LaneReport{lane("a", "x", campaign.ByStopped, 0, time.Hour), lane("a", "y", campaign.ByStopped, 0,
			time.Second)},
			0, "it is being sent", "a:y/7"},
	} {
		t.Run(name, func(t *testing.T) {
			w, err := Explain(t.Context(), waiting{c.lanes, []campaign.SegmentState{{Segment: campaign.Segment{Hi: 20},
				LeaseUntil: now.Add(time.Second)}}},
				campaign.Run{No: 1, State: campaign.Running, Rows: 20}, Holds{}, now)
			if err != nil {
				t.Fatal(err)
			}
			want := time.Time{}
			if c.takes > 0 {
				want = now.Add(c.takes)
			}
			var shown []string
			for _, l := range w.Lanes {
				shown = append(shown, l.Connection+":"+l.Sender)
			}
			if got := strings.Join(shown, " "); !w.Finish.Equal(want) || w.Sentence != c.sentence || got != c.shown {
				t.Errorf("sent by %v: %s; shown %s\nwant %v: %s; %s", w.Finish, w.Sentence, got, want, c.sentence, c.shown)
			}
		})
	}
}

func TestWhyDoesNotShowSendersThatEndedInOrder(t *testing.T) {
	now := time.Date(2026, 11, 21, 5, 0, 0, 0, time.UTC)
	w, err := Explain(t.Context(),
		waiting{[]campaign.LaneReport{{Connection: "a", LimitedBy: campaign.ByStopped, At: now}},
			[]campaign.SegmentState{{Segment: campaign.Segment{Hi: 20}}}},
		campaign.Run{No: 1, State: campaign.Running, Rows: 20}, Holds{}, now)
	if err != nil || !strings.HasPrefix(w.Sentence, "nobody is sending it") {
		t.Errorf("got %q, %v, want that nobody is sending it", w.Sentence, err)
	}
}
