// Package postgres is a ledger in a PostgreSQL database, from which any number of replicas send.
// internal/daemon opens it by ledger.Open. It implements campaign.Ledger and promises what that
// interface says; the rules of both databases stand in internal/ledger, the schema's story in that
// package's comment.
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
// rows. Hot sessions therefore leave the planner no choice (session.go), statements are
// written so that no join can be turned round, and a test explains every statement that is sent,
// on empty, tiny, young and full tables. Leases use the server's clock (ledger_now). What the
// ledger knows of its own past (server, timeline, marks acknowledged to this process) tells
// when it went back in time: identity.go, marks.go.
package postgres
