package campaign

import "time"

// HistoryKind is a kind of change of a run.
type HistoryKind string

// The kinds.
const (
	HistoryState     HistoryKind = "state"  // Value is the State; Detail has the reason of a pause
	HistoryWanted    HistoryKind = "wanted" // Value is what an operator wants: a Wanted
	HistoryLimits    HistoryKind = "limits" // Value is the LimitChange in JSON: all that differs from the launch
	HistoryCanary    HistoryKind = "canary" // the canary was good, and the other rows were released
	HistoryHold      HistoryKind = "hold"   // Value is the HoldScope, ID what is held, Detail the reason
	HistoryHoldEnded HistoryKind = "hold_ended"
)

// HistoryEntry is one change of a run, or of a hold of its messages. It is written in the
// transaction of the change, and stays.
type HistoryEntry struct {
	At     time.Time   `json:"at"`
	Kind   HistoryKind `json:"kind"`
	Value  string      `json:"value,omitempty"`
	ID     string      `json:"id,omitempty"`
	Detail string      `json:"detail,omitempty"`
}

// Hold returns the hold that the entry says began or ended: its scope, id and reason.
func (e HistoryEntry) Hold() (h Hold, is bool) {
	return Hold{Scope: HoldScope(e.Value), ID: e.ID, Reason: e.Detail}, e.Kind == HistoryHold || e.Kind == HistoryHoldEnded
}

// LanePoint says what limited a lane of a run from an instant on.
type LanePoint struct {
	At         time.Time `json:"at"`
	Connection string    `json:"connection"`
	Owner      string    `json:"owner"` // the process
	LimitedBy  LimitedBy `json:"limited_by"`
	Rate       float64   `json:"rate"` // messages a second; told when it changed, at most once a minute
}

// History is what happened to a run, the oldest first.
type History struct {
	Entries []HistoryEntry `json:"entries"`
	Lanes   []LanePoint    `json:"lanes"`
}
