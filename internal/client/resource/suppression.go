package resource

import (
	"time"

	"campaignd/campaign"
)

// Suppression is a number to which nothing may be sent.
type Suppression struct {
	To      string         `json:"to"`
	Scope   campaign.Scope `json:"scope"`
	Company string         `json:"company,omitempty"` // it stops the messages of this company only; "" stops the messages of all
	Source  string         `json:"source"`
	At      time.Time      `json:"at"`
	Until   time.Time      `json:"until,omitzero"`
}

// Suppressed counts the numbers of a request to add or remove.
type Suppressed struct {
	Changed   int `json:"changed"`
	Unchanged int `json:"unchanged"`
}

// Imported counts the rows of a file of suppressions.
type Imported struct {
	Rows     int `json:"rows"`
	Added    int `json:"added"`
	Known    int `json:"known"`    // the number was suppressed already
	Rejected int `json:"rejected"` // not imported
	// Faults are the first rejected rows, at most a thousand.
	Faults []RowFault `json:"faults,omitempty"`
}

// RowFault says why a row of a file was not imported.
type RowFault struct {
	Line int    `json:"line"`
	What string `json:"what"`
}

// SuppressionImport has the values for rows that lack a value of their own.
type SuppressionImport struct {
	// File is the name of the file. It is stored as the proof of each number.
	File   string
	Scope  campaign.Scope // "": marketing
	Source string         // for example crm-2026; "": none
	At     time.Time      // since when they are suppressed; zero: now
	// DefaultRegion is the ISO 3166 country of numbers written without +; "" refuses them.
	DefaultRegion string
}

// SyncedSuppressions is what a synchronisation with the people that are blocked at the service did.
type SyncedSuppressions struct {
	Connection string `json:"connection"`
	Company    string `json:"company"`
	// Suppressed and Lifted count the entries of the list that were added and taken off; Blocked
	// counts the people that are blocked at the service from now on.
	Suppressed int          `json:"suppressed"`
	Lifted     int          `json:"lifted"`
	Blocked    int          `json:"blocked"`
	Failed     []NotBlocked `json:"failed"`
}

// NotBlocked is a person whom the service did not block.
type NotBlocked struct {
	To   string `json:"to"`
	Code int    `json:"code,omitempty"` // of the platform
	Why  string `json:"why"`
}
