package sender

import (
	"fmt"
	"sync/atomic"
	"time"

	"campaignd/campaign"
	"campaignd/campaign/file"
	"campaignd/campaign/plan"
	"campaignd/internal/clock"
)

// run is a campaign.Run prepared for sending.
type run struct {
	no          campaign.RunNo
	id          string
	render      *file.Renderer
	window      *plan.Window   // nil: always open
	zone        *time.Location // of recipients whose own is not known
	connections []string
	move        bool // limits.move
	template    string
	language    string
	assetUntil  time.Time // with which assets were read
	definition  *file.Definition
	policy      campaign.OnUncertain
	cap         *campaign.FrequencyLimit // policies.frequency_cap; nil: none
	leaveOut    bool                     // campaign.Run.LeaveOut
	doubtWindow time.Duration
	notAfter    time.Duration
	started     time.Time

	assets   atomic.Pointer[[]campaign.Asset]    // the uploaded header of each connection
	shared   atomic.Pointer[terms]               // as of the last look at the runs
	skipping atomic.Pointer[campaign.SkipReason] // what is queued becomes skipped for this reason
	paused   atomic.Bool                         // by refusals, or the ledger said so; no attempt of it is posted any more
	breaker  breaker
}

// compile prepares a run once.
func compile(s campaign.Run) (*run, error) {
	d, err := file.ParseStored(s.ID(), s.Definition)
	if err != nil {
		return nil, fmt.Errorf("the stored campaign of %s: %w", s.ID(), err)
	}
	render, err := d.Compile(s.Header)
	if err != nil {
		return nil, fmt.Errorf("the stored campaign of %s: %w", s.ID(), err)
	}
	r := &run{
		no: s.No, id: s.ID(), render: render, connections: d.Connections, move: d.Limits.Move,
		template: s.Template, language: s.Language,
		definition: d, policy: d.Policies.OnUncertain, cap: d.Policies.FrequencyCap, leaveOut: s.LeaveOut,
		doubtWindow: time.Duration(d.Policies.DoubtWindow), notAfter: time.Duration(d.Limits.NotAfter),
		started: s.CreatedAt, zone: time.UTC,
	}
	if d.Schedule != nil {
		if zone, err := plan.Zone(d.Schedule.Timezone); err == nil { // else UTC: a fallback has none of its own
			r.zone = zone
		}
	}
	if d.Window != nil {
		if r.window, err = plan.ParseWindow(*d.Window); err != nil {
			return nil, fmt.Errorf("the window of %s: %w", s.ID(), err)
		}
	}
	return r, nil
}

// observe takes over what may change while a run is active. It reports whether its planners have
// something to do because of that.
func (r *run) observe(expiry clock.Source) (changed bool) {
	changed = r.paused.Swap(false) // it is Ready or Running in the ledger: an operator resumed it
	if now, known := expiry.Now(); known && r.expired(now) {
		changed = changed || r.skipping.Load() == nil
		r.skipRest(campaign.Expired)
	}
	return changed
}

// asset is the assetId of the header for a connection; "" when no header was uploaded.
func (r *run) asset(connection string) (id string) {
	if all := r.assets.Load(); all != nil {
		for _, a := range *all {
			if a.Connection == connection {
				return a.ID
			}
			if a.Connection == "" {
				id = a.ID
			}
		}
	}
	return id
}

func (r *run) expired(now time.Time) bool {
	return r.notAfter > 0 && now.Sub(r.started) >= r.notAfter
}

func (r *run) skipRest(reason campaign.SkipReason) { r.skipping.Store(&reason) }

// over reports whether granted attempts must not be posted any more: the run was cancelled, or its
// time is up. Attempts that were granted within max_messages still go out.
func (r *run) over() bool {
	reason := r.skipping.Load()
	return reason != nil && *reason != campaign.OverLimit
}

// paced is the rate of the run over a number of a rate: no more than its own limit.
func (r *run) paced(rate float64) float64 {
	if own := r.ownRate(); own > 0 {
		return min(own, rate)
	}
	return rate
}
