package sender

import (
	"testing"
	"time"

	"campaignd/campaign"
	"campaignd/campaign/file"
	"campaignd/campaign/plan"
)

// A window closes one second early, and a lease is used until its margin.
func TestASegmentEndsBeforeItsLeaseAndItsWindow(t *testing.T) {
	window, err := plan.ParseWindow(file.Window{Hours: "09:00-18:00"})
	if err != nil {
		t.Fatal(err)
	}
	closes := time.Date(2026, 1, 5, 18, 0, 0, 0, time.UTC)
	for before, want := range map[time.Duration]bool{time.Minute: true, time.Second + 1: true, time.Second: false, 0: false} {
		s := newSegment(&run{window: window}, campaign.Lease{Until: closes.Add(time.Hour)}, nil)
		opens := s.closedUntil(closes.Add(-before))
		if got := opens.IsZero(); got != want {
			t.Errorf("%v before it closes the window is open: %v, want %v", before, got, want)
		}
	}
	always, err := plan.ParseWindow(file.Window{Hours: "00:00-24:00"})
	if err != nil {
		t.Fatal(err)
	}
	open := newSegment(&run{window: always}, campaign.Lease{Until: closes}, nil)
	if opens := open.closedUntil(closes); !opens.IsZero() || open.closes.Load() != 0 {
		t.Errorf("all day: opens %v, closes %d, want it open for good", opens, open.closes.Load())
	}
	s := newSegment(&run{}, campaign.Lease{Until: closes}, nil)
	for before, want := range map[time.Duration]bool{3*time.Second + 1: true, 3 * time.Second: false} {
		if got := s.mayPost(closes.Add(-before), 3*time.Second); got != want {
			t.Errorf("%v before its lease ends it may be posted: %v, want %v", before, got, want)
		}
	}
	s.due(closes)
	for before, want := range map[time.Duration]bool{time.Second + 1: false, time.Second: true, 0: true} {
		if got := s.dueSoon(closes.Add(-before)); got != want {
			t.Errorf("%v before it is due it is due soon: %v, want %v", before, got, want)
		}
	}
}

// The time of a run ends its segments like a window, and an intent names the earlier of the two.
func TestAnExpiredRunPostsNothing(t *testing.T) {
	window, err := plan.ParseWindow(file.Window{Hours: "09:00-18:00"})
	if err != nil {
		t.Fatal(err)
	}
	launched := time.Date(2026, 1, 5, 9, 0, 0, 0, time.UTC)
	for after, ends := range map[time.Duration]time.Duration{0: 9 * time.Hour, time.Hour: time.Hour, 12 * time.Hour: 9 * time.Hour} {
		s := newSegment(&run{window: window, notAfter: after, started: launched}, campaign.Lease{Until: launched.Add(24 * time.Hour)}, nil)
		s.closedUntil(launched)
		if got, want := s.ends(), launched.Add(ends); !got.Equal(want) {
			t.Errorf("not_after %v: an intent is for before %s, want %s", after, got.UTC(), want)
		}
		for before, want := range map[time.Duration]bool{time.Millisecond: true, 0: false} {
			if got := s.mayPost(launched.Add(ends-before), time.Second); got != want {
				t.Errorf("not_after %v: %v before the end it may be posted: %v, want %v", after, before, got, want)
			}
		}
	}
	forever := newSegment(&run{}, campaign.Lease{Until: launched}, nil)
	if got := forever.ends(); !got.IsZero() {
		t.Errorf("without a window and not_after: ends at %s, want never", got)
	}
}

// Only the granted rows of an intent are posted; the others keep their place.
func TestOnlyWhatIsGrantedIsPosted(t *testing.T) {
	w, s, _ := answering(t)
	d := draft{seg: s.segment, rows: []campaign.Delivery{{Seq: 0}, {Seq: 1}, {Seq: 2}}}
	s.segment.buf = d.rows
	attempts := w.planner.admit(d, campaign.Granted{To: 2}, time.Now())
	if len(attempts) != 2 || s.segment.lease.Mark != 2 || len(s.segment.buf) != 1 || s.segment.pending.Load() != 2 {
		t.Errorf("%d attempts, mark %d, %d read ahead, %d pending, want 2, 2, 1, 2", len(attempts), s.segment.lease.Mark, len(s.segment.buf),
			s.segment.pending.Load())
	}
}

// A sixteenth of each new time counts.
func TestLatencyIsSmoothed(t *testing.T) {
	var l latency
	for _, tt := range []struct{ add, want time.Duration }{{160, 160}, {320, 170}, {10, 160}} {
		if l.add(tt.add); time.Duration(l.ns.Load()) != tt.want {
			t.Errorf("after %d the latency is %d, want %d", tt.add, l.ns.Load(), tt.want)
		}
	}
}
