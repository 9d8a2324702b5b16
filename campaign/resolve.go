package campaign

import (
	"context"
	"fmt"
)

// Doubtful is one row of which nobody knows whether it was sent, with the evidence there is.
type Doubtful struct {
	Row        int64  `json:"row"`
	To         string `json:"to"`
	Status     Status `json:"status"` // in_doubt or unknown
	Connection string `json:"connection"`
	Reason     string `json:"reason"` // what the attempt ended with: time_out, reset, http_502, interrupted ...
	Attempts   int    `json:"attempts"`
	RequestID  string `json:"request_id,omitempty"` // what to ask the service's support about
	TraceID    string `json:"trace_id,omitempty"`
	Resend     bool   `json:"may_resend"` // false: the service did accept it, its answer just bore no id
}

// Uncertainty is what is known of a run's uncertain rows.
type Uncertainty struct {
	Run      string           `json:"run"`
	InDoubt  int64            `json:"in_doubt"` // a webhook may still prove them accepted
	Unknown  int64            `json:"unknown"`  // their window is over; a late webhook still would
	ByReason map[string]int64 `json:"by_reason"`
	Rows     []Doubtful       `json:"rows"` // the first of them
}

// ReadUncertainty collects the uncertain rows of a run, of which at most limit are listed. What an operator decides
// with `resolve` starts from here.
func ReadUncertainty(ctx context.Context, l ReportLedger, run Run, limit int) (Uncertainty, error) {
	e := Uncertainty{Run: run.ID(), ByReason: map[string]int64{}, Rows: []Doubtful{}}
	for line, err := range l.Lines(ctx, run.No) {
		if err != nil {
			return Uncertainty{}, fmt.Errorf("read %s: %w", run.ID(), err)
		}
		switch line.Status {
		case InDoubt:
			e.InDoubt++
		case Unknown:
			e.Unknown++
		default:
			continue
		}
		reason := line.Reason
		if reason == "" {
			reason = line.Code
		}
		e.ByReason[reason]++
		if len(e.Rows) < limit {
			e.Rows = append(e.Rows, Doubtful{
				Row: line.Row, To: line.To, Status: line.Status, Connection: line.Connection, Reason: reason, Attempts: line.Attempts,
				RequestID: line.RequestID, TraceID: line.TraceID, Resend: reason != acceptedNoID,
			})
		}
	}
	return e, nil
}

// ResendUnknown puts the unknown rows of an ended run into a follow-up run. The rows stay unknown in the run
// itself: a late webhook may still prove that they were sent, and they then were sent twice, which is the
// operator's choice. Those that the service is known to have accepted are left out.
func ResendUnknown(ctx context.Context, l FollowUpLedger, run Run) (FollowedUp, error) {
	return StartFollowUp(ctx, FollowUpInput{Ledger: l, Parent: run, Where: []Where{{Status: Unknown}}})
}
