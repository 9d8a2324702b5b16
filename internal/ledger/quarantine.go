package ledger

import "errors"

// ErrRehearsed rolls the transaction of a rehearsal back.
var ErrRehearsed = errors.New("rehearsed")

// RestoredDetail is the detail of a run that Quarantine paused. PausedBefore and the earlier reason
// follow it if the run was paused already.
const (
	RestoredDetail = "the ledger went back in time: have the webhooks of the lost time replayed before it goes on"
	PausedBefore   = "; it was paused before: "
)
