// Package connect has the connections of the PostgreSQL ledger: a pool for each kind of work, the
// check that refuses a pooler that shares sessions, and what an error of the server means. The
// ledger calls it for each transaction. A pool opens connections when they are needed, has no
// goroutine, and pauses after a failure. Migrations get connections of database/sql.
package connect
