package campaign

// LimitedBy says what keeps a run, a lane, a number or a row from going on, or from going on
// faster. `why`, the forecast, the operator's API and the metric campaignd_lanes have these words.
type LimitedBy string

// The limits. Package campaign/wording has their meanings.
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
