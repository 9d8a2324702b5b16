package sender

import (
	"context"
	"time"

	"campaignd/campaign"
	"campaignd/campaign/reception"
)

// limited gives the run a limit of its own.
func (r *run) limited(rate float64) *run {
	r.shared.Store(&terms{RunLimits: campaign.RunLimits{Rate: rate}})
	return r
}

// stubLedger is embedded by the ledgers of tests. It holds nothing, and gives every job lease.
type stubLedger struct{ Ledger }

func (stubLedger) Holds(context.Context, bool) ([]campaign.Hold, error) { return nil, nil }

func (stubLedger) AddHolds(_ context.Context, hs []campaign.Hold) ([]campaign.Hold, error) {
	return hs, nil
}

func (stubLedger) LiftHolds(context.Context, []campaign.Lift) ([]campaign.Hold, error) {
	return nil, nil
}

func (stubLedger) AcquireJob(_ context.Context, name, owner string, d time.Duration) (campaign.JobLease, bool, error) {
	return campaign.JobLease{Name: name, Owner: owner, Epoch: 1, Until: time.Now().Add(d)}, true, nil
}

func (stubLedger) ReleaseJob(context.Context, campaign.JobLease) error { return nil }

// Listened says that webhooks were always taken.
func (stubLedger) Listened(context.Context, time.Time) ([]reception.Span, error) {
	return []reception.Span{{Since: time.Unix(0, 0), Until: time.Now()}}, nil
}

func (stubLedger) LostTimes(context.Context) ([]reception.LostTime, error) { return nil, nil }

func (stubLedger) FreeSegments(_ context.Context, runs []campaign.RunNo) (free []campaign.FreeSegment, _ error) {
	for _, no := range runs {
		free = append(free, campaign.FreeSegment{Run: no})
	}
	return free, nil
}

func (stubLedger) LiveLanes(context.Context, time.Duration, string) ([]campaign.LaneReport, error) {
	return nil, nil
}

func (stubLedger) Backlog(context.Context, campaign.RunNo) (map[string]int64, error) { return nil, nil }
