package resource

import (
	"encoding/json"
	"time"

	"campaignd/campaign"
)

// Delivery is one row of a run's list, with what became of it.
type Delivery struct {
	Row         int64           `json:"row"`
	To          string          `json:"to"`
	Connection  string          `json:"connection,omitempty"`
	Status      campaign.Status `json:"status"`
	Reason      string          `json:"reason,omitempty"`
	Code        string          `json:"code,omitempty"`
	MessageID   string          `json:"message_id,omitempty"`
	Attempts    int             `json:"attempts"`
	AcceptedAt  time.Time       `json:"accepted_at,omitzero"`
	SentAt      time.Time       `json:"sent_at,omitzero"`
	DeliveredAt time.Time       `json:"delivered_at,omitzero"`
	ReadAt      time.Time       `json:"read_at,omitzero"`
	FailedAt    time.Time       `json:"failed_at,omitzero"`
	RequestID   string          `json:"request_id,omitempty"` // x-request-id of a refusal or doubt
	Price       *Price          `json:"price,omitempty"`      // nil: the platform told none
}

// Price is how the platform bills a message, and what the message costs by the operator's own
// rates.
type Price struct {
	Category string      `json:"category"`
	Type     string      `json:"type"`
	Market   string      `json:"market"`         // ISO 3166-1; "" if the number has no country
	Cost     json.Number `json:"cost,omitempty"` // of a delivered message of the type regular that has a rate
	Currency string      `json:"currency,omitempty"`
}

// PersonMessage is a row of a run with the number that was asked for.
type PersonMessage struct {
	Run      string    `json:"run"`
	Campaign string    `json:"campaign"`
	Template string    `json:"template"`
	Language string    `json:"language"`
	Launched time.Time `json:"launched_at"` // of the run
	Delivery
}

// DeliveryFilter selects deliveries of a run. Its zero value selects all.
type DeliveryFilter struct {
	Status     campaign.Status
	Reason     string
	Code       string
	Connection string
	To         string // a phone number, as the list of the run may write it
	// Since and Before limit the latest time of a delivery; zero: no limit.
	Since, Before time.Time
	After         int64 // the Next of the page before; 0: the first page
	Limit         int   // at most this many, 1 to 1000; 0: 100
}

// DeliveryPage is a page of deliveries, in the order in which the run sends them: that of the list
// within each time zone. A page may have fewer deliveries than Limit, or none, although more
// follow: the server ends a page after some milliseconds, whatever the filter.
type DeliveryPage struct {
	Deliveries []Delivery
	Next       int64 // 0: there are no more
}
