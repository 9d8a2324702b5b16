package ledger

import "errors"

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
