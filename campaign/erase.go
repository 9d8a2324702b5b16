package campaign

import "context"

// ErasedNumber stands in a report for a number that was erased, and SourceErasure is the source of
// its suppression.
const (
	ErasedNumber  = "erased"
	SourceErasure = "erasure"
)

// Erased counts what ErasureLedger.Erase did.
type Erased struct {
	// Rows are the deliveries of every run that no longer name the recipient.
	Rows int64 `json:"rows"`
	// UnderWay are deliveries that keep the number until an answer, an event or the end of a doubt
	// tells their outcome. Erase is to be called again then; nothing new is sent to the number
	// meanwhile.
	UnderWay int64 `json:"under_way"`
	// Lists are the lists that this process has in its folders and that may have the number: lists of
	// audiences that are being made or imported, and lists that were uploaded. They are deleted at the
	// end of their import, or a day after their last part; Erase is to be called again then.
	Lists int64 `json:"lists"`
}

// ErasureLedger forgets people (docs/operations.md#erasure).
type ErasureLedger interface {
	// Erase removes a number from the ledger: its variables, message ids, opt-outs with their proofs,
	// and events. Totals stay. A keyed hash of the number stays suppressed in ScopeAll, so that a
	// later list with the number sends nothing and stores neither the number nor its variables.
	// Unsuppress with ScopeAll ends that. Erase may be interrupted and called again. key is
	// recipients.Key.
	Erase(ctx context.Context, key int64) (Erased, error)
	// Pseudonyms are the keyed hashes of a number that Erase leaves, one for each spelling.
	Pseudonyms(key int64) []int64
	// Named returns the keys of the numbers with these pseudonyms that the ledger has.
	Named(ctx context.Context, pseudonyms []int64) (keys []int64, err error)
}
