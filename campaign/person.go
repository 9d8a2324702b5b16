package campaign

import "context"

// PersonLedger finds the rows of one number in all runs (docs/protocol.md#numbers).
type PersonLedger interface {
	// PersonParts returns the next parts of runs before the part before, the newest runs
	// first, with the rows of the number; 0 begins with the newest. If before is a later segment of a
	// part, that part is the first one. key is recipients.Key. Without parts there are no more.
	PersonParts(ctx context.Context, key, before int64) ([]PersonPart, error)
	// KeepNumbers keeps the numbers of one part of an imported run in order, so that PersonParts need
	// not read its rows, and reports whether there was one. On a ledger that is open for reading only
	// it does nothing.
	KeepNumbers(ctx context.Context) (kept bool, err error)
}

// PersonPart says which rows of a part of a run may have a number.
type PersonPart struct {
	ID   int64 // the key of its first segment; the next segments have the next keys
	Run  RunNo
	From int64 // the first seq of the part
	To   int64 // one past its last seq
	// Seqs are the first 64 rows with the number. Retention or an erasure may have taken them since.
	Seqs []int64
	// Unread means that the numbers of the part are not kept: every row may have it.
	Unread bool
}
