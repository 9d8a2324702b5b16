package campaign

import "slices"

// LimitedBy says what keeps a run, a lane, a number or a row from going on, or from going on
// faster. `why`, the forecast, the operator's API and the metric campaignd_lanes have these words.
type LimitedBy string

// The limits. LimitMeanings has their meanings.
const (
	ByNone         LimitedBy = "none"
	ByThroughput   LimitedBy = "throughput"
	ByRunRate      LimitedBy = "run_rate"
	ByShare        LimitedBy = "share"
	ByTier         LimitedBy = "tier"
	ByAllowance    LimitedBy = "allowance"
	ByRamp         LimitedBy = "ramp"
	ByWindow       LimitedBy = "window" // of an intent: it came after its Until, and one segment waits
	ByHold         LimitedBy = "hold"
	ByPause        LimitedBy = "pause"
	ByInFlight     LimitedBy = "in_flight"
	ByDoubt        LimitedBy = "doubt"
	ByLedger       LimitedBy = "ledger"
	ByLimiter      LimitedBy = "limiter"
	ByUnreachable  LimitedBy = "unreachable"
	ByStopped      LimitedBy = "stopped"
	ByRetry        LimitedBy = "retry"
	ByFrequencyCap LimitedBy = "frequency_cap"
	ByPairLimit    LimitedBy = "pair_limit"
)

// LimitMeaning is one limit, and its meaning for people.
type LimitMeaning struct {
	By      LimitedBy
	Meaning string
}

// LimitMeanings returns every limit. docs/glossary.md and the OpenAPI document have this list.
func LimitMeanings() []LimitMeaning {
	return []LimitMeaning{
		{ByNone, "nothing: there is nothing to send, or nobody sends it"},
		{ByThroughput, "the pace of its numbers"},
		{ByRunRate, "the run's own rate"},
		{ByShare, "other runs of the number come first"},
		{ByTier, "the tier: no place is free"},
		{ByAllowance, "the plan has no message left this month"},
		{ByRamp, "the ramp of the number has no message left today"},
		{ByWindow, "the sending window is closed"},
		{ByHold, "a hold"},
		{ByPause, "a person: a pause, an approval, or the verdict on a canary"},
		{ByInFlight, "as many requests as are allowed wait for their answers"},
		{ByDoubt, "rows in doubt, which wait for a webhook or the end of their window"},
		{ByLedger, "the ledger does not answer"},
		{ByLimiter, "the limiter does not answer, or the pace of the number is not known"},
		{ByUnreachable, "the service cannot be reached"},
		{ByStopped, "its sender has ended in order"},
		{ByRetry, "rows that were refused for now are tried again later"},
		{ByFrequencyCap, "recipients who had as many messages as `policies.frequency_cap` allows"},
		{ByPairLimit, "recipients who had a message a few seconds ago"},
	}
}

// StandsStill reports whether a lane with this limit sends nothing, because it waits for something
// other than its next instant, such as a place of the tier. Its Rate is then only what its number
// may send.
func (by LimitedBy) StandsStill() bool {
	return slices.Contains([]LimitedBy{ByTier, ByAllowance, ByRamp, ByWindow, ByLimiter, ByHold, ByUnreachable}, by)
}
