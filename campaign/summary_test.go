package campaign_test

import (
	"testing"
	"time"

	"campaignd/campaign"

	"github.com/google/go-cmp/cmp"
)

func TestAPercentileLiesWithinItsBucket(t *testing.T) {
	t.Parallel()
	s := campaign.Summary{Latency: []campaign.LatencyBucket{
		{From: 100 * time.Millisecond, To: 110 * time.Millisecond, N: 50},
		{From: time.Second, To: 1100 * time.Millisecond, N: 49},
		{From: time.Minute, To: 66 * time.Second, N: 1},
	}}
	for p, want := range map[float64]int{0.01: 0, 0.5: 0, 0.51: 1, 0.99: 1, 1: 2} {
		if got, b := s.Percentile(p), s.Latency[want]; got < b.From || got >= b.To {
			t.Errorf("percentile %v is %s; want %s to %s", p, got, b.From, b.To)
		}
	}
	if got := (&campaign.Summary{}).Percentile(0.5); got != 0 {
		t.Errorf("percentile of nothing is %s; want 0s", got)
	}
}

func TestCoarserStepsKeepTheCounts(t *testing.T) {
	t.Parallel()
	noon := time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC)
	s := campaign.Summary{Step: time.Minute, Series: []campaign.SeriesPoint{
		{At: noon.Add(-time.Minute), Accepted: 1},
		{At: noon, Accepted: 2, Read: 1},
		{At: noon.Add(4 * time.Minute), Failed: 3, Delivered: 4},
	}}
	want := []campaign.SeriesPoint{{At: noon.Add(-5 * time.Minute), Accepted: 1}, {At: noon, Accepted: 2, Read: 1, Failed: 3, Delivered: 4}}
	if d := cmp.Diff(want, s.Coarser(5*time.Minute)); d != "" {
		t.Errorf("steps of 5 minutes (-want +got):\n%s", d)
	}
	if d := cmp.Diff(s.Series, s.Coarser(time.Second)); d != "" {
		t.Errorf("shorter steps (-want +got):\n%s", d)
	}
}
