package resource

import (
	"time"

	"campaignd/campaign"
)

// Suppression is a number that must not be sent to.
type Suppression struct {
	To      string         `json:"to"`
	Scope   campaign.Scope `json:"scope"`
	Company string         `json:"company,omitempty"` // whose messages alone it stops; "": those of all
	Source  string         `json:"source"`
	At      time.Time      `json:"at"`
	Until   time.Time      `json:"until,omitzero"`
}

// Suppressed counts what became of numbers that were to be added or removed.
type Suppressed struct {
	Changed   int `json:"changed"`
	Unchanged int `json:"unchanged"`
}

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
