package sender

import (
	"reflect"
	"testing"
	"time"

	"campaignd/campaign"
)

// The numbers of a process read the free segments together, once a tick, and a claim names only the
// runs that have one for its number. A run that is newer than the reading counts as free.
func TestNumbersShareOneReadingOfFreeSegments(t *testing.T) {
	l := &claimLedger{free: []campaign.FreeSegment{{Run: 2}, {Run: 3, Connection: "conn_1", Begun: true}, {Run: 4, Connection: "conn_3"}}}
	w, runs, _ := claiming(t, l, 5)
	e := w.planner.e
	for _, r := range runs[:4] {
		e.runs[r.no] = r
	}
	other := newWorker(e, "conn_2")
	now, tick := time.Now(), e.o.Tick
	for _, tt := range []struct {
		name  string
		w     *worker
		after time.Duration
		free  bool // a segment was given back before
		asks  int  // for free segments, so far
		claim []campaign.RunNo
	}{
		{"the first", w, 0, false, 1, []campaign.RunNo{2, 3, 5}},
		{"another number within a tick", other, tick - 1, false, 1, []campaign.RunNo{2, 5}},
		{"a tick later", w, tick, false, 2, []campaign.RunNo{2, 3, 5}},
		{"a segment was given back", other, 2*tick - 1, true, 3, []campaign.RunNo{2, 5}},
	} {
		if tt.free {
			e.free.changed()
		}
		l.asked = nil
		tt.w.planner.mu.Lock()
		tt.w.planner.runs = runs
		tt.w.planner.mu.Unlock()
		if err := tt.w.claim(t.Context(), now.Add(tt.after), 72); err != nil {
			t.Fatal(err)
		}
		if len(l.looks) != tt.asks || len(l.asked) != 1 || !reflect.DeepEqual(l.asked[0].Runs, tt.claim) {
			t.Errorf("%s: %d readings, claims %+v, want %d, one of %v", tt.name, len(l.looks), l.asked, tt.asks, tt.claim)
		}
	}
	l.free, l.asked = nil, nil
	delete(e.runs, 4)
	for _, w := range []*worker{w, other} {
		w.planner.runs = runs[:3]
		if err := w.claim(t.Context(), now.Add(4*tick), 72); err != nil || len(l.asked) != 0 || len(l.looks) != 4 {
			t.Errorf("with nothing free: %v, claims %+v after %d readings, want nil, none, 4", err, l.asked, len(l.looks))
		}
	}
	l.freeErr = errGone
	if err := w.claim(t.Context(), now.Add(5*tick), 72); err == nil || err.Error() != "read free segments: connection refused" {
		t.Errorf("the ledger is away: %v, want read free segments: %v", err, errGone)
	}
}
