package campaign

import (
	"context"
	"time"
)

// FiringOutcome is what has become of a firing of a schedule. The list is closed; it labels the
// metric campaignd_firings_total.
type FiringOutcome string

// The outcomes (docs/operations.md#schedules). Launching and waiting are open; the others are
// final.
const (
	FiringLaunching FiringOutcome = "launching" // its run is being launched; a launch that fails is tried again
	FiringWaiting   FiringOutcome = "waiting"   // it waits for an earlier run of the campaign
	FiringLaunched  FiringOutcome = "launched"
	FiringSkipped   FiringOutcome = "skipped" // an earlier run or firing was unfinished
	FiringMissed    FiringOutcome = "missed"  // no process fired it in time
	FiringFailed    FiringOutcome = "failed"  // no launch succeeded within its grace
)

// FiringAdded is the outcome of no firing. It marks since when a schedule, which Detail names, is
// known: earlier firings of it are not due. Without a Campaign it marks when the ledger was
// quarantined (docs/protocol.md#when-the-ledger-goes-back-in-time). Only a filter with this Outcome
// selects it.
const FiringAdded FiringOutcome = "added"

// Open reports whether the outcome is not final.
func (o FiringOutcome) Open() bool { return o == FiringLaunching || o == FiringWaiting }

// Firing is one firing of a schedule that was due, and what has become of it.
type Firing struct {
	Campaign string
	Key      string // of plan.Firing: Key, or InstantKey where the ledger has that Key of another instant
	At       time.Time
	// Missed is how many firings in a row before this one were missed. The first of them was due at
	// MissedSince.
	Missed      int64
	MissedSince time.Time
	// Since is when a launch was first possible: grace counts from it. Of a missed or failed firing it
	// is when that was found out.
	Since   time.Time
	Outcome FiringOutcome
	Detail  string // why, in a sentence
	Run     RunNo  // of a launched firing
}

// FiringFilter selects firings of a campaign, the newest first.
type FiringFilter struct {
	Campaign string
	Open     bool          // only those with an open outcome
	Outcome  FiringOutcome // only those with this outcome; "": any
	Key      string        // only this one; "": any
	Until    time.Time     // only those due until then; zero: any
	Limit    int           // at most this many; 0: all
}

// FiringLedger keeps what became of the firings of schedules: of each campaign the newest thousand
// whose time has come, and firings of times to come. The proof that a firing launches one run is
// CreateRun, not this record.
type FiringLedger interface {
	// NoteFiring stores a firing, or changes one whose outcome is open; a final outcome stays. It
	// reports whether the outcome changed.
	NoteFiring(ctx context.Context, f Firing) (changed bool, err error)
	Firings(ctx context.Context, f FiringFilter) ([]Firing, error)
	// LastMissed is the latest Since of a missed or failed firing of any campaign; zero: none is.
	LastMissed(ctx context.Context) (time.Time, error)
	// Clock is the time of the clock that all replicas share: the database server's, or, with SQLite,
	// that of this machine, and never before the newest time in the ledger.
	Clock(ctx context.Context) (time.Time, error)
}
