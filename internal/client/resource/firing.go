package resource

import "time"

// Firing is a future or a past firing of a schedule.
type Firing struct {
	Campaign string    `json:"campaign"`
	File     string    `json:"file"`
	Schedule string    `json:"schedule"` // schedule.cron, or schedule.at
	Timezone string    `json:"timezone"`
	At       time.Time `json:"at"`
	Local    string    `json:"local"`
	// Outcome is next for a future firing.
	Outcome string `json:"outcome"`
	Run     string `json:"run,omitempty"`
	Detail  string `json:"detail,omitempty"`
	// Missed counts the firings from MissedSince to this one that no process fired.
	Missed      int64     `json:"missed,omitempty"`
	MissedSince time.Time `json:"missed_since,omitzero"`
}
