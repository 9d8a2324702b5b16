// Package ledger is the durable record of campaignd: which deliveries were posted, refused or
// delivered, and which are in doubt. The package has the rules that both databases share, as
// functions of what a backend has read. The backends have the SQL: internal/ledger/sqlite (one
// process sends) and internal/ledger/postgres (any number of replicas send). internal/daemon calls
// Open with the Open functions of both backends; no other package knows which one it is
// (docs/decisions/0014-ledger-packages.md).
//
// Both backends promise what campaign.Ledger says, and pass one suite, internal/ledger/ledgertest:
// what a method wrote is durable when it returns, no intent is granted twice, facts merge in any
// order, only the owner with the newest epoch of a segment decides, and every row of a list is
// counted under exactly one status.
//
// # The schema
//
// The import writes each delivery once (table delivery), and it never changes. Segments divide the
// deliveries of a run into parts of up to 4,096. Each intent moves the mark of a segment over a
// group of deliveries, with a compare-and-swap on (epoch, mark). The mark is the durable statement
// that the deliveries below it may be posted: one small update for each group instead of one for
// each message. The table outcome says what became of a delivery:
//
//	seq >= mark, no outcome        queued
//	seq <  mark, no outcome        sending while the lease runs, in doubt after it
//	outcome deferred               queued: attempt n was not sent, not before next_due
//	outcome retrying               as below the mark: the intent of a later attempt
//	outcome doubt                  in_doubt since result_at
//	outcome unknown                a doubt whose window ended
//	outcome accepted, rank         accepted, sent, failed, delivered, read
//	outcome refused, skipped       for good
//
// After its insertion an accepted outcome changes only in the columns that webhooks write. Each of
// them changes one way (times to the earliest, rank to the highest), and no index has any of them.
// A webhook finds its row by an 8-byte keyed hash of the message id; the index is not unique, so
// the full id is compared. A status that finds no row waits in the table orphan. The transaction
// that records the receipt applies it, or a sweep takes it as the proof for the one delivery that
// it can be about. The table attempt has the candidates: each attempt from the beginning of its
// doubt until its result or an event proves what became of it (docs/protocol.md#adoption).
//
// The column scope of a suppression is its ScopeText: its scope, and behind an @ the company whose
// messages alone it stops.
//
// Orders of the commerce platform are in the table purchase, and order_hint names those that events
// told of. The table conversion has the deliveries to the person of an order, of every run. A
// report decides to which of them an order is attributed, with package campaign/conversion, so a
// later receipt, refund or run needs no correction.
//
// The key of a delivery is run<<32 | seq; a segment's is run<<32 | index, and index is seq/4096.
package ledger
