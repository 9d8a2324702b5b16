package campaign

import (
	"context"
	"fmt"
	"time"
)

// LeastRetention is the least retention.deliveries. The allowance of a month and a warm-up ramp
// count messages of up to 31 days ago.
const LeastRetention = 32 * 24 * time.Hour

// Retired says how many deliveries of a run retention.deliveries deleted, and when it last did.
// Their totals stay. Its zero value: none.
type Retired struct {
	Rows int64     `json:"rows"`
	At   time.Time `json:"at"`
}

// Sentence says of a run with so many rows what was deleted; "" for nothing.
func (r Retired) Sentence(rows int64) string {
	if r.Rows == 0 {
		return ""
	}
	return fmt.Sprintf("%d of %d rows were deleted by retention.deliveries, the last on %s; their totals are kept",
		r.Rows, rows, r.At.UTC().Format(time.DateOnly))
}

// RetentionLedger deletes what is old enough (docs/operations.md#retention).
type RetentionLedger interface {
	// Retire deletes the deliveries of at most one segment, with their outcomes and attempts, and
	// keeps their totals for reports (Run.Retired). Its run has ended, and its last status was
	// applied, before the instant; its parent was deleted before it, and none of its follow-up runs is
	// under way. rows is how many deliveries were deleted; 0: no run is old enough.
	Retire(ctx context.Context, before time.Time) (rows int64, err error)
}
