package client

import (
	"time"

	"campaignd/campaign"
	"campaignd/campaign/plan"
)

// Forecast says when a run will be done, and what limits it.
type Forecast struct {
	plan.Forecast
	// Note is what the forecast takes for granted; "": nothing.
	Note string `json:"note,omitempty"`
	// Assumed are the connections whose throughput nobody told.
	Assumed []string `json:"assumed,omitempty"`
	// Unread are unfinished runs that this version cannot read: they are left out.
	Unread []string `json:"unread,omitempty"`
}

// Firing is one firing of a schedule: to come, or past.
type Firing struct {
	Campaign string    `json:"campaign"`
	File     string    `json:"file"`
	Schedule string    `json:"schedule"` // schedule.cron, or schedule.at
	Timezone string    `json:"timezone"`
	At       time.Time `json:"at"`
	Local    string    `json:"local"`
	// Outcome is next for a firing that is still to come.
	Outcome string `json:"outcome"`
	Run     string `json:"run,omitempty"`
	Detail  string `json:"detail,omitempty"`
	// Missed counts the firings before this one that no process fired, from MissedSince on.
	Missed      int64     `json:"missed,omitempty"`
	MissedSince time.Time `json:"missed_since,omitzero"`
}

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
