package html

import (
	"slices"
	"time"

	"campaignd/campaign"
	"campaignd/internal/plot"
)

// stands names the times in which a run sends nothing, by what it waits for.
var stands = map[campaign.LimitedBy]string{
	campaign.ByTier: "tier full", campaign.ByAllowance: "allowance used up", campaign.ByRamp: "ramp", campaign.ByWindow: "window closed",
	campaign.ByLimiter: "limiter away", campaign.ByHold: "held", campaign.ByUnreachable: "service away", campaign.ByStopped: "no sender",
}

// course returns the limit of a run over all its numbers, and the times in which each of its lanes
// stood still. The points are in order of time.
func course(points []campaign.LanePoint) (limits []plot.Limit, stops []plot.Band) {
	lanes := lanes{}
	var since time.Time // when the last lane stood still; zero: one sends
	var name string
	for i, p := range points {
		lanes.put(p)
		if i+1 < len(points) && points[i+1].At.Equal(p.At) {
			continue
		}
		rate, by := lanes.limit()
		if n := len(limits); n == 0 || limits[n-1].Value != 60*rate || limits[n-1].Why != string(by) {
			limits = append(limits, plot.Limit{At: p.At, Value: 60 * rate, Why: string(by)})
		}
		now := ""
		if rate == 0 {
			now = stands[by]
		}
		if now == name {
			continue
		}
		if name != "" {
			stops = append(stops, plot.Band{From: since, To: p.At, Name: name})
		}
		since, name = p.At, now
	}
	if name != "" {
		stops = append(stops, plot.Band{From: since, Name: name})
	}
	return limits, stops
}

// lanes has the last point of each sender of each connection.
type lanes map[string]map[string]campaign.LanePoint

// put takes a point. A sender that has ended in order counts only while no other is known.
func (l lanes) put(p campaign.LanePoint) {
	of := l[p.Connection]
	if of == nil {
		of = map[string]campaign.LanePoint{}
		l[p.Connection] = of
	}
	of[p.Owner] = p
	for owner, other := range of {
		if len(of) > 1 && other.LimitedBy == campaign.ByStopped {
			delete(of, owner)
		}
	}
}

// limit is the rate of all connections together, in messages a second, and what limits most of it.
// The last report of a connection counts, so that a sender that was killed counts until another one
// serves its connection.
func (l lanes) limit() (rate float64, by campaign.LimitedBy) {
	most, own := -1.0, 0.0
	var still campaign.LanePoint // the lane that stood still last
	for _, of := range l {
		var last campaign.LanePoint
		for _, p := range of {
			if p.At.After(last.At) || p.At.Equal(last.At) && p.Rate > last.Rate {
				last = p
			}
		}
		if _, stands := stands[last.LimitedBy]; stands {
			if last.At.After(still.At) || last.At.Equal(still.At) && last.LimitedBy < still.LimitedBy {
				still = last
			}
			continue
		}
		rate += last.Rate
		if last.LimitedBy == campaign.ByRunRate {
			own = max(own, last.Rate)
		}
		if last.Rate > most || last.Rate == most && last.LimitedBy < by {
			most, by = last.Rate, last.LimitedBy
		}
	}
	switch {
	case most < 0:
		return 0, still.LimitedBy
	case own > 0 && own < rate: // all numbers share the run's own rate
		return own, campaign.ByRunRate
	}
	return rate, by
}

// pauses are the times in which a run was paused.
func pauses(entries []campaign.HistoryEntry) (stops []plot.Band) {
	var since time.Time
	for _, e := range entries {
		if e.Kind != campaign.HistoryState {
			continue
		}
		if !since.IsZero() {
			stops = append(stops, plot.Band{From: since, To: e.At, Name: "paused"})
			since = time.Time{}
		}
		if campaign.State(e.Value) == campaign.Paused {
			since = e.At
		}
	}
	if !since.IsZero() {
		stops = append(stops, plot.Band{From: since, Name: "paused"})
	}
	return stops
}

// end gives the stops that last an end: the end of the run, or now. A stop that began after it is
// none of the run.
func (f *Facts) end(run campaign.Run) {
	last := run.EndedAt
	if last.IsZero() {
		last = f.AsOf
	}
	for i := range f.Stops {
		if b := &f.Stops[i]; b.To.IsZero() || b.To.After(last) {
			b.To = last
		}
	}
	f.Stops = slices.DeleteFunc(f.Stops, func(b plot.Band) bool { return !b.From.Before(b.To) })
	f.Limits = slices.DeleteFunc(f.Limits, func(l plot.Limit) bool { return l.At.After(last) })
}
