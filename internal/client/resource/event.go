package resource

import (
	"encoding/json"

	"campaignd/campaign"
)

// The types of events.
const (
	EventReset    = "reset"       // forget what you know: the state as it is now follows; Data has the reason
	EventReady    = "ready"       // the whole state was sent; changes follow
	EventRun      = "run"         // a Run began or changed its state
	EventProgress = "progress"    // Progress of a run
	EventHold     = "hold"        // a hold began or changed: wording.HoldState
	EventLifted   = "hold.lifted" // a hold ended: wording.HoldState as it was last
	EventFiring   = "firing"      // a Firing of a schedule, or its outcome
	EventDrop     = "drop"        // a Drop was taken, or changed its state
)

// Event is one event of the operator's API. A program that connects again gives the last ID that it
// saw, and gets the events after it.
type Event struct {
	ID   string // "" for the state after a reset
	Type string
	Data json.RawMessage
}

// Progress is the progress of a run. Its last event comes when the run has ended.
type Progress struct {
	Run  string `json:"run"`
	Rows int64  `json:"rows"`
	// Left is the number of rows without an attempt.
	Left int64 `json:"left"`
	// Totals counts each row once, as the report does. Every status is a key.
	Totals map[campaign.Status]int64 `json:"totals"`
	// Rate is how many messages a second its numbers send of it now, as why has it.
	Rate float64 `json:"rate"`
}
