package resource

import (
	"time"

	"campaignd/campaign/file"
)

// Campaign is a file of the campaigns folder. If the file cannot be read, only File and Findings
// are set.
type Campaign struct {
	Name        string   `json:"name,omitempty"`
	File        string   `json:"file"`
	List        string   `json:"list,omitempty"` // recipients.file
	Connections []string `json:"connections,omitempty"`
	Template    string   `json:"template,omitempty"`
	Language    string   `json:"language,omitempty"`
	// Schedule is schedule.cron or schedule.at, and Next is the next firing. Both are empty without a
	// schedule.
	Schedule string    `json:"schedule,omitempty"`
	Timezone string    `json:"timezone,omitempty"`
	Next     time.Time `json:"next,omitzero"`
	// Findings are the faults of the file.
	Findings []file.Finding `json:"findings,omitempty"`
}
