// Package control does what an operator asks of a run: find it, pause it, resume it, cancel it,
// approve it, and change its limits. Each request writes to the ledger only; the sender of the run
// obeys what it reads there, so a request works from any process.
//
// internal/operator calls it for the commands and the API. It promises that a request which does
// not fit the state of the run changes nothing and says which command does.
package control
