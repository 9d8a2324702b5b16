package campaign

import "time"

// HistoryKind is a kind of change of a run.
type HistoryKind string

// The kinds.
const (
	HistoryState     HistoryKind = "state"      // Value is the State; Detail has the reason of a pause
	HistoryWanted    HistoryKind = "wanted"     // Value is what an operator wants: a Wanted
	HistoryLimits    HistoryKind = "limits"     // Value is the LimitChange in JSON: all that differs from the launch
	HistoryCanary    HistoryKind = "canary"     // the other rows were released, by Who or by a verdict; its Detail says what that saw
	HistoryRepeats   HistoryKind = "repeats"    // it sends a template to people who got it before; Detail is a sentence
	HistoryHold      HistoryKind = "hold"       // it began or changed; Value is the HoldScope, ID what is held, Detail the reason
	HistoryHoldEnded HistoryKind = "hold_ended" // it was lifted; one whose time is over has no entry
)

// HistoryEntry is one change of a run, or of a hold of its messages. It is written in the
// transaction of the change, and stays.
type HistoryEntry struct {
	At     time.Time   `json:"at"`
	Kind   HistoryKind `json:"kind"`
	Value  string      `json:"value,omitempty"`
	ID     string      `json:"id,omitempty"`
	Detail string      `json:"detail,omitempty"`
	Source HoldSource  `json:"source,omitempty"` // what began or ended a hold
	Who    string      `json:"who,omitempty"`    // the operator who did, BySchedule, or ByFolder; "": nobody is known
	Why    string      `json:"why,omitempty"`    // why it began, in a sentence
	Until  time.Time   `json:"until,omitzero"`   // when it ends by itself; zero: it does not
}

// Hold returns the hold that the entry says began, changed or ended, with what the entry has of it.
func (e HistoryEntry) Hold() (h Hold, is bool) {
	h = Hold{Scope: HoldScope(e.Value), ID: e.ID, Reason: e.Detail}
	if e.Kind == HistoryHoldEnded {
		h.Lifted, h.LiftedBy, h.LiftedWho = e.At, e.Source, e.Who
		return h, true
	}
	h.Since, h.Until, h.Detail, h.Source, h.Who = e.At, e.Until, e.Why, e.Source, e.Who
	return h, e.Kind == HistoryHold
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
