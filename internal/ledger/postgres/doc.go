// Package postgres keeps the ledger in a PostgreSQL database, from which any number of replicas
// send. internal/daemon opens it through ledger.Open. It implements campaign.Ledger and promises
// what that interface says. The rules of both databases are in internal/ledger, and that package's
// comment explains the schema.
//
// Any number of replicas write at the same time. Each has three small pools of connections: for
// intents and results, for webhooks, and for reports. An operation is one transaction of one to
// four round trips, however many rows it has. Two replicas never overwrite each other: an operation
// is a compare-and-swap (marks, epochs, job leases), or a merge that commutes (results, statuses,
// suppressions), or waits for row locks, which all transactions take in the same order: run,
// segments by key, budgets, open attempts by key, outcomes by key. An operation that the server
// aborts (deadlock, restart) is tried again. If the commit of an intent gets no answer, the ledger
// reads the intent back, under a lock, and grants it only when the commit is certain.
//
// The server plans a statement once and keeps the plan while its tables grow from nothing to
// millions of rows. In the sessions of intents, results and webhooks the planner therefore has no
// choice (session.go), no statement has a join whose order can change, and a test explains every
// statement that is sent, on empty, tiny, young and full tables. Leases use the server's clock (the
// SQL function ledger_now). Two things show that the ledger went back in time: another server or
// timeline (identity.go), and a mark below the one that this process was told (marks.go).
// docs/protocol.md#postgresql lists the rules.
package postgres
