package resource

import "campaignd/campaign"

// Number is a connection with its limits as they are now.
type Number struct {
	Connection string  `json:"connection"`
	Company    string  `json:"company,omitempty"`
	Account    string  `json:"account,omitempty"`
	Portfolio  string  `json:"portfolio,omitempty"`
	Rate       float64 `json:"rate"`              // messages per second; 0: the service has not told it yet
	Quality    string  `json:"quality,omitempty"` // GREEN, YELLOW, RED, as the service told it
	// Tier is how many people the portfolio may reach in 24 hours, and Reached how many it has; 0: no
	// limit.
	Tier    int64 `json:"tier,omitempty"`
	Reached int64 `json:"reached,omitempty"`
	// Holds stop messages of the connection now.
	Holds []campaign.HoldState `json:"holds"`
}
