package resource

import (
	"time"

	"campaignd/campaign"
)

// Notification is a change that campaignd tells one of the operator's addresses.
type Notification struct {
	No          int64                      `json:"no"`
	ID          string                     `json:"id"`
	Destination string                     `json:"destination"`
	Kind        string                     `json:"kind"`
	Run         string                     `json:"run,omitempty"`
	Campaign    string                     `json:"campaign,omitempty"`
	Subject     string                     `json:"subject,omitempty"`
	Reason      string                     `json:"reason,omitempty"`
	Detail      string                     `json:"detail,omitempty"`
	At          time.Time                  `json:"at"`
	State       campaign.NotificationState `json:"state"`
	Attempts    int                        `json:"attempts"`
	NextAt      time.Time                  `json:"next_at,omitzero"`
	Error       string                     `json:"error,omitempty"`
	Body        string                     `json:"body,omitempty"`
}
