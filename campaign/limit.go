package campaign

import "time"

// Limit is what keeps a lane from its next intent. Its zero value is no limit.
type Limit struct {
	By string // a value of LaneReport.LimitedBy; "": nothing limits the lane
	// Until is the earliest time at which more may be granted; zero: it is not known.
	Until  time.Time
	Detail string // a sentence for people
}

// LimitTier is Limit.By of a tier without a free place. LimitWindow is that of an intent that came
// after its Until: it concerns one segment, not the lane.
const (
	LimitTier   = "tier"
	LimitWindow = "window"
)

// Tier is how many people a portfolio may reach in any 24 hours (docs/limits.md#tier). Its zero
// value is no limit.
type Tier struct {
	Portfolio string // whose connections share the places
	Places    int64  // 0: no limit
}

// PairSpace is the least time between two messages to one recipient over one connection
// (docs/limits.md#pair-limit).
const PairSpace = 6 * time.Second
