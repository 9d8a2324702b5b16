package plan

import (
	"math"
	"slices"

	"campaignd/campaign"
)

// everyLimit are what limits a forecast, without campaign.ByNone. The first of those that limit
// equally long is named.
var everyLimit = []campaign.LimitedBy{campaign.ByThroughput, campaign.ByRunRate, campaign.ByShare, campaign.ByTier, campaign.ByAllowance,
	campaign.ByRamp, campaign.ByWindow, campaign.ByHold, campaign.ByPause}

// ofCount reports whether a limit counts messages or people, and can be used up.
func ofCount(by campaign.LimitedBy) bool {
	return slices.Contains([]campaign.LimitedBy{campaign.ByTier, campaign.ByAllowance, campaign.ByRamp}, by)
}

// restrict lowers the flows to what tiers, allowances and ramps permit, notes what limits each run,
// and tells until of the times at which that changes.
func (f *fluid) restrict(until func(at float64)) {
	for i := range f.runs {
		f.runs[i].by = f.unrestricted(&f.runs[i])
	}
	for i := range f.budgets {
		f.stop(i)
	}
	for i := range f.tiers {
		f.occupy(i, until)
	}
	for i := range f.budgets { // with the rates that all limits leave
		f.spend(i, until)
	}
}

// unrestricted is what limits a run as far as windows, holds and the rates of numbers go.
func (f *fluid) unrestricted(r *flowRun) campaign.LimitedBy {
	switch {
	case r.rows <= least:
		return campaign.ByNone
	case f.t < r.from:
		if r.run.Waits != "" {
			return r.run.Waits
		}
		return campaign.ByNone
	case !r.open && r.awaits && r.canary <= least:
		return campaign.ByPause
	case !r.open:
		return campaign.ByWindow
	}
	var flow, pace float64
	for k, b := range r.current {
		if b >= 0 {
			flow += r.flow[k]
			pace += f.numbers[r.numbers[k]].pace / f.post
		}
	}
	own := f.own(r)
	switch {
	case pace == 0: // every number is held, or begun segments of others are all that is left
		return campaign.ByHold
	case r.run.Rate > 0 && flow >= own*(1-1e-9) && own < pace*(1-1e-9):
		return campaign.ByRunRate
	case r.behind:
		return campaign.ByShare
	}
	return campaign.ByThroughput
}

// uses reports whether a number uses a budget.
func (n *flowNumber) uses(budget int) bool { return n.allowance == budget || n.ramp == budget }

// stop ends the flows that a budget no longer permits.
func (f *fluid) stop(i int) {
	b := &f.budgets[i]
	f.over(func(n *flowNumber) bool { return n.uses(i) }, func(r *flowRun, k int) {
		if b.of(r.run.Marketing) > least {
			return
		}
		r.flow[k], r.by = 0, campaign.ByRamp
		if f.numbers[r.numbers[k]].allowance == i {
			r.by = campaign.ByAllowance
		}
	})
}

// spend tells when a budget is used up at the rates that flow.
func (f *fluid) spend(i int, until func(at float64)) {
	b := &f.budgets[i]
	var all, marketing float64 // messages per second
	f.over(func(n *flowNumber) bool { return n.uses(i) }, func(r *flowRun, k int) {
		all += r.flow[k] * f.kept
		if r.run.Marketing {
			marketing += r.flow[k] * f.kept
		}
	})
	if all > 0 {
		until(f.t + math.Max(b.left/all, tiny))
	}
	if marketing > 0 {
		until(f.t + math.Max(b.of(true)/all, tiny))
	}
}

// occupy lowers the flows over the numbers of a tier to what its free places permit.
func (f *fluid) occupy(i int, until func(at float64)) {
	p := &f.tiers[i]
	if math.IsInf(p.limit, 1) {
		return
	}
	free, changes := p.free(f.t)
	var rate float64
	over := func(n *flowNumber) bool { return n.tier == i }
	f.over(over, func(r *flowRun, k int) { rate += r.flow[k] * f.kept })
	if rate == 0 && free == 0 {
		if p.used > least {
			until(changes)
		}
		return
	}
	until(changes)
	switch {
	case p.full() && rate > free:
		part := free / rate
		if p.used > p.limit+1e-3 { // the tier was lowered: places become free first
			part = 0
			until(f.t + (p.used-p.limit)/math.Max(free, 1e-12))
		}
		f.over(over, func(r *flowRun, k int) {
			if r.flow[k] > 0 {
				r.flow[k] *= part
				r.by = campaign.ByTier
			}
		})
	case rate > free:
		until(f.t + math.Max((p.limit-p.used)/(rate-free), tiny))
	}
}

// over calls do for every run and each of its numbers that match and are sending.
func (f *fluid) over(match func(*flowNumber) bool, do func(r *flowRun, k int)) {
	for i := range f.runs {
		r := &f.runs[i]
		for k, b := range r.current {
			if b >= 0 && match(&f.numbers[r.numbers[k]]) {
				do(r, k)
			}
		}
	}
}
