package plan

import (
	"math"
	"time"
)

// farthest is how far ahead a forecast looks before it says that it cannot tell.
const farthest = 366 * 24 * time.Hour

// Group is what is left of a list for recipients with the same clock.
type Group struct {
	Remaining int64          // deliveries still to be sent
	Zone      *time.Location // theirs; used when the window is per recipient
}

// Forecast is when the rest of a list will have been sent.
type Forecast struct {
	Finish  time.Time     // zero when Never
	Never   bool          // not within a year: a rate of 0, a window that never opens
	Waiting time.Duration // of the time until Finish, when no window was open
	Sending time.Duration // of the time until Finish, at the rate
}

// ETA computes when groups will have been sent at rate messages per second, obeying the window
// (nil: always open). Groups whose window is open share the rate in proportion to what they have left,
// as a fluid: exact for one group, within the length of a closing for several. It knows nothing of
// other runs, tier or allowance; give it the rate that they leave.
func ETA(now time.Time, rate float64, window *Window, groups ...Group) Forecast {
	left := make([]float64, len(groups))
	var total float64
	for i, g := range groups {
		left[i] = float64(max(0, g.Remaining))
		total += left[i]
	}
	var f Forecast
	if !(rate > 0) && total > 0 {
		return Forecast{Never: true}
	}
	rate = math.Min(rate, 1e9) // infinite is as good as this
	limit := now.Add(farthest)
	for at := now; ; {
		if total < 1e-6 {
			f.Finish = at
			return f
		}
		if !at.Before(limit) {
			return Forecast{Never: true}
		}
		// Until the next opening or closing of any group, each open one drains evenly.
		var open float64
		until := limit
		draining := make([]bool, len(groups))
		for i, g := range groups {
			if left[i] == 0 {
				continue
			}
			ok, changes := window.Open(at, g.Zone)
			if ok {
				open += left[i]
				draining[i] = true
			}
			if !changes.IsZero() && changes.Before(until) {
				until = changes
			}
		}
		span := until.Sub(at)
		if open == 0 {
			f.Waiting += span
			at = until
			continue
		}
		if need := open / rate; need < span.Seconds() {
			span = time.Duration(math.Ceil(need * float64(time.Second)))
		}
		part := math.Min(1, rate*span.Seconds()/open)
		for i := range left {
			if draining[i] {
				sent := left[i] * part
				left[i] -= sent
				total -= sent
			}
		}
		f.Sending += span
		at = at.Add(span)
	}
}
