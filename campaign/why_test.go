package campaign

import (
	"context"
	"strings"
	"testing"
	"time"
)

// waiting is a ledger of one run with 20 queued rows, as Explain sees it.
type waiting struct {
	lanes    []LaneReport
	segments []SegmentState
}

func (w waiting) Tallies(context.Context, RunNo) ([]Tally, Funnel, error) {
	return []Tally{{Status: Queued, N: 20}}, Funnel{}, nil
}
func (w waiting) Lanes(context.Context, RunNo) ([]LaneReport, error) { return w.lanes, nil }
func (w waiting) SegmentStates(context.Context, RunNo) ([]SegmentState, error) {
	return w.segments, nil
}

func TestWhyNamesAClosedWindow(t *testing.T) {
	now := time.Date(2026, 11, 21, 5, 0, 0, 0, time.UTC)
	segment := func(mark int64, leased, wake time.Duration) SegmentState {
		s := SegmentState{Segment: Segment{Hi: 20}, Mark: mark}
		if leased != 0 {
			s.LeaseUntil = now.Add(leased)
		}
		if wake != 0 {
			s.WakeAt = now.Add(wake)
		}
		return s
	}
	skipped := SegmentState{Segment: Segment{Closed: true}}
	sender := []LaneReport{{Binding: "none", Detail: "nothing is ready", Rate: 900, At: now}}
	closed := "its sending window is closed until 2026-11-21 08:00 UTC"
	for name, c := range map[string]struct {
		lanes    []LaneReport
		segments []SegmentState
		want     string
		finish   bool
	}{
		"its window is closed":           {sender, []SegmentState{skipped, segment(0, 0, 3*time.Hour)}, closed, false},
		"the first of two zones":         {sender, []SegmentState{segment(0, 0, 5*time.Hour), segment(4, 0, 3*time.Hour)}, closed, false},
		"and nobody is there":            {nil, []SegmentState{segment(0, 0, 3*time.Hour)}, closed + ", and nobody is there", false},
		"another zone is being sent":     {sender, []SegmentState{segment(0, 0, 3*time.Hour), segment(4, time.Second, 0)}, "it is being sent", true},
		"another zone is about to begin": {sender, []SegmentState{segment(0, 0, 3*time.Hour), segment(4, 0, -time.Second)}, "it is being sent", false},
		"rows wait for another try":      {sender, []SegmentState{segment(20, 0, 5*time.Second)}, "it is being sent", false},
	} {
		t.Run(name, func(t *testing.T) {
			w, err := Explain(t.Context(), waiting{c.lanes, c.segments}, Run{No: 1, Campaign: "spring", State: Running, Rows: 20}, now)
			if err != nil {
				t.Fatal(err)
			}
			if !strings.HasPrefix(w.Sentence, c.want) {
				t.Errorf("%q, want %q", w.Sentence, c.want)
			}
			if w.Finish.IsZero() == c.finish {
				t.Errorf("sent by %v", w.Finish)
			}
		})
	}
}

// Ten numbers of one campaign do not send its limit ten times over, and who is gone sends nothing.
func TestWhyCountsTheCampaignsOwnLimitOnceAndNobodyWhoIsGone(t *testing.T) {
	now := time.Date(2026, 11, 21, 5, 0, 0, 0, time.UTC)
	lane := func(connection string, rate float64, age time.Duration) LaneReport {
		return LaneReport{Connection: connection, Binding: "throughput", Rate: rate, At: now.Add(-age)}
	}
	run := Run{No: 1, Campaign: "spring", State: Running, Rows: 20}
	capped := run
	capped.Definition = []byte("name: spring\nconnections: [a, b]\ntemplate: {name: x, language: en}\nrecipients: {file: l.csv}\nlimits: {rate: 2}\n")
	for name, c := range map[string]struct {
		run   Run
		lanes []LaneReport
		takes time.Duration
		stale int
	}{
		"two numbers":              {run, []LaneReport{lane("a", 2, time.Second), lane("b", 2, 15*time.Second)}, 5 * time.Second, 0},
		"under the campaign's own": {capped, []LaneReport{lane("a", 2, 0), lane("b", 2, 0)}, 10 * time.Second, 0},
		"one of them is gone":      {run, []LaneReport{lane("a", 2, 0), lane("b", 2, 16*time.Second)}, 10 * time.Second, 1},
	} {
		w, err := Explain(t.Context(), waiting{c.lanes, []SegmentState{{Segment: Segment{Hi: 20}, LeaseUntil: now.Add(time.Second)}}}, c.run, now)
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
