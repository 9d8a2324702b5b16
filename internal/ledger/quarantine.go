package ledger

import (
	"errors"

	"campaignd/campaign"
)

// ErrRehearsed rolls the transaction of a rehearsal back.
var ErrRehearsed = errors.New("rehearsed")

// PausedByRestore is the condition, in the SQL of both databases, of the runs that Quarantine
// pauses: those that could send now, or when the reason of their pause ends.
const PausedByRestore = `wanted <> 'cancel'
	AND (state IN ('ready', 'running') OR state = 'paused' AND reason NOT IN ('operator', 'ledger'))`

// RestoredDetail is the detail of a run that Quarantine paused. PausedBefore and the earlier reason
// follow it if the run was paused already.
const (
	RestoredDetail = "it went back in time: replay lost webhooks first"
	PausedBefore   = "; it was paused before: "
)

// AheadOf returns by how many deliveries Quarantine moves the mark of a segment up: by of[run]
// where of has its run, else by ahead.
func AheadOf(s Segment, ahead int64, of map[campaign.RunNo]int64) int64 {
	if n, ok := of[RunOf(s.Key)]; ok {
		return n
	}
	return ahead
}
