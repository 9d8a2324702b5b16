package resource

import (
	"time"

	"campaignd/campaign"
)

// Launched is the answer to a launch.
type Launched struct {
	Run      LaunchedRun `json:"run"`
	Resumed  bool        `json:"resumed"` // the run had been launched before, and goes on
	Ended    bool        `json:"ended"`   // the run had ended before: nothing is sent
	Warnings []string    `json:"warnings,omitempty"`
}

// LaunchedRun is the run of a launch.
type LaunchedRun struct {
	ID        string         `json:"id"`
	Campaign  string         `json:"campaign"`
	State     campaign.State `json:"state"`
	Rows      int64          `json:"rows"`
	CreatedAt time.Time      `json:"created_at"`
}

// LaunchedRunOf returns the facts of a run.
func LaunchedRunOf(r campaign.Run) LaunchedRun {
	return LaunchedRun{r.ID(), r.Campaign, r.State, r.Rows, r.CreatedAt}
}
