package resource

import (
	"time"

	"campaignd/campaign"
)

// PersonExport is everything that the ledger has about one number
// (docs/operations.md#export-of-a-persons-data).
type PersonExport struct {
	To           string              `json:"to"`
	At           time.Time           `json:"at"`
	Company      string              `json:"company,omitempty"` // only what belongs to its runs; "": everything
	Suppressions []ProvenSuppression `json:"suppressions"`
	Messages     []ExportedMessage   `json:"messages"`
	Records      []PersonRecord      `json:"records"`
	NotReached   []string            `json:"not_reached"` // what else may have the number
}

// ProvenSuppression is an entry of the suppression list with its proof.
type ProvenSuppression struct {
	Suppression
	Proof campaign.Proof `json:"proof,omitzero"`
}

// ExportedMessage is a row of a run with the number, and all that the run has of it.
type ExportedMessage struct {
	PersonMessage
	DoubtSince time.Time        `json:"doubt_since,omitzero"`
	List       []Cell           `json:"list"`              // the row of the list, in its order
	Content    *ExportedContent `json:"content,omitempty"` // what is sent of it; nil: the row cannot be sent
}

// Cell is a cell of a list with the name of its column, "" beyond the header.
type Cell struct {
	Column string `json:"column"`
	Value  string `json:"value"`
}

// ExportedContent has the values that the template was sent with.
type ExportedContent struct {
	Body    []string `json:"body,omitempty"`    // the variables of the text, in order
	Buttons []string `json:"buttons,omitempty"` // the values of the buttons, in order
	Code    string   `json:"code,omitempty"`    // of a one-time password
	Link    string   `json:"link,omitempty"`    // of the header's medium
}

// PersonRecord is one record of the ledger about a person.
type PersonRecord struct {
	Kind  string         `json:"kind"`
	Run   string         `json:"run,omitempty"` // the message that it is about; "": none
	Row   int64          `json:"row,omitempty"` // 0: the row was deleted
	Facts map[string]any `json:"facts"`
}
