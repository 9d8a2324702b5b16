// Package ledger is the durable record of campaignd: which delivery has been
// posted, refused, delivered, and what nobody knows yet. It holds the rules that the two
// databases share, as functions of what a backend has read; the backends hold the SQL:
// internal/ledger/sqlite (one process sends) and internal/ledger/postgres (any number of
// replicas send). internal/daemon opens a ledger with Open and both backends' Open functions;
// nobody else knows which one it is (docs/decisions/0014-ledger-packages.md).
//
// Both promise what campaign.Ledger says, and prove it with one suite,
// internal/ledger/ledgertest: what a method wrote is durable when it returns,
// no intent is granted twice, facts merge in any order, only the holder of a segment's
// epoch decides, and every row of a list is counted under exactly one status.
//
// # The schema's story
//
// A delivery is written once, by the import, and never changes (table delivery).
// Sending does not touch it: rows are cut into segments of up to 4,096, and moving a
// segment's mark from lo to hi, compare-and-swap on (epoch, mark), is the durable
// statement that those deliveries may be posted from now on: one small update a group
// instead of one a message. What became of a delivery is inserted once, into outcome:
//
//	seq >= mark, no outcome        queued
//	seq <  mark, no outcome        sending while the lease lives, in doubt when its owner is dead
//	outcome deferred               queued: attempt n was not sent, not before next_due
//	outcome retrying               as below the mark: the intent of a later attempt
//	outcome doubt                  in_doubt since result_at
//	outcome unknown                a doubt whose window ended
//	outcome accepted, rank         accepted, sent, failed, delivered, read
//	outcome refused, skipped       for good
//
// After its insertion an accepted outcome changes only in the columns that webhooks
// write, each of which moves one way (times to the earliest, rank to the highest), and
// none of which stands in an index. A webhook finds its row by an 8-byte keyed hash of
// the message id; the index is not unique and the full id is compared. A status that
// finds nothing waits in orphan: it is absorbed by the transaction that records the
// receipt, or adopts the one doubt that it can be about (Sweep).
//
// The key of a delivery is run<<32 | seq; a segment's is run<<32 | index, and index is seq/4096.
package ledger
