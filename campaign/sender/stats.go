package sender

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"sync/atomic"
	"time"

	"campaignd/campaign"
)

// Stats are the counters of one connection since the engine started.
type Stats struct {
	Connection string
	Rate       float64 // pace now, messages per second
	InFlight   int
	Posted, Accepted, Refused, Deferred, Doubts,
	Skipped, Recovered, Forfeited, Throttled, NoSlot int64
	Latency time.Duration // smoothed time of a POST
	Lanes   []campaign.LaneReport
}

type counts struct {
	posted, accepted, refused, deferred, doubts,
	skipped, recovered, forfeited, throttled, noSlot atomic.Int64
}

func (c *counts) note(r campaign.Result) {
	switch r.Kind {
	case campaign.ResultAccepted:
		c.accepted.Add(1)
	case campaign.ResultRefused:
		c.refused.Add(1)
	case campaign.ResultDeferred:
		c.deferred.Add(1)
	case campaign.ResultDoubt:
		c.doubts.Add(1)
	}
}

// latency is an exponentially smoothed duration.
type latency struct{ ns atomic.Int64 }

func (l *latency) add(d time.Duration) {
	old := l.ns.Load()
	if old == 0 {
		l.ns.Store(int64(d))
		return
	}
	l.ns.Store(old + (int64(d)-old)/16) // a lost update under concurrency is only a sample less
}

// binding is what a lane waits for.
type binding struct{ limit, detail string }

// bind notes what binds a run's lane at this step of the planner.
func (p *pacer) bind(r *run, limit, detail string) { p.binding[r.no] = binding{limit, detail} }

// stats reads the counters; safe from any goroutine.
func (p *pacer) stats() Stats {
	now := time.Now()
	rate := p.pace()
	held, why := p.heldFor(now)
	s := Stats{
		Connection: p.connection, Rate: rate, InFlight: len(p.inFlight), Latency: time.Duration(p.latency.ns.Load()),
		Posted: p.counts.posted.Load(), Accepted: p.counts.accepted.Load(), Refused: p.counts.refused.Load(),
		Deferred: p.counts.deferred.Load(), Doubts: p.counts.doubts.Load(), Skipped: p.counts.skipped.Load(),
		Recovered: p.counts.recovered.Load(), Forfeited: p.counts.forfeited.Load(), Throttled: p.counts.throttled.Load(),
		NoSlot: p.counts.noSlot.Load(),
	}
	p.mu.Lock()
	bound, busy, noSlot := p.bound, p.busy, p.noSlot
	p.mu.Unlock()
	for _, r := range p.activeRuns() {
		l := campaign.LaneReport{Run: r.no, Connection: p.connection, Rate: rate, At: now, LimitedBy: "throughput", Detail: fmt.Sprintf("it sends at its pace of %.4g messages per second", rate)}
		if r.rate > 0 && r.rate < rate {
			l.Rate, l.LimitedBy, l.Detail = r.rate, "cap", ownLimit(r.rate)
		}
		b, bindsNow := bound[r.no]
		switch {
		case held > 0:
			l.Rate, l.LimitedBy, l.Detail = 0, why.limit, fmt.Sprintf("%s; next try in %.0fs", why.detail, math.Ceil(held.Seconds()))
		case now.Sub(noSlot.at) <= refusedFor:
			l.Rate, l.LimitedBy, l.Detail = 0, "limiter", noSlot.why
		case bindsNow:
			l.LimitedBy, l.Detail = b.limit, b.detail
		case len(p.inFlight) == cap(p.inFlight):
			l.LimitedBy, l.Detail = "in_flight", fmt.Sprintf("%d requests wait for an answer (%s each)", len(p.inFlight), s.Latency.Round(time.Millisecond))
		case p.queue.empty() && !busy[r.no]: // between two groups the queue is empty too
			l.LimitedBy, l.Detail = "none", "nothing of this run is ready here: the rest is done, with another sender, or waits for a retry or doubt"
		}
		s.Lanes = append(s.Lanes, l)
	}
	return s
}

func ownLimit(rate float64) string {
	return fmt.Sprintf("the campaign's own limit of %g messages per second", rate)
}

func sortStats(s []Stats) {
	slices.SortFunc(s, func(a, b Stats) int { return cmp.Compare(a.Connection, b.Connection) })
}

// Stats are the counters of each connection since the start, ordered by connection.
func (e *Engine) Stats() []Stats {
	e.mu.Lock()
	defer e.mu.Unlock()
	out := make([]Stats, 0, len(e.pacers))
	for _, p := range e.pacers {
		out = append(out, p.stats())
	}
	sortStats(out)
	return out
}

// report tells the ledger what binds each lane, for `why` in another process.
func (e *Engine) report(ctx context.Context) {
	var all []campaign.LaneReport
	for _, s := range e.Stats() {
		all = append(all, s.Lanes...)
	}
	if err := e.ledger.ReportLanes(ctx, e.o.Owner, all); err != nil && ctx.Err() == nil {
		e.o.Log.Debug("lane report not written", "err", err)
	}
}

// stopped tells the ledger that nobody serves the lanes of this engine any more.
func (e *Engine) stopped(ctx context.Context) {
	var all []campaign.LaneReport
	for _, s := range e.Stats() {
		for _, l := range s.Lanes {
			l.Rate, l.LimitedBy, l.Detail = 0, campaign.LaneStopped, "its sender has ended"
			all = append(all, l)
		}
	}
	if len(all) == 0 {
		return
	}
	// The engine's context has ended. 500ms: a stopped process hands over within 2 s.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 500*time.Millisecond)
	defer cancel()
	if err := e.ledger.ReportLanes(ctx, e.o.Owner, all); err != nil {
		e.o.Log.Debug("lane report not written", "err", err)
	}
}
