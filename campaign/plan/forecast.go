package plan

import (
	"math"
	"time"
)

// farthest is how far ahead a forecast looks; a later finish counts as never.
const farthest = 366 * 24 * time.Hour

// Group is the rest of a list for recipients in the same time zone.
type Group struct {
	Remaining int64          // deliveries still to be sent
	Zone      *time.Location // used only when the window is per recipient
}

// Forecast says when the rest of a list will have been sent.
type Forecast struct {
	Finish  time.Time     // zero when Never
	Never   bool          // not within 366 days: the rate is 0, or the window never opens
	Waiting time.Duration // part of the time until Finish in which no window is open
	Sending time.Duration // part of the time until Finish in which messages are sent
}

// ETA computes when groups will have been sent at rate messages per second within the window (nil:
// always open). Groups whose window is open share the rate in proportion to their remaining
// deliveries, as a fluid: this is exact for one group, and for several within the time between two
// openings. ETA knows nothing of other runs, the tier or the allowance; rate is what they leave.
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
	rate = math.Min(rate, 1e9) // so that infinity can be computed with
	limit := now.Add(farthest)
	for at := now; ; {
		if total < 1e-6 {
			f.Finish = at
			return f
		}
		if !at.Before(limit) {
			return Forecast{Never: true}
		}
		// Until a window of any group next opens or closes, each open group drains evenly.
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
