package resource

import (
	"time"

	"campaignd/campaign"
)

// Launched is the answer to a launch.
type Launched struct {
	Run      LaunchedRun `json:"run"`
	Resumed  bool        `json:"resumed"` // an earlier launch made the run, and it goes on
	Ended    bool        `json:"ended"`   // the run has already ended: nothing is sent
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

// LaunchedRunOf converts a run.
func LaunchedRunOf(r campaign.Run) LaunchedRun {
	return LaunchedRun{r.ID(), r.Campaign, r.State, r.Rows, r.CreatedAt}
}
