package config

import (
	"time"

	"campaignd/campaign"
	"campaignd/campaign/plan"
)

// Number has the limits of one connection.
type Number struct {
	// Messages per second that the platform grants this number; campaignd paces a little below.
	// 0: the rate that the service tells, else 80.
	Rate float64 `yaml:"rate" json:"rate" jsonschema:"minimum=0,maximum=10000"`
	// Unique recipients that the portfolio may reach in any 24 hours. 0: the tier that the service
	// tells. -1: no limit.
	Tier int64 `yaml:"tier,omitempty" json:"tier,omitempty" jsonschema:"minimum=-1,maximum=100000000"`
	// The company that the connection belongs to. Empty: the companyId that the service tells.
	Company string `yaml:"company,omitempty" json:"company,omitempty"`
	// The business account of the connection. Empty: the one that the service tells, else the
	// connection is an account of its own.
	Account string `yaml:"account,omitempty" json:"account,omitempty"`
	// The warm-up of the number, in messages per day of UTC. Without it the number has none.
	Ramp *Ramp `yaml:"ramp,omitempty" json:"ramp,omitempty"`
	// The portfolio of the business, whose connections share a tier, and which a hold can name. Empty:
	// the company.
	Portfolio string `yaml:"portfolio,omitempty" json:"portfolio,omitempty"`
}

// Ramp is the warm-up of a number (docs/limits.md#warm-up-ramps).
type Ramp struct {
	// Messages on the first day.
	Start int64 `yaml:"start" json:"start" jsonschema:"minimum=1"`
	// Messages more on each day that follows one on which the number sent.
	Step int64 `yaml:"step" json:"step" jsonschema:"minimum=0"`
	// Most messages on any day.
	Ceiling int64 `yaml:"ceiling" json:"ceiling" jsonschema:"minimum=1"`
}

// Today is the state s on the day of now, as if the number had sent since s was decided.
func (r *Ramp) Today(s campaign.RampState, now time.Time, quality string) campaign.RampState {
	return r.Plan().Next(s, max(plan.RampDay(now), s.Day), quality, true)
}

// Plan is the ramp as the plan of sending knows it.
func (r *Ramp) Plan() plan.Ramp { return plan.Ramp{Start: r.Start, Step: r.Step, Ceiling: r.Ceiling} }

// Plan is the monthly allowance of each company.
type Plan struct {
	// Messages in a month of each company. 0: the service's billing tells it to a partner-wide key;
	// else the service's 402 decides.
	MonthlyMessages int64 `yaml:"monthly_messages" json:"monthly_messages" jsonschema:"minimum=0"`
	// The day on which the allowance starts again.
	Resets Resets `yaml:"resets" json:"resets"`
	// Share that only templates that are not marketing use.
	Reserve float64 `yaml:"reserve" json:"reserve" jsonschema:"minimum=0,maximum=1"`
}

// Resets is the day on which the allowance starts again.
type Resets struct {
	// Day of the month.
	Day int `yaml:"day" json:"day" jsonschema:"minimum=1,maximum=28"`
	// IANA name of the time zone.
	Timezone string `yaml:"timezone" json:"timezone"`
}
