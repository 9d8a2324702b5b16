// Package ledger is the durable record of campaignd: which delivery has been
// posted, refused, delivered, and what nobody knows yet. It implements
// campaign.Ledger on SQLite (one process sends) and on PostgreSQL (any number of
// replicas send); internal/daemon opens it, nobody else knows which one it is.
//
// It promises what campaign.Ledger says, and proves it with one suite for both
// backends, internal/ledger/ledgertest: what a method wrote is durable when it returns,
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
// Both backends share the key arithmetic (key.go), the message hash (siphash.go), states,
// flags and lattice (state.go) and the matching of orphans (adopt.go). A rid is
// run<<32 | seq; a segment's key is run<<32 | index, and index is seq/4096.
//
// # SQLite
//
// One goroutine owns the one writing connection. It takes everything that waits, most
// urgent first (intents, results, webhooks, imports), runs all of it in one transaction
// (when an operation fails, each again in its own, so that it does not spoil the others), and
// answers after the commit: synchronous=FULL costs one fdatasync a group. Readers are
// other connections and never wait for it. reliability.md 2.5 and 6.2 hold the
// measurements behind each pragma.
//
// # PostgreSQL
//
// Any number of replicas write at once, each with three small pools: intents and results,
// webhooks, reports. An operation is one transaction of one to four round trips, whatever the
// number of its rows. Everything that two replicas may do at the same time is a compare-and-swap
// (marks, epochs, job leases), a merge that commutes (results, statuses, suppressions), or waits
// for a row lock taken in one order: run, segments by key, budgets, outcomes by key. What the
// server breaks off (deadlock, restart) is tried again; an intent whose commit was not answered is
// read back under a lock and counts as granted only when it is certain.
//
// A statement's plan is made once and kept while its tables grow from nothing to millions of
// rows. Hot sessions therefore leave the planner no choice (postgres_session.go), statements are
// written so that no join can be turned round, and a test explains every statement that is sent,
// on empty, tiny, young and full tables. Leases use the server's clock (ledger_now). What the
// ledger knows of its own past (server, timeline, marks acknowledged to this process) tells
// when it went back in time: postgres_place.go, postgres_marks.go.
package ledger
