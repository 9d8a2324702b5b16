// Package wording has the sentences that people read about the domain: of a hold, of what happened
// to a run, of a limit, of rows that moved, of webhooks that are refused, of events that were lost.
// Commands, the API, notifications, reports and the log show the same ones. Its functions are pure.
package wording
