package plan

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"time"

	"campaignd/internal/sentence"
)

// tierSteps are the tiers of the platform (docs/limits.md#tier).
var tierSteps = []int64{250, 1000, 2000, 10_000, 100_000}

// leastHelp is what a change must save to be worth a line: a minute, and a hundredth of the time.
const leastHelp = time.Minute

// Help is one change that makes a run finish sooner.
type Help struct {
	What     string    `json:"what"` // number, tier, window, allowance, ramp, rate
	Sentence string    `json:"sentence"`
	Finish   time.Time `json:"finish"`
	// Hours is how many hours it saves; for a run that would never be done, of the 366 days.
	Hours float64 `json:"hours"`
}

// String is the help as a person reads it, with what it saves: 40 minutes, 3.5 hours, 12 days.
func (h Help) String() string {
	saves := fmt.Sprintf("%.0f days", h.Hours/24)
	switch {
	case h.Hours < 1:
		saves = sentence.Count(int(h.Hours*60), "minute", "minutes")
	case h.Hours < 72:
		saves = fmt.Sprintf("%.1f hours", h.Hours)
	}
	return h.Sentence + ": " + saves + " sooner"
}

// helps are the changes that make a run finish sooner, the best first.
func (s *Situation) helps(run int, now Forecast) []Help {
	out := []Help{}
	if now.Messages == 0 && !now.Never {
		return out
	}
	try := func(what, says string, change func(*Situation, *Run) bool) {
		other := s.clone()
		if !change(other, &other.Runs[run]) {
			return
		}
		c := newCourse(other, calendars(other), other.Past.expected(), run)
		c.play()
		if math.IsInf(c.end, 1) {
			return
		}
		finish := instantAt(s.Now, c.end+c.latency)
		from := now.Finish
		if now.Never {
			from = s.Now.Add(farthest)
		}
		saved := from.Sub(finish)
		if saved < leastHelp || saved < from.Sub(s.Now)/100 {
			return
		}
		out = append(out, Help{what, says, finish, math.Round(saved.Hours()*100) / 100})
	}
	try("number", "one more number like its fastest", oneMore)
	try("tier", "the next higher tier", higherTier)
	try("window", "a window that opens an hour earlier and closes an hour later", func(o *Situation, r *Run) bool {
		if r.Window.Always() {
			return false
		}
		r.Window = r.Window.widen(time.Hour)
		return true
	})
	try("rate", "no limits.rate", func(_ *Situation, r *Run) bool {
		limited := r.Rate > 0
		r.Rate = 0
		return limited
	})
	try("allowance", "an allowance that lasts", endless)
	try("ramp", "numbers that are warm", func(o *Situation, r *Run) (ramps bool) {
		for i := range o.Numbers {
			if slices.Contains(r.Numbers, o.Numbers[i].ID) && o.Numbers[i].Ramp != nil {
				o.Numbers[i].Ramp, ramps = nil, true
			}
		}
		return ramps
	})
	slices.SortStableFunc(out, func(a, b Help) int { return cmp.Compare(b.Hours, a.Hours) })
	return out
}

// clone is a copy whose runs, numbers and limits may be changed.
func (s *Situation) clone() *Situation {
	c := *s
	c.Numbers, c.Tiers = slices.Clone(s.Numbers), slices.Clone(s.Tiers)
	c.Allowances, c.Runs = slices.Clone(s.Allowances), slices.Clone(s.Runs)
	return &c
}

// oneMore gives the run another number like its fastest. The number also takes over parts of
// segments that are begun, since a new launch would spread the list over all numbers.
func oneMore(o *Situation, r *Run) bool {
	best := -1
	for i, n := range o.Numbers {
		if slices.Contains(r.Numbers, n.ID) && (best < 0 || n.Pace > o.Numbers[best].Pace) {
			best = i
		}
	}
	if best < 0 {
		return false
	}
	more := o.Numbers[best]
	more.ID = fmt.Sprintf("%s and another", more.ID)
	o.Numbers = append(o.Numbers, more)
	r.Numbers = append(slices.Clone(r.Numbers), more.ID)
	r.Move = true
	return true
}

// higherTier raises the tiers of the run's numbers by one step.
func higherTier(o *Situation, r *Run) (raised bool) {
	for i := range o.Tiers {
		t := &o.Tiers[i]
		uses := slices.ContainsFunc(o.Numbers, func(n Number) bool { return n.Tier == t.Name && slices.Contains(r.Numbers, n.ID) })
		if !uses || t.Limit <= 0 {
			continue
		}
		raised = true
		next := slices.IndexFunc(tierSteps, func(step int64) bool { return step > t.Limit })
		t.Limit = 0
		if next >= 0 {
			t.Limit = tierSteps[next]
		}
	}
	return raised
}

// endless takes the run's allowances away.
func endless(o *Situation, r *Run) (has bool) {
	for i := range o.Numbers {
		if slices.Contains(r.Numbers, o.Numbers[i].ID) && o.Numbers[i].Allowance != "" {
			o.Numbers[i].Allowance, has = "", true
		}
	}
	return has
}
