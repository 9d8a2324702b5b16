package resource

import (
	"campaignd/campaign/wording"
)

// Number is a connection with its present limits.
type Number struct {
	Connection string  `json:"connection"`
	Company    string  `json:"company,omitempty"`
	Account    string  `json:"account,omitempty"`
	Portfolio  string  `json:"portfolio,omitempty"`
	Rate       float64 `json:"rate"`              // messages per second; 0: the service has not told it, or the tier, yet
	Quality    string  `json:"quality,omitempty"` // GREEN, YELLOW, RED, as the service told it
	// Tier is the number of people that the portfolio may reach in 24 hours; 0 means no limit. Reached
	// is the number that it has reached.
	Tier    int64 `json:"tier,omitempty"`
	Reached int64 `json:"reached,omitempty"`
	// Allowance is that of the plan of its company; nil: none is known.
	Allowance *Allowance `json:"allowance,omitempty"`
	// Holds are the present holds of messages of the connection.
	Holds []wording.HoldState `json:"holds"`
}
