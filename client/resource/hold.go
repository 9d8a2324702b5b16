package resource

import "campaignd/campaign"

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
