package sender

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"campaignd/campaign"
	"campaignd/campaign/file"
	"campaignd/campaign/plan"
)

// parkLedger is a ledger that notes which segments are parked and skipped.
type parkLedger struct {
	stubLedger
	parked  []time.Time // the wake times asked for
	windows []time.Duration
	skipped []campaign.SkipReason
	done    bool
	park    error
	skip    error
}

func (l *parkLedger) Park(_ context.Context, _ campaign.Lease, wake time.Time, ends func(time.Time) time.Time) (campaign.Parked, error) {
	l.parked, l.windows = append(l.parked, wake), append(l.windows, ends(time.Unix(1e9, 0)).Sub(time.Unix(1e9, 0)))
	return campaign.Parked{Done: l.done}, l.park
}

func (l *parkLedger) SkipQueued(_ context.Context, _ campaign.Lease, reason campaign.SkipReason) (int, error) {
	l.skipped = append(l.skipped, reason)
	return 4, l.skip
}

// A segment is kept while something of it is to be sent or answered, and given back with the time
// at which it is worth a look.
func TestASegmentIsGivenBackWhenNothingIsToBeSent(t *testing.T) {
	shut, err := plan.ParseWindow(file.Window{Hours: "09:00-18:00"})
	if err != nil {
		t.Fatal(err)
	}
	now := time.Date(2026, 1, 5, 8, 0, 0, 0, time.UTC)
	opens := now.Add(time.Hour)
	cancelled, over := campaign.RunCancelled, campaign.OverLimit
	type seg struct {
		mark                  int64
		pending               int64
		due                   time.Time
		lost, held, gone      bool // gone: its run is not active
		shut, skipped, queued bool
		skip                  *campaign.SkipReason
	}
	for _, tt := range []struct {
		name    string
		seg     seg
		kept    bool
		parked  []time.Time
		skipped []campaign.SkipReason
		results int // of attempts that were not posted
	}{
		{"deliveries are left", seg{}, true, nil, nil, 0},
		{"all is sent", seg{mark: 9}, false, []time.Time{{}}, nil, 0},
		{"an answer is awaited", seg{mark: 9, pending: 1}, true, nil, nil, 0},
		{"a retry is due in a second", seg{mark: 9, due: now.Add(time.Second)}, true, nil, nil, 0},
		{"a retry is due later", seg{mark: 9, due: now.Add(time.Second + 1)}, false, []time.Time{{}}, nil, 0},
		{"the run is held", seg{held: true}, false, []time.Time{now}, nil, 0},
		{"held with attempts queued", seg{held: true, queued: true}, true, nil, nil, 1},
		{"the run is not active", seg{gone: true}, false, []time.Time{now}, nil, 0},
		{"not active with attempts queued", seg{gone: true, queued: true}, true, nil, nil, 1},
		{"the window is shut", seg{shut: true}, false, []time.Time{opens}, nil, 0},
		{"shut with a retry due", seg{mark: 9, due: now, shut: true}, false, []time.Time{opens}, nil, 0},
		{"the lease is lost", seg{lost: true}, false, nil, nil, 0},
		{"lost with an answer awaited", seg{lost: true, pending: 1}, true, nil, nil, 0},
		{"lost with attempts queued", seg{lost: true, queued: true}, true, nil, nil, 1},
		{"cancelled", seg{skip: &cancelled}, false, []time.Time{{}}, []campaign.SkipReason{cancelled}, 0},
		{"cancelled with attempts queued", seg{skip: &cancelled, queued: true}, true, nil, []campaign.SkipReason{cancelled}, 1},
		{"over its budget, what was granted goes out", seg{skip: &over, queued: true}, true, nil, []campaign.SkipReason{over}, 0},
		{"over its budget, a retry is due later", seg{skip: &over, skipped: true, mark: 9, due: now.Add(time.Hour)}, false,
			[]time.Time{{}}, nil, 0},
		{"over its budget, a retry is due", seg{skip: &over, skipped: true, mark: 9, due: now}, true, nil, nil, 0},
		{"over its budget, shut with a retry", seg{skip: &over, skipped: true, mark: 9, due: now, shut: true}, false,
			[]time.Time{opens}, nil, 0},
		{"skipped before", seg{skip: &cancelled, skipped: true, mark: 9, pending: 1}, true, nil, nil, 0},
		{"a retry came in since", seg{skip: &cancelled, skipped: true, mark: 9, due: now.Add(time.Hour)}, false, []time.Time{{}},
			[]campaign.SkipReason{cancelled}, 0},
		{"skipped while the window is shut", seg{skip: &cancelled, shut: true}, false, []time.Time{{}}, []campaign.SkipReason{cancelled}, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			l := &parkLedger{}
			e, err := New(l, nil, nil, Options{Owner: "a"})
			if err != nil {
				t.Fatal(err)
			}
			w := newWorker(e, "conn_1")
			r := &run{no: 1, connections: []string{"conn_1"}, doubtWindow: 7 * time.Minute}
			if tt.seg.shut {
				r.window = shut
			}
			if tt.seg.skip != nil {
				r.skipRest(*tt.seg.skip)
			}
			r.paused.Store(tt.seg.held)
			if !tt.seg.gone {
				w.planner.setRuns([]*run{r})
			}
			s := newSegment(r, campaign.Lease{Segment: campaign.Segment{Hi: 9}, Mark: tt.seg.mark, Until: now.Add(time.Hour)}, nil)
			s.pending.Store(tt.seg.pending)
			s.lost.Store(tt.seg.lost)
			if s.skipped = tt.seg.skipped; !tt.seg.due.IsZero() {
				s.due(tt.seg.due)
			}
			other := newSegment(&run{}, campaign.Lease{}, nil)
			if tt.seg.queued {
				s.pending.Add(1)
				w.queue.push([]*attempt{{segment: s}, {segment: other}})
			}
			w.planner.lanes.begin()
			w.planner.claimer.claimedAt = now
			w.planner.claimer.segments = []*segment{s}
			if err := w.planner.claimer.giveBack(t.Context(), w.planner.activeRuns(), now); err != nil {
				t.Fatal(err)
			}
			if kept := len(w.planner.claimer.segments) == 1; kept != tt.kept || (w.renewer.owned.Load() != nil) == tt.kept {
				t.Errorf("kept: %v, told to the renewer: %v, want %v, %v", kept, w.renewer.owned.Load() != nil, tt.kept, !tt.kept)
			}
			if !slices.EqualFunc(l.parked, tt.parked, time.Time.Equal) || !slices.Equal(l.skipped, tt.skipped) {
				t.Errorf("parked until %v, skipped for %v, want %v, %v", l.parked, l.skipped, tt.parked, tt.skipped)
			}
			if w.planner.claimer.claimedAt.IsZero() != (len(tt.parked) > 0) {
				t.Errorf("the next claim is due at once: %v, want %v", w.planner.claimer.claimedAt.IsZero(), len(tt.parked) > 0)
			}
			for _, w := range l.windows {
				if w != 7*time.Minute {
					t.Errorf("parked with a doubt window of %v, want 7m", w)
				}
			}
			if n := len(e.rec.in); n != tt.results {
				t.Errorf("%d attempts were not posted, want %d", n, tt.results)
			}
			if skipped := w.number.counts.skipped.Load(); skipped != int64(4*len(tt.skipped)) {
				t.Errorf("%d counted as skipped, want %d", skipped, 4*len(tt.skipped))
			}
			if len(tt.skipped) > 0 && (!s.skipped || !s.exhausted() || s.nextDue.Load() != 0) {
				t.Errorf("skipped %v, exhausted %v, next due %d, want true, true, 0", s.skipped, s.exhausted(), s.nextDue.Load())
			}
			if _, limited := w.planner.lanes.limits[1]; limited != (tt.seg.shut && tt.seg.skip != &cancelled) {
				t.Errorf("limited by %v, want the window: %v", w.planner.lanes.limits, tt.seg.shut)
			}
		})
	}
}

// A segment that another owner has is forgotten when its last answer is written; any other fault
// ends the step.
func TestASegmentThatAnotherOwnerHasIsLost(t *testing.T) {
	for _, tt := range []struct {
		park, skip error
		lost       bool
		want       error
		gone       bool
	}{
		{nil, nil, false, nil, true},
		{campaign.ErrFenced, nil, true, nil, false},
		{nil, campaign.ErrFenced, true, nil, false},
		{errGone, nil, false, errGone, false},
		{nil, errGone, false, errGone, false},
	} {
		l := &parkLedger{park: tt.park, skip: tt.skip, done: true}
		e, err := New(l, nil, nil, Options{Owner: "a"})
		if err != nil {
			t.Fatal(err)
		}
		w := newWorker(e, "conn_1")
		r := &run{no: 1, connections: []string{"conn_1"}}
		if tt.skip != nil {
			r.skipRest(campaign.RunCancelled)
		}
		w.planner.setRuns([]*run{r})
		first, s := newSegment(r, campaign.Lease{Segment: campaign.Segment{Hi: 9}}, nil), newSegment(r, campaign.Lease{}, nil)
		first.pending.Add(1) // of this one answers are awaited
		first.skipped = true
		w.planner.claimer.segments = []*segment{first, s}
		if err := w.planner.claimer.giveBack(t.Context(), w.planner.activeRuns(), time.Now()); !errors.Is(err, tt.want) {
			t.Errorf("giveBack: %v, want %v", err, tt.want)
		}
		if gone := !slices.Contains(w.planner.claimer.segments, s); s.lost.Load() != tt.lost || gone != tt.gone ||
			!slices.Contains(w.planner.claimer.segments, first) {
			t.Errorf("with %v, %v: lost %v, gone %v, want %v, %v", tt.park, tt.skip, s.lost.Load(), gone, tt.lost, tt.gone)
		}
		if poked := len(e.poke) == 1; poked != tt.gone {
			t.Errorf("the engine is told that a segment is done: %v, want %v", poked, tt.gone)
		}
	}
}
