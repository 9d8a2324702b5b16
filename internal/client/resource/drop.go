package resource

import "time"

// Drop is a file of a watched folder. While the file waits it has no number, no run, and of the
// times only Since.
type Drop struct {
	File     int64  `json:"file,omitempty"` // its number
	Bucket   string `json:"bucket"`
	Key      string `json:"key"`
	Campaign string `json:"campaign,omitempty"`
	// State is a campaign.DropState, or waiting.
	State   string    `json:"state"`
	Run     string    `json:"run,omitempty"`
	Place   string    `json:"place,omitempty"`
	Detail  string    `json:"detail,omitempty"`
	Bytes   int64     `json:"bytes,omitempty"`
	SHA256  string    `json:"sha256,omitempty"`
	TakenAt time.Time `json:"taken_at,omitzero"`
	Since   time.Time `json:"since,omitzero"`
}

// DropWaiting is the State of a file that was not taken yet.
const DropWaiting = "waiting"
