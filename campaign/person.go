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
	// PersonRecords returns what the ledger has of a number beside the suppression list and what Line
	// has of its rows. rows are those rows; without them the records of single deliveries are missing.
	// key is recipients.Key.
	PersonRecords(ctx context.Context, key int64, rows []Line) ([]PersonRecord, error)
}

// PersonRecord is one record about a person.
type PersonRecord struct {
	Kind string // such as order or change_of_number
	// Run and Seq name the delivery that it is about; Run 0: it is about none.
	Run RunNo
	Seq int64
	// Facts are texts, numbers, true, times, statuses and numbers of runs (RunNo) by name. What is
	// empty is left out.
	Facts map[string]any
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
