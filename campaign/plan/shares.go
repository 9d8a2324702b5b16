package plan

import (
	"cmp"
	"slices"
	"time"

	"campaignd/campaign"
)

// floor is the part of a number's pace that its runs share by weight alone, whatever their classes
// and deadlines: no run starves.
const floor = 0.10

// Want is a run that has something to send over a number now.
type Want struct {
	Class  campaign.Class // every class but ClassBulk comes first
	Weight float64        // 1 if it is 0 or less
	// Rate is the most that the run can use of the number, in messages per second; 0: no limit.
	Rate float64
	// Deadline orders the runs with a Need; the earliest comes first.
	Deadline time.Time
	// Need is the rate that is just enough to meet the deadline, in messages per second (JustEnough);
	// 0: the run has no deadline.
	Need float64
}

// rank orders the classes: a lower one comes first (docs/limits.md#sharing-a-number).
func (w Want) rank() int {
	if w.Class == campaign.ClassBulk {
		return 1
	}
	return 0
}

func (w Want) weight() float64 {
	if w.Weight > 0 {
		return w.Weight
	}
	return 1
}

// most is how much of a pace the run can use.
func (w Want) most(pace float64) float64 {
	if w.Rate > 0 {
		return min(w.Rate, pace)
	}
	return pace
}

// Shares divides the pace of a number, in messages per second, among the runs that want it. The
// answer has the order of wants. It uses the whole pace unless the runs' own rates leave some.
//
//  1. The floor is divided by weight.
//  2. The class that comes first takes what it can use of the rest. Within a class each run with a
//     deadline, the earliest first, gets up to its Need.
//  3. The remainder raises the runs of the class that have least for their weight, until all have
//     the same for their weight: what a run got in steps 1 and 2 counts.
func Shares(pace float64, wants []Want) []float64 {
	got := make([]float64, len(wants))
	if !(pace > 0) {
		return got
	}
	var weights float64
	for _, w := range wants {
		weights += w.weight()
	}
	left := pace
	for i, w := range wants {
		got[i] = min(w.most(pace), floor*pace*w.weight()/weights)
		left -= got[i]
	}
	order := make([]int, len(wants)) // by class, then by deadline
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int {
		return cmp.Or(cmp.Compare(wants[a].rank(), wants[b].rank()), wants[a].Deadline.Compare(wants[b].Deadline))
	})
	for len(order) > 0 && left > 0 {
		n := 1
		for n < len(order) && wants[order[n]].rank() == wants[order[0]].rank() {
			n++
		}
		class := order[:n]
		order = order[n:]
		for _, i := range class {
			more := min(max(min(wants[i].Need, wants[i].most(pace))-got[i], 0), left)
			got[i] += more
			left -= more
		}
		left -= level(pace, left, wants, class, got)
	}
	return got
}

// level raises the runs of a class to the same share for their weight, as far as left reaches. It
// returns what it used.
func level(pace, left float64, wants []Want, class []int, got []float64) (used float64) {
	to := func(i int, height float64) float64 {
		return max(got[i], min(wants[i].most(pace), wants[i].weight()*height))
	}
	needs := func(height float64) (sum float64) {
		for _, i := range class {
			sum += to(i, height) - got[i]
		}
		return sum
	}
	low, high := 0.0, 0.0
	for _, i := range class {
		high = max(high, wants[i].most(pace)/wants[i].weight())
	}
	if needs(high) > left {
		for range 50 { // to a part in 10^15 of the pace
			if mid := (low + high) / 2; needs(mid) > left {
				high = mid
			} else {
				low = mid
			}
		}
		high = low
	}
	for _, i := range class {
		more := to(i, high) - got[i]
		got[i] += more
		used += more
	}
	return used
}

// deadlineMargin is how long before its deadline a run is to be done: 5 % of the time between
// launch and deadline, at least 30 s, and at most a fifth of that time.
func deadlineMargin(whole time.Duration) time.Duration {
	return min(max(whole/20, 30*time.Second), whole/5)
}

// JustEnough is the rate that meets a deadline, in messages per second: what is left of each group,
// divided by the time for which its window is open until then. A group whose window is closed now
// needs nothing now. A deadline that has passed can no longer be met, and needs nothing.
func JustEnough(now, launched, deadline time.Time, window *Window, groups ...Group) (need float64) {
	end := deadline.Add(-deadlineMargin(deadline.Sub(launched)))
	if !now.Before(end) {
		end = deadline
	}
	if !now.Before(end) {
		return 0
	}
	for _, g := range groups {
		if g.Remaining <= 0 {
			continue
		}
		if open, _ := window.Open(now, g.Zones...); !open {
			continue
		}
		open := window.openBetween(now, end, g.Zones...)
		need += float64(g.Remaining) / max(open.Seconds(), 1)
	}
	return need
}

// openBetween is how much of the time from one instant to another the window is open for recipients
// of one zone, or of several (Zones).
func (w *Window) openBetween(from, to time.Time, zones ...*time.Location) (sum time.Duration) {
	for at := from; at.Before(to); {
		open, changes := w.Open(at, zones...)
		end := to
		if !changes.IsZero() && changes.Before(to) {
			end = changes
		}
		if open {
			sum += end.Sub(at)
		}
		at = end
	}
	return sum
}

// Behind reports whether others have precedence over the i-th run: its share is less than its
// weight's part of the pace, and the run could use more.
func Behind(pace float64, wants []Want, got []float64, i int) bool {
	var weights float64
	for _, w := range wants {
		weights += w.weight()
	}
	fair := min(pace*wants[i].weight()/weights, wants[i].most(pace))
	return got[i] < 0.99*fair
}
