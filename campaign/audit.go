package campaign

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
