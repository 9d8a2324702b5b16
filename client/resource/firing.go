package resource

import "time"

// Firing is one firing of a schedule: to come, or past.
type Firing struct {
	Campaign string    `json:"campaign"`
	File     string    `json:"file"`
	Schedule string    `json:"schedule"` // schedule.cron, or schedule.at
	Timezone string    `json:"timezone"`
	At       time.Time `json:"at"`
	Local    string    `json:"local"`
	// Outcome is next for a firing that is still to come.
	Outcome string `json:"outcome"`
	Run     string `json:"run,omitempty"`
	Detail  string `json:"detail,omitempty"`
	// Missed counts the firings before this one that no process fired, from MissedSince on.
	Missed      int64     `json:"missed,omitempty"`
	MissedSince time.Time `json:"missed_since,omitzero"`
}
