package campaign

import (
	"context"
	"time"
)

// Limit is what keeps a lane from its next intent. Its zero value is no limit.
type Limit struct {
	By string // a value of LaneReport.LimitedBy; "": nothing limits the lane
	// Until is the earliest time at which more may be granted; zero: it is not known.
	Until  time.Time
	Detail string // a sentence for people
}

// Values of Limit.By: a tier without a free place, an allowance or a ramp without a message left, a
// limiter that cannot answer. LimitWindow answers an intent that came after its Until; it concerns
// one segment, not the lane.
const (
	LimitTier      = "tier"
	LimitAllowance = "allowance"
	LimitRamp      = "ramp"
	LimitLimiter   = "limiter"
	LimitWindow    = "window"
)

// Tier is how many people a portfolio may reach in any 24 hours (docs/limits.md#tier). Its zero
// value is no limit.
type Tier struct {
	Portfolio string // whose connections share the places
	Places    int64  // 0: no limit
}

// ReachFor is how long a message holds its recipient's place of a tier after its intent. A message
// leaves within PostWithin of its intent, so two messages that share a place one after the other
// are more than 24 hours apart at the service (docs/limits.md#tier).
const ReachFor = 24*time.Hour + time.Minute

// Reached counts recipients whom a portfolio reached for the last time between From and To. Their
// places are free ReachFor later.
type Reached struct {
	From, To time.Time
	N        int64
}

// PairSpace is the least time between two messages to one recipient over one connection
// (docs/limits.md#pair-limit).
const PairSpace = 6 * time.Second

// RampState is how far the warm-up of a number has come (docs/limits.md#warm-up-ramps).
type RampState struct {
	// Day is the day for which Steps was decided last, as plan.RampDay numbers it; 0: none.
	Day int64
	// Steps is how many steps the number is above the start of its ramp.
	Steps int64
	// Cut means that the quality RED of this day has taken its step back already.
	Cut bool
}

// LimitLedger keeps the counts and the states that decide about limits of a period.
type LimitLedger interface {
	// Spent counts by connection the messages since a time that were accepted, are in doubt or are
	// being posted. since is rounded down to 15 minutes. The call is quick for any period: the
	// messages of a finished segment are counted once, and the count is kept.
	Spent(ctx context.Context, since time.Time) (map[string]int64, error)
	// Ramps returns the state of every number that has one.
	Ramps(ctx context.Context) (map[string]RampState, error)
	// SetRamp replaces the state from of a number by to. It reports false if the stored state is not
	// from; a zero from means that none is stored.
	SetRamp(ctx context.Context, connection string, from, to RampState) (bool, error)
	// Reached counts the recipients whom a portfolio with a tier reached after since, each at the last
	// intent, by the hours of UTC and in the order of time.
	Reached(ctx context.Context, portfolio string, since time.Time) ([]Reached, error)
	// SetPlan stores the messages that the plan has in a month, and returns what was stored before; 0:
	// nothing was.
	SetPlan(ctx context.Context, messages int64) (before int64, err error)
}

// PostWithin is the longest time from an intent that counts people to its post. An attempt that is
// older goes back unposted.
const PostWithin = 45 * time.Second

// MostCapPer is the longest FrequencyLimit.Per.
const MostCapPer = 31 * 24 * time.Hour

// The outcomes of a recipient who has got as many messages as the frequency cap allows.
const (
	CapSkip  = "skip"  // the default: skipped(frequency_cap)
	CapDefer = "defer" // the delivery waits until the cap allows it
)
