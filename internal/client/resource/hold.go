package resource

import "campaignd/campaign"

// HoldRequest asks for a hold.
type HoldRequest struct {
	Scope  campaign.HoldScope `json:"scope"`
	ID     string             `json:"id"`
	Reason string             `json:"reason,omitempty"` // for people
	// For is the duration of the hold; nil: until an operator lifts it.
	For *campaign.Duration `json:"for,omitempty"`
}

// LiftRequest asks for the end of holds. With Scope and ID it selects the holds of that scope and
// id, and with Reason those of that reason. Without Scope and ID, Reason is required: a reason, or
// the name of a scope.
type LiftRequest struct {
	Scope  campaign.HoldScope `json:"scope,omitempty"`
	ID     string             `json:"id,omitempty"`
	Reason string             `json:"reason,omitempty"`
}
