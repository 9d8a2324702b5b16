package campaign

import (
	"cmp"
	"fmt"
	"time"

	"campaignd/throttle/throughput"
)

// Class is which runs of a number come first (docs/limits.md#sharing-a-number).
type Class string

// The classes. The category of the template says which one a run has at its launch.
const (
	ClassTransactional Class = "transactional" // AUTHENTICATION and UTILITY: they come first
	ClassBulk          Class = "bulk"          // MARKETING, or a category that is not known
)

// The bounds of a run's limits.
const (
	MinRate   = throughput.MinRate // messages per second
	MaxRate   = 10000.0            // messages per second: ten numbers of the platform's highest throughput
	MaxWeight = 100
)

// LimitChange is what an operator changed of a run's limits since its launch. A nil field stays as
// it was launched.
type LimitChange struct {
	Class    *Class    `json:"class,omitempty"`
	Weight   *int      `json:"weight,omitempty"`
	Rate     *float64  `json:"rate,omitempty"`     // messages per second; 0: no limit of its own
	Deadline *Duration `json:"deadline,omitempty"` // from the launch; 0: none
}

// Over is the change c with the fields of d in place of its own where d has them.
func (c LimitChange) Over(d LimitChange) LimitChange {
	return LimitChange{cmp.Or(d.Class, c.Class), cmp.Or(d.Weight, c.Weight), cmp.Or(d.Rate, c.Rate), cmp.Or(d.Deadline, c.Deadline)}
}

// Check refuses a change that a campaign file could not ask for. A deadline may be any time from
// the launch on.
func (c LimitChange) Check() error {
	switch {
	case c.Class != nil && *c.Class != ClassTransactional && *c.Class != ClassBulk:
		return fmt.Errorf("class %q: want %s or %s", *c.Class, ClassTransactional, ClassBulk)
	case c.Weight != nil && (*c.Weight < 1 || *c.Weight > MaxWeight):
		return fmt.Errorf("weight %d: want 1 to %d", *c.Weight, MaxWeight)
	case c.Rate != nil && *c.Rate != 0 && (!(*c.Rate >= MinRate) || *c.Rate > MaxRate):
		return fmt.Errorf("rate %g: want %f to %g messages per second, or 0 (--rate none) for no limit", *c.Rate, MinRate, MaxRate)
	case c.Deadline != nil && *c.Deadline < 0:
		return fmt.Errorf("deadline %s: want a time after the launch, or 0 for none", *c.Deadline)
	}
	return nil
}

// RunLimits are the limits by which a run shares its numbers.
type RunLimits struct {
	Class    Class    `json:"class"`
	Weight   int      `json:"weight"`
	Rate     float64  `json:"rate,omitempty"`     // messages per second over all numbers; 0: no limit of its own
	Deadline Duration `json:"deadline,omitempty"` // from the launch; 0: none
}

// Ends is when a run that was launched at an instant is to be done; zero: it has no deadline.
func (l RunLimits) Ends(launched time.Time) time.Time {
	if l.Deadline == 0 {
		return time.Time{}
	}
	return launched.Add(l.Deadline.Std())
}

// String is the limits as `campaignd limits` prints them.
func (l RunLimits) String() string {
	s := fmt.Sprintf("class %s, weight %d", l.Class, l.Weight)
	if l.Rate > 0 {
		s += fmt.Sprintf(", at most %g messages per second", l.Rate)
	}
	if l.Deadline > 0 {
		s += fmt.Sprintf(", to be done %s after its launch", l.Deadline)
	}
	return s
}
