package campaign

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"
)

// Class is which runs of a number come first (docs/limits.md#sharing-a-number).
type Class string

// The classes. The category of the template says which one a run has at its launch.
const (
	ClassTransactional Class = "transactional" // AUTHENTICATION and UTILITY: they come first
	ClassBulk          Class = "bulk"          // MARKETING, or a category that is not known
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
	case c.Weight != nil && (*c.Weight < 1 || *c.Weight > maxWeight):
		return fmt.Errorf("weight %d: want 1 to %d", *c.Weight, maxWeight)
	case c.Rate != nil && *c.Rate != 0 && (!(*c.Rate >= minRate) || *c.Rate > maxRate):
		return fmt.Errorf("rate %g: want %f to %g messages per second, or 0 (--rate none) for no limit", *c.Rate, minRate, maxRate)
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

// LimitsNow are the run's limits: those of its campaign file, with what the operator changed since.
func (r Run) LimitsNow(d *Definition) RunLimits {
	l := RunLimits{ClassTransactional, max(d.Limits.Weight, 1), d.Limits.Rate, d.Limits.Deadline}
	if r.Marketing {
		l.Class = ClassBulk
	}
	c := r.Changed
	if c.Class != nil {
		l.Class = *c.Class
	}
	if c.Weight != nil {
		l.Weight = *c.Weight
	}
	if c.Rate != nil {
		l.Rate = *c.Rate
	}
	if c.Deadline != nil {
		l.Deadline = *c.Deadline
	}
	return l
}

// ChangeLimits changes limits of a run while it is sent. It returns ErrNotNow for an ended run.
func ChangeLimits(ctx context.Context, l RunLedger, r Run, c LimitChange) (Controlled, error) {
	if c == (LimitChange{}) {
		return Controlled{}, errors.New("nothing to change")
	}
	after, err := l.SetLimits(ctx, r.No, c)
	if err != nil {
		return Controlled{}, fmt.Errorf("%s: %w", r.ID(), err)
	}
	if after.State.Ended() {
		return Controlled{}, fmt.Errorf("%w: %s is %s, there is nothing to share", ErrNotNow, after.ID(), after.State)
	}
	d, err := ParseStored(after.ID(), after.Definition)
	if err != nil {
		return Controlled{}, err
	}
	return Controlled{after, fmt.Sprintf("%s: %s; its senders follow within a second", after.ID(), after.LimitsNow(d))}, nil
}
