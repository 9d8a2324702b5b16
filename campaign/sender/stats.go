package sender

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	"campaignd/campaign"
	"campaignd/campaign/wording"
	"campaignd/throttle/throughput"
)

// Stats are the counters of one connection since the engine started.
type Stats struct {
	Connection string
	Rate       float64             // pace now, messages per second
	Kept       *throughput.Learned // what is kept back of the limit; nil: the pace is not learned
	InFlight   int
	Idle       time.Duration // since the last POST, or since the connection was taken up
	Posted, Accepted, Refused, Deferred, Doubts,
	Skipped, Recovered, Forfeited, Throttled, NoSlot int64
	Latency time.Duration // smoothed time of a POST
	Lanes   []campaign.LaneReport
}

// stats reads the counters; safe from any goroutine.
func (w *worker) stats() Stats {
	n, c := w.number, &w.number.counts
	s := Stats{
		Connection: n.connection, Rate: n.pace(), InFlight: int(w.poster.inFlight.n.Load()), Latency: time.Duration(n.latency.ns.Load()),
		Posted: c.posted.Load(), Accepted: c.accepted.Load(), Refused: c.refused.Load(),
		Deferred: c.deferred.Load(), Doubts: c.doubts.Load(), Skipped: c.skipped.Load(),
		Recovered: c.recovered.Load(), Forfeited: c.forfeited.Load(), Throttled: c.throttled.Load(),
		NoSlot: c.noSlot.Load(), Kept: n.learned.Load(), Idle: time.Since(time.Unix(0, c.last.Load())),
	}
	for _, r := range w.planner.activeRuns() {
		s.Lanes = append(s.Lanes, w.lane(r, s))
	}
	return s
}

// lane says what limits a run over this connection: the first of the causes below that holds.
func (w *worker) lane(r *run, s Stats) campaign.LaneReport {
	now := time.Now()
	l := campaign.LaneReport{Run: r.no, Connection: s.Connection, Rate: s.Rate, At: now}
	last := w.planner.lanes.of(r) // at the planner's last step
	rest, why := w.number.rests(now)
	failure := w.number.limiterFailure(now)
	hold, held := w.planner.waits.heldBy(r, now)
	state, breaker := w.planner.e.circuit(s.Connection, now)
	l.Wants = last.share.runs > 0
	if last.share.runs > 1 {
		s.Rate = last.share.rate
	}
	switch {
	case held:
		l.Rate, l.LimitedBy, l.Detail = 0, campaign.ByHold, wording.Hold(hold, now)
	case state == halfOpen:
		l.Rate, l.LimitedBy, l.Detail = 0, campaign.ByHold, wording.Hold(breaker, now)
	case rest > 0:
		l.Rate, l.LimitedBy, l.Detail = 0, why.By, fmt.Sprintf("%s; next try in %.0fs", why.Detail, math.Ceil(rest.Seconds()))
	case failure != "":
		l.Rate, l.LimitedBy, l.Detail = 0, campaign.ByLimiter, failure
	case last.limited.By != "":
		l.Rate, l.LimitedBy, l.Detail, l.Until = r.paced(s.Rate), last.limited.By, last.limited.Detail, last.limited.Until
	case w.poster.full():
		l.Rate, l.LimitedBy = r.paced(s.Rate), campaign.ByInFlight
		l.Detail = fmt.Sprintf("%d requests wait for an answer (%s each)", s.InFlight, s.Latency.Round(time.Millisecond))
	case w.queue.empty() && !last.works: // between two groups the queue is empty too
		l.Rate, l.LimitedBy = r.paced(s.Rate), campaign.ByNone
		l.Detail = "nothing of this run is ready here: the rest is done, with another sender, or waits for its window, a retry or a doubt"
	// The share of a run that is slowed by its own limit equals that limit. A lower share has another
	// cause.
	case r.ownRate() > 0 && r.ownRate() <= s.Rate && r.ownRate() < l.Rate:
		l.Rate, l.LimitedBy, l.Detail = r.ownRate(), campaign.ByRunRate, ownLimit(r.ownRate())
	case last.share.runs > 1:
		l.Rate, l.LimitedBy = last.share.rate, campaign.ByThroughput
		l.Detail = fmt.Sprintf("%d runs share this number (%.4g messages per second); this run gets %.4g",
			last.share.runs, w.number.pace(), last.share.rate)
	default:
		l.LimitedBy, l.Detail = campaign.ByThroughput, "it sends at its pace of "+perSecond(s.Rate)
		if s.Kept != nil {
			l.Detail += "; " + s.Kept.String()
		}
	}
	return l
}

func ownLimit(rate float64) string { return "the campaign's own limit of " + perSecond(rate) }

func perSecond(rate float64) string {
	if rate == 1 {
		return "1 message per second"
	}
	return fmt.Sprintf("%.6g messages per second", rate)
}

func sortStats(s []Stats) {
	slices.SortFunc(s, func(a, b Stats) int { return cmp.Compare(a.Connection, b.Connection) })
}

// Stats are the counters of each connection since the start, ordered by connection.
func (e *Engine) Stats() []Stats {
	e.mu.Lock()
	defer e.mu.Unlock()
	out := make([]Stats, 0, len(e.workers))
	for _, w := range e.workers {
		out = append(out, w.stats())
	}
	sortStats(out)
	return out
}

// LedgerLag is how long the results that are being written wait for the ledger; 0 while none are.
func (e *Engine) LedgerLag() time.Duration {
	since := e.rec.since.Load()
	if since == 0 {
		return 0
	}
	return max(0, time.Since(time.Unix(0, since)))
}

// report tells the ledger what limits each lane, for `why` in another process.
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
			l.Rate, l.LimitedBy, l.Detail = 0, campaign.ByStopped, "its sender has ended"
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
