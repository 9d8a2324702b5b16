package campaign

import "context"

// Post is one attempt of one delivery.
type Post struct {
	Run     RunNo
	Seq     int64
	Attempt int // from 1
}

// WireLog is what the wire log of a dead process proves: it had posted Posts, and nothing else that
// has no durable result (docs/protocol.md#wire-log).
type WireLog struct {
	Owner string // the name of the process in its leases
	Posts []Post
}

// WireLedger takes the statements of wire logs.
type WireLedger interface {
	// LedgerID is the identity of this ledger, which a copy of it has too.
	LedgerID() string
	// Marks writes and reads the marks of this ledger's attempts.
	Marks() Marks
	// Unposted queues again what w.Owner was granted and had not posted, and returns how many. That
	// covers deliveries without an outcome, retries without a result, and doubts that Recover wrote of
	// them; what is proven or unknown stays. As in Release, the attempt does not count and the budget
	// gets it back. It also ends the owner's leases, and fences a last call that the owner may have
	// sent to the database. The caller must know that the owner is dead. If the log holds a post of
	// which the ledger has no intent, the ledger went back in time: ledger.ErrRestored, and nothing is
	// written. A second call changes nothing.
	Unposted(ctx context.Context, w WireLog) (int, error)
}
