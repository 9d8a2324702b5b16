package sender

import (
	"testing"
	"time"

	"campaignd/campaign"
)

// BenchmarkShares divides a number among 50 runs and fills a group of 256.
func BenchmarkShares(b *testing.B) {
	e, err := New(stubLedger{}, nil, nil, Options{Owner: "a", Pace: func(string) float64 { return 902.5 }})
	if err != nil {
		b.Fatal(err)
	}
	p := newWorker(e, "conn_1").planner
	var runs []*run
	for i := range 50 {
		r := &run{no: campaign.RunNo(i + 1), connections: []string{"conn_1"}}
		t := terms{RunLimits: campaign.RunLimits{Weight: 1 + i%8, Class: []campaign.Class{campaign.ClassBulk, campaign.ClassTransactional}[i%2]}}
		r.shared.Store(&t)
		runs = append(runs, r)
		p.claimer.segments = append(p.claimer.segments, newSegment(r, campaign.Lease{Segment: campaign.Segment{Run: r.no, Hi: 4096},
			Until: time.Now().Add(time.Hour)}, nil))
	}
	p.setRuns(runs)
	for b.Loop() {
		flows := p.divide(time.Now(), 902.5)
		p.fair.choose(flows, time.Now(), 256, 512)
	}
}
