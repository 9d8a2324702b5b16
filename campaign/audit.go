package campaign

import (
	"context"
	"time"
)

// Problem is one fault that an audit found.
type Problem struct {
	Row  int64 // 0 when the problem concerns the whole run
	Seq  int64
	What string
}

// AuditCounts is what an audit read.
type AuditCounts struct {
	Rows     int64 // deliveries
	Statuses map[Status]int64
	Problems int64 // all, also those that it does not name
	// Summaries is how many summaries of segments are kept; each was compared with its rows.
	Summaries int64
}

// KeptAudit is an audit of a run that somebody asked for and did not wait for.
type KeptAudit struct {
	Began time.Time // zero: there is none
	Ended time.Time // zero: it is under way, or its process has ended
	// Result is what it found, as JSON; "": it failed.
	Result string
}

// AuditLedger keeps the last audit of each run, so that every replica shows it.
type AuditLedger interface {
	// KeepAudit keeps an audit of a run in place of the one before.
	KeepAudit(ctx context.Context, run RunNo, a KeptAudit) error
	LastAudit(ctx context.Context, run RunNo) (KeptAudit, error)
}
