package resource

import (
	"time"

	"campaignd/campaign"
)

// Campaign is a file of the campaigns folder. One that cannot be read has a file and findings only.
type Campaign struct {
	Name        string   `json:"name,omitempty"`
	File        string   `json:"file"`
	List        string   `json:"list,omitempty"` // recipients.file
	Connections []string `json:"connections,omitempty"`
	Template    string   `json:"template,omitempty"`
	Language    string   `json:"language,omitempty"`
	// Schedule is schedule.cron or schedule.at, and Next the first firing to come; without a schedule
	// both are empty.
	Schedule string    `json:"schedule,omitempty"`
	Timezone string    `json:"timezone,omitempty"`
	Next     time.Time `json:"next,omitzero"`
	// Findings are the faults of the file.
	Findings []campaign.Finding `json:"findings,omitempty"`
}
