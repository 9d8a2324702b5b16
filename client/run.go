package client

import (
	"time"

	"campaignd/campaign"
)

// Run is a run as the lists show it.
type Run struct {
	ID        string               `json:"id"`
	Campaign  string               `json:"campaign"`
	State     campaign.State       `json:"state"`
	Reason    campaign.PauseReason `json:"reason,omitempty"` // of paused
	Detail    string               `json:"detail,omitempty"`
	Wanted    campaign.Wanted      `json:"wanted"`
	Rows      int64                `json:"rows"`
	List      string               `json:"list"`
	FollowUp  campaign.RunNo       `json:"follow_up_of,omitempty"` // number of the earlier run
	CreatedAt time.Time            `json:"created_at,omitzero"`
	EndedAt   time.Time            `json:"ended_at,omitzero"`
	Retired   campaign.Retired     `json:"retired,omitzero"` // rows that retention deleted; totals count them
	Holds     []campaign.HoldState `json:"holds,omitempty"`  // those that stop messages of the run now
}

// RunOf is a run without its holds.
func RunOf(r campaign.Run) Run {
	return Run{
		ID: r.ID(), Campaign: r.Campaign, State: r.State, Reason: r.Reason, Detail: r.Detail, Wanted: r.Wanted, Rows: r.Rows,
		List: r.List(), FollowUp: r.Parent, CreatedAt: r.CreatedAt, EndedAt: r.EndedAt, Retired: r.Retired,
	}
}

// Controlled is a run after a request, with a sentence on what happens next.
type Controlled struct {
	Run      Run    `json:"run"`
	Sentence string `json:"sentence"`
}

// Limits are the limits by which a run shares its numbers.
type Limits struct {
	Run string `json:"run"`
	campaign.RunLimits
	Sentence string `json:"sentence,omitempty"`
}

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
}

// DeliveryFilter selects deliveries of a run. Its zero value selects all.
type DeliveryFilter struct {
	Status     campaign.Status
	Reason     string
	Code       string
	Connection string
	To         string // a phone number with its country code
	// Since and Before bound the latest time of a delivery; zero: no bound.
	Since, Before time.Time
	After         int64 // the Next of the page before; 0: the first page
	Limit         int   // at most this many, 1 to 1000; 0: 100
}

// DeliveryPage is a page of deliveries, in the order in which the run sends them: that of the list
// within each time zone. It may have fewer than were asked for, also none, although more follow:
// reading one takes some milliseconds, whatever the filter.
type DeliveryPage struct {
	Deliveries []Delivery
	Next       int64 // 0: there are no more
}

// HoldRequest asks for a hold.
type HoldRequest struct {
	Scope  campaign.HoldScope `json:"scope"`
	ID     string             `json:"id"`
	Reason string             `json:"reason,omitempty"` // for people
	// For is how long; nil: until it is lifted.
	For *campaign.Duration `json:"for,omitempty"`
}

// LiftRequest asks for the end of holds: those of a Scope and ID, of any reason or one. Without
// Scope and ID, those of a reason or in a scope, which Reason then names.
type LiftRequest struct {
	Scope  campaign.HoldScope `json:"scope,omitempty"`
	ID     string             `json:"id,omitempty"`
	Reason string             `json:"reason,omitempty"`
}
