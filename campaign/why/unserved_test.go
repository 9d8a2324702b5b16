package why

import (
	"testing"
	"time"

	"campaignd/campaign"
)

func TestARunWithoutASenderIsFound(t *testing.T) {
	now := time.Now()
	due := campaign.SegmentState{Segment: campaign.Segment{Hi: 5}}
	with := func(change func(*campaign.SegmentState)) []campaign.SegmentState {
		s := due
		change(&s)
		return []campaign.SegmentState{{Done: true}, s}
	}
	lane := func(connection string, by campaign.LimitedBy, age time.Duration) campaign.LaneReport {
		return campaign.LaneReport{Connection: connection, LimitedBy: by, At: now.Add(-age)}
	}
	running := campaign.Run{State: campaign.Running, Wanted: campaign.WantRun}
	for name, tt := range map[string]struct {
		run      campaign.Run
		lanes    []campaign.LaneReport
		segments []campaign.SegmentState
		want     bool
	}{
		"no sender has begun":  {running, nil, []campaign.SegmentState{due}, true},
		"ready":                {campaign.Run{State: campaign.Ready, Wanted: campaign.WantRun}, nil, []campaign.SegmentState{due}, true},
		"its sender has ended": {running, []campaign.LaneReport{lane("a", campaign.ByStopped, 0)}, []campaign.SegmentState{due}, true},
		"its sender died": {running, []campaign.LaneReport{lane("a", campaign.ByThroughput, time.Minute)}, []campaign.SegmentState{due},
			true},
		"a sender": {running, []campaign.LaneReport{lane("a", campaign.ByHold, 0)}, []campaign.SegmentState{due}, false},
		"of another number alone": {running, []campaign.LaneReport{lane("a", campaign.ByThroughput, 0)},
			with(func(s *campaign.SegmentState) { s.Bound = "b" }), true},
		"of its number": {running, []campaign.LaneReport{lane("b", campaign.ByThroughput, 0)},
			with(func(s *campaign.SegmentState) { s.Bound = "b" }), false},
		"paused":           {campaign.Run{State: campaign.Paused, Wanted: campaign.WantRun}, nil, []campaign.SegmentState{due}, false},
		"to be paused":     {campaign.Run{State: campaign.Running, Wanted: campaign.WantPause}, nil, []campaign.SegmentState{due}, false},
		"waits":            {running, nil, with(func(s *campaign.SegmentState) { s.WakeAt = now.Add(time.Minute) }), false},
		"leased":           {running, nil, with(func(s *campaign.SegmentState) { s.LeaseUntil = now.Add(time.Minute) }), false},
		"lease is over":    {running, nil, with(func(s *campaign.SegmentState) { s.LeaseUntil = now.Add(-time.Minute) }), true},
		"after the canary": {running, nil, with(func(s *campaign.SegmentState) { s.AfterCanary = true }), false},
		"closed":           {running, nil, with(func(s *campaign.SegmentState) { s.Closed = true }), false},
	} {
		got, err := Unserved(t.Context(), &seen{segments: tt.segments, lanes: tt.lanes}, tt.run, now)
		if err != nil || got != tt.want {
			t.Errorf("%s: got unserved %v (%v), want %v", name, got, err, tt.want)
		}
	}
	fault := &seen{fault: campaign.ErrNoRun}
	if got, err := Unserved(t.Context(), fault, running, now); err == nil {
		t.Errorf("a ledger that fails: got unserved %v, want an error", got)
	}
}
