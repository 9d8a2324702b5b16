package campaign

import (
	"context"
	"time"
)

// Limit is why a lane may not make its next intent now. The zero value is no limit.
type Limit struct {
	By LimitedBy // "": nothing limits the lane
	// Until is the earliest time at which an intent may be granted again; zero: it is not known.
	Until  time.Time
	Detail string // a sentence for people
}

// Tier is how many people a portfolio may reach in any 24 hours (docs/limits.md#tier). Its zero
// value is no limit.
type Tier struct {
	Portfolio string // the portfolio whose connections share the places
	Places    int64  // 0: no limit
}

// ReachFor is how long a message takes a place of the tier, counted from its intent. The message is
// posted within PostWithin of its intent. Two messages that use the same place one after the other
// are therefore more than 24 hours apart at the service (docs/limits.md#tier).
const ReachFor = 24*time.Hour + time.Minute

// Reached counts the recipients whom a portfolio reached for the last time between From and To.
// Their places become free ReachFor after that.
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
	// Cut means that a step was taken back on this day already, because of the quality RED.
	Cut bool
}

// LimitLedger keeps what the tier, the allowance and the ramps are decided from.
type LimitLedger interface {
	// Spent counts by connection the messages since a time that were accepted, are in doubt or are
	// being posted. since is rounded down to 15 minutes. The call is quick for any period,
	// because the ledger keeps the counts of finished segments.
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

// PostWithin is the longest time from an intent to its post, if the intent took a place of a tier,
// counted for a frequency cap or kept the pair limit. A later attempt is not posted; its delivery
// is queued again.
const PostWithin = 45 * time.Second

// FrequencyLimit is the most messages to one recipient over all campaigns that have such a limit
// (docs/limits.md#frequency-cap).
type FrequencyLimit struct {
	Messages int `yaml:"messages" json:"messages"`
	// Per is the time in which the messages are counted, at most 744h.
	Per Duration `yaml:"per" json:"per"`
	// Action is CapSkip (the default) or CapDefer.
	Action string `yaml:"action,omitempty" json:"action,omitempty"`
}

// MostCapPer is the longest FrequencyLimit.Per.
const MostCapPer = 31 * 24 * time.Hour

// The values of FrequencyLimit.Action: what is done with a recipient who has got as many messages
// as the frequency cap allows.
const (
	CapSkip  = "skip"  // the default: skipped(frequency_cap)
	CapDefer = "defer" // the delivery waits until the cap allows it
)
