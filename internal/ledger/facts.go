package ledger

import "time"

// Facts are what a diagnosis asks of a ledger.
type Facts struct {
	// Durable names the settings on which the durability of a commit rests, in one sentence.
	Durable string
	// Unsafe is the setting that can lose a commit, with its remedy; nil for none.
	Unsafe error
	// Clock is the database's clock, between two readings of ours; zero if it has none of its own.
	Clock time.Time
}
