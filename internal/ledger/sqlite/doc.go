// Package sqlite keeps the ledger in one file, from which one process sends. internal/daemon opens
// it through ledger.Open. It implements campaign.Ledger and promises what that interface says. The
// rules of both databases are in internal/ledger, and that package's comment explains the schema.
//
// One goroutine, the writer, owns the one connection that writes. It takes the operations that
// wait, most urgent first (intents, results, webhooks, imports), runs them in one transaction, and
// answers after the commit. With synchronous=FULL a transaction costs one fdatasync, however many
// operations share it. If one of them fails, each runs again in a transaction of its own. Readers
// use other connections and never wait for the writer. The measurements behind the pragmas are in
// docs/protocol.md#sqlite.
package sqlite
