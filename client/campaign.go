package client

import (
	"time"

	"campaignd/campaign"
)

// Campaign is a file of the campaigns folder. One that cannot be read has a file and findings only.
type Campaign struct {
	Name        string   `json:"name,omitempty"`
	File        string   `json:"file"`
	List        string   `json:"list,omitempty"` // recipients.file
	Connections []string `json:"connections,omitempty"`
	Template    string   `json:"template,omitempty"`
	Language    string   `json:"language,omitempty"`
	// Schedule is schedule.cron or schedule.at, and Next the first firing to come; without a schedule
	// both are empty.
	Schedule string    `json:"schedule,omitempty"`
	Timezone string    `json:"timezone,omitempty"`
	Next     time.Time `json:"next,omitzero"`
	// Findings are the faults of the file.
	Findings []campaign.Finding `json:"findings,omitempty"`
}

// Drop is a file of a watched place. One that waits has no number, no run and no time but Since.
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

// Imported counts what became of the rows of a file of suppressions.
type Imported struct {
	Rows     int `json:"rows"`
	Added    int `json:"added"`
	Known    int `json:"known"`    // they were there already
	Rejected int `json:"rejected"` // they are not imported
	// Faults are the first rejected rows, at most a thousand.
	Faults []RowFault `json:"faults,omitempty"`
}

// RowFault says why a row of a file was not imported.
type RowFault struct {
	Line int    `json:"line"`
	What string `json:"what"`
}

// SuppressionImport tells what the rows of a file do not say themselves.
type SuppressionImport struct {
	// File is the name of the file, which the proof of each number has.
	File   string
	Scope  campaign.Scope // "": marketing
	Source string         // for example crm-2026; "": none
	At     time.Time      // since when they are suppressed; zero: now
	// DefaultRegion is the ISO 3166 country of numbers written without +; "" refuses them.
	DefaultRegion string
}
