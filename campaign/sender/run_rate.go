package sender

import (
	"context"
	"errors"
	"maps"
	"math"
	"time"

	"campaignd/campaign"
	"campaignd/throttle"
)

// The key limits.rate limits a run over all numbers and replicas. The sender asks for permissions
// when it holds slots of a number, so that it takes none for a slot that another replica gets
// (docs/limits.md#a-runs-own-rate).

// refusedWait is the wait after a run's own limit refused a message: two groups.
const refusedWait = 100 * time.Millisecond

// permissions are what a poster has in hand, by run. The zero value has none.
type permissions map[*run]permission

type permission struct {
	n     int
	until time.Time
}

// use takes one permission to post for the run at now. A run without a limit needs none.
func (h permissions) use(r *run, now time.Time) bool {
	if r.ownRate() <= 0 {
		return true
	}
	p := h[r]
	if p.n == 0 || !now.Before(p.until) {
		return false
	}
	h[r] = permission{p.n - 1, p.until}
	return true
}

// until is the last instant at which an attempt of the run, for which use has taken a permission,
// may be posted in a slot that may be so late.
func (h permissions) until(r *run, slot time.Time, late time.Duration) time.Time {
	last := slot.Add(late)
	if p, limited := h[r]; limited && r.ownRate() > 0 && p.until.Before(last) {
		return p.until
	}
	return last
}

// askOwnRate asks the limits of the runs that have ready attempts, and no permission in hand, for
// as many as the slots in hand can use. A run that gets fewer is refused for a while, and its slots
// go to other runs.
func (p *poster) askOwnRate(ctx context.Context, slots int, now time.Time) {
	maps.DeleteFunc(p.own, func(_ *run, h permission) bool { return h.n == 0 || !now.Before(h.until) })
	for _, one := range p.queue.asking(now, slots) {
		r, want := one.run, one.n
		if p.own[r].n > 0 {
			continue
		}
		granted, wait, err := p.ask(ctx, r, want)
		if err != nil {
			p.unavailable(ctx, err, now)
		}
		if granted < want {
			p.queue.refuse(r, now.Add(max(wait, refusedWait)))
		}
		p.own[r] = permission{granted, now.Add(throttle.AllowFor)}
	}
}

// ask asks the run's own limit for n permissions.
func (p *poster) ask(ctx context.Context, r *run, n int) (granted int, wait time.Duration, err error) {
	return p.e.limiter.Allow(ctx, "run:"+r.id, r.ownRate(), n)
}

// unavailable notes that the limiter failed.
func (p *poster) unavailable(ctx context.Context, err error, now time.Time) {
	changed := p.number.unasked(now, err)
	if changed && ctx.Err() == nil && !errors.Is(err, throttle.ErrUnavailable) { // once, not at each try
		p.e.o.Log.Error("the limiter refuses to grant slots: nothing is sent until it does", "connection", p.number.connection, "err", err)
	}
}

// mostQueued is how many attempts of a run with a rate limit may be queued for a number: what
// the limit allows in the limiter's horizon, and no more than of a run without a limit.
func (r *run) mostQueued(most int) int {
	return min(max(int(math.Ceil(r.ownRate()*throttle.Horizon.Seconds())), 1), most)
}

// wantsLimited reports whether a run with a rate limit has something to send, and at
// most half of the attempts that it may have are queued. Otherwise it joins the next group.
func (p *planner) wantsLimited(now time.Time, most int) (wants bool) {
	for _, r := range p.activeRuns() {
		if r.ownRate() <= 0 {
			continue
		}
		if p.queue.isRefused(r, now) {
			p.lanes.limit(r, campaign.Limit{By: campaign.ByRunRate, Detail: ownLimit(r.ownRate())})
		}
		wants = wants || 2*p.queue.capacity(r, most) >= r.mostQueued(most) && !p.waits.standsStill(r, now) && p.canSend(r, now)
	}
	return wants
}
