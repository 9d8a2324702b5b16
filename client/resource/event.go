package resource

import "encoding/json"

// The types of events.
const (
	EventReset    = "reset"       // forget what you know: the state as it is now follows; Data has the reason
	EventReady    = "ready"       // the state has been told; changes follow
	EventRun      = "run"         // a Run began or changed its state
	EventProgress = "progress"    // Progress of a run
	EventHold     = "hold"        // a hold began or changed: campaign.HoldState
	EventLifted   = "hold.lifted" // a hold ended: campaign.HoldState as it was last
	EventFiring   = "firing"      // a Firing of a schedule, or its outcome
	EventDrop     = "drop"        // a Drop was taken, or changed its state
)

// Event is one event of the operator's API. A program that was away gives the last ID it saw, and
// gets what has changed since.
type Event struct {
	ID   string // "": of the state that follows a reset
	Type string
	Data json.RawMessage
}

// Progress is how far a run is.
type Progress struct {
	Run  string `json:"run"`
	Rows int64  `json:"rows"`
	// Left is how many rows no attempt was made for yet.
	Left int64 `json:"left"`
}
