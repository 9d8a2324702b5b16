package ledger

import "errors"

// ErrRehearsed takes a rehearsed quarantine back.
var ErrRehearsed = errors.New("rehearsed")

// RestoredDetail is what a run that Quarantine paused says; PausedBefore begins what it says of an earlier pause.
const (
	RestoredDetail = "the ledger went back in time: have the webhooks of the lost time replayed before it goes on"
	PausedBefore   = "; it was paused before: "
)
