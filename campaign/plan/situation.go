package plan

import (
	"math"
	"time"

	"campaignd/campaign"
)

// Situation is the input of a forecast: the numbers, the limits that they share, every unfinished
// run, and what was observed of earlier runs. The caller fills it from the ledger and the service.
// A forecast reads no clock.
type Situation struct {
	Now        time.Time
	Numbers    []Number
	Tiers      []Tier
	Allowances []Quota
	// Runs are all runs that compete for the numbers, in the order of their launch.
	Runs []Run
	Past Past
}

// Number is a connection as a forecast sees it.
type Number struct {
	ID string
	// Pace is in messages per second (throughput.Number.Pace). 0: it is not known, so nothing is sent.
	Pace float64
	// Tier and Allowance are keys of Situation.Tiers and Situation.Allowances; "": not known.
	Tier, Allowance string
	// Ramp is the warm-up of the number; nil: it has none. RampState is how far the warm-up has come,
	// and Ramped how many messages the number has sent on the day of Situation.Now.
	Ramp      *Ramp
	RampState RampState
	Ramped    int64
	// Quality is the number's quality as the service tells it. The ramp depends on it.
	Quality string
	// Held is when the hold of the number ends; zero: it has none.
	Held time.Time
}

// NumberShare is what one number sends of a run.
type NumberShare struct {
	Connection string `json:"connection"`
	Messages   int64  `json:"messages"`
	// Pace is the rate that is forecast with, and what is kept back of the number's limit. The caller
	// of Situation.Forecast fills it.
	Pace string `json:"pace,omitempty"`
}

// Tier is the limit of distinct recipients in any 24 hours, of a portfolio.
type Tier struct {
	Name  string
	Limit int64 // 0: unlimited
	// Reached counts the recipients of the last 24 hours, in the order of time and without overlap.
	Reached []campaign.Reached
}

// Quota is an allowance, and how much of its month is used at Situation.Now.
type Quota struct {
	Name string
	Allowance
	Used int64
}

// Run is a run as a forecast sees it.
type Run struct {
	ID, Campaign string
	Numbers      []string // ids of Situation.Numbers
	Done         int64    // rows that have ended before
	// Groups are the rest of the list in the order of sending, one for each segment. A number
	// finishes the segment that it has begun, then takes the next open one that no other has begun.
	Groups []Group
	// Move means that a number with nothing to send takes over queued rows of another (Limits.Move).
	Move   bool
	Window *Window
	Rate   float64 // its own limit in messages per second over all numbers; 0: none
	Class  campaign.Class
	// Weight is the run's part of a number among the runs of its class; 0 counts as 1.
	Weight float64
	// Deadline is when the run is to be done; zero: there is none. Launched is when it was launched.
	Deadline, Launched time.Time
	// NotAfter is when the rows that are still queued expire; zero: never.
	NotAfter time.Time
	// Budget is how many messages it may still send (max_messages); below 0: any number.
	Budget int64
	// Marketing runs leave the reserve of an allowance alone.
	Marketing bool
	// From is when it may begin: its launch, or the end of its hold or pause; zero: now.
	From time.Time
	// Waits is what it waits for until From: hold or pause.
	Waits campaign.LimitedBy
	// CanaryWait is how long the Groups with AfterCanary wait after the last answer to the others.
	// Released is the end of that wait; zero: the last answer has not come yet.
	CanaryWait time.Duration
	Released   time.Time
	// AssetUntil is when the service deletes its header medium; zero: it has none.
	AssetUntil time.Time
}

// Average is an observed mean and its standard deviation. If Hours is above 0, that many hours of
// sending were observed, and Deviation is the deviation between hours; else it is the deviation
// between runs. Once means that one run was observed, so it is not known how much runs differ.
type Average struct {
	Mean, Deviation, Hours float64
	Once                   bool
}

// of is the standard deviation of the mean of a run of that many hours, around the observed mean.
func (a Average) of(hours float64) float64 {
	if a.Hours <= 0 {
		return a.Deviation
	}
	return a.Deviation * math.Sqrt(1/max(hours, 0.1)+1/a.Hours)
}

// Past is what was observed of earlier runs. Its zero value expects no refusal and full speed.
type Past struct {
	// Refused is the part of the messages that the service refuses for good. A refusal costs a slot,
	// and gives its place of the tier and its message of the allowance back.
	Refused Average
	// Throttled is the part of the posts that the service answers with throttling; they are repeated.
	Throttled Average
	// Dropped is the part of the rows that are skipped before they are posted, after the import:
	// opt-outs.
	Dropped Average
	// Slowed is the part of the pace that is lost to throttling and to inbound messages.
	Slowed Average
	// Latency is the time to an answer, in seconds.
	Latency Average
	// Drift is the relative error of earlier forecasts; 0 counts as 0.5 %.
	Drift float64
}

// AverageOf is the average over single runs; zero without runs. Deviation is the deviation of the
// next run from the mean; it is 0 for one run.
func AverageOf(runs []float64) (a Average) {
	n := float64(len(runs))
	for _, v := range runs {
		a.Mean += v / n
	}
	for _, v := range runs {
		a.Deviation += (v - a.Mean) * (v - a.Mean)
	}
	a.Once = n == 1
	if n > 1 {
		a.Deviation = math.Sqrt(a.Deviation/(n-1)) * math.Sqrt(1+1/n)
	}
	return a
}
