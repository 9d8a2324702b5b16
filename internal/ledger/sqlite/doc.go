// Package sqlite is a ledger in one file, from which one process sends. internal/daemon opens it
// by ledger.Open. It implements campaign.Ledger and promises what that interface says; the rules of
// both databases stand in internal/ledger, the schema's story in that package's comment.
//
// One goroutine owns the one writing connection. It takes everything that waits, most
// urgent first (intents, results, webhooks, imports), runs all of it in one transaction
// (when an operation fails, each again in its own, so that it does not spoil the others), and
// answers after the commit: synchronous=FULL costs one fdatasync a group. Readers are
// other connections and never wait for it. docs/protocol.md#sqlite holds the
// measurements behind each pragma.
package sqlite
