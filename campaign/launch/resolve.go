package launch

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"campaignd/campaign"
	"campaignd/campaign/file"
	"campaignd/campaign/reception"
)

// Doubtful is one row that may or may not have been sent, with the evidence that exists.
type Doubtful struct {
	Row        int64           `json:"row"`
	To         string          `json:"to"`
	Status     campaign.Status `json:"status"` // in_doubt or unknown
	Connection string          `json:"connection"`
	Reason     string          `json:"reason"` // how the attempt ended: time_out, reset, http_502, interrupted ...
	Attempts   int             `json:"attempts"`
	// RequestID and TraceID identify the attempt for the service's support.
	RequestID string `json:"request_id,omitempty"`
	TraceID   string `json:"trace_id,omitempty"`
	// Resend is false when the service accepted the message with an answer without an id.
	Resend bool `json:"may_resend"`
}

// Uncertainty counts and lists the uncertain rows of a run.
type Uncertainty struct {
	Run      string           `json:"run"`
	InDoubt  int64            `json:"in_doubt"` // a webhook may still prove them accepted
	Unknown  int64            `json:"unknown"`  // their doubt window is over; a late webhook may still prove them accepted
	ByReason map[string]int64 `json:"by_reason"`
	Rows     []Doubtful       `json:"rows"` // the first of them
	// Late counts the unknown rows whose webhooks the service may still deliver, until LateUntil:
	// webhooks were not taken all the time since the rows were sent.
	Late      int64     `json:"late_webhooks,omitzero"`
	LateUntil time.Time `json:"late_webhooks_until,omitzero"`
	// NotReplayed is when a lost time began whose events may prove some of these rows and were not
	// replayed. Such rows are not sent again unless the operator says so.
	NotReplayed time.Time `json:"not_replayed_since,omitzero"`
}

// WithoutID lists the reasons of rows that only a follow-up by that very reason sends again.
func (u Uncertainty) WithoutID() []string {
	return slices.DeleteFunc(slices.Clone(withoutID), func(reason string) bool { return u.ByReason[reason] == 0 })
}

// ReadUncertainty collects the uncertain rows of a run and lists at most limit of them. `resolve`
// shows them to the operator.
func ReadUncertainty(
	ctx context.Context, l campaign.ReportLedger, run campaign.Run, limit int, listening reception.Listening,
) (Uncertainty, error) {
	e := Uncertainty{Run: run.ID(), ByReason: map[string]int64{}, Rows: []Doubtful{}}
	var window time.Duration
	if d, err := file.ParseStored(run.ID(), run.Definition); err == nil {
		window = d.Policies.DoubtWindow.Std()
	}
	for line, err := range l.Lines(ctx, run.No) {
		if err != nil {
			return Uncertainty{}, fmt.Errorf("read %s: %w", run.ID(), err)
		}
		switch line.Status {
		case campaign.InDoubt:
			e.InDoubt++
		case campaign.Unknown:
			e.Unknown++
			if due := listening.Due(line.DoubtSince); !due.IsZero() {
				e.Late++
				if due.After(e.LateUntil) {
					e.LateUntil = due
				}
			}
		default:
			continue
		}
		if lost, found := listening.Unreplayed(line.DoubtSince, window); found {
			e.NotReplayed = lost.Since
		}
		reason := cmp.Or(line.Reason, line.Code)
		e.ByReason[reason]++
		if len(e.Rows) < limit {
			e.Rows = append(e.Rows, Doubtful{
				Row: line.Row, To: line.To, Status: line.Status, Connection: line.Connection, Reason: reason, Attempts: line.Attempts,
				RequestID: line.RequestID, TraceID: line.TraceID, Resend: !slices.Contains(withoutID, reason),
			})
		}
	}
	return e, nil
}
