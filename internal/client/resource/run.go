package resource

import (
	"time"

	"campaignd/campaign"
	"campaignd/campaign/wording"
)

// Run is a run as the lists show it.
type Run struct {
	ID        string               `json:"id"`
	Campaign  string               `json:"campaign"`
	State     campaign.State       `json:"state"`
	Reason    campaign.PauseReason `json:"reason,omitempty"` // of paused
	Detail    string               `json:"detail,omitempty"`
	Wanted    campaign.Wanted      `json:"wanted"`
	Rows      int64                `json:"rows"`
	List      string               `json:"list"`
	FollowUp  campaign.RunNo       `json:"follow_up_of,omitempty"` // number of the earlier run
	CreatedAt time.Time            `json:"created_at,omitzero"`
	EndedAt   time.Time            `json:"ended_at,omitzero"`
	Launched  string               `json:"launched_by,omitempty"` // who or what launched it
	Retired   campaign.Retired     `json:"retired,omitzero"`      // rows that retention deleted; totals count them
	Holds     []wording.HoldState  `json:"holds,omitempty"`       // the present holds of messages of the run
}

// RunOf is a run without its holds.
func RunOf(r campaign.Run) Run {
	return Run{
		ID: r.ID(), Campaign: r.Campaign, State: r.State, Reason: r.Reason, Detail: r.Detail, Wanted: r.Wanted, Rows: r.Rows,
		List: r.List(), FollowUp: r.Parent, CreatedAt: r.CreatedAt, EndedAt: r.EndedAt, Launched: wording.LaunchedBy(r),
		Retired: r.Retired,
	}
}

// Controlled is a run after a request. Its sentence tells what happens next.
type Controlled struct {
	Run      Run    `json:"run"`
	Sentence string `json:"sentence"`
}

// Limits are the limits by which a run shares its numbers.
type Limits struct {
	Run string `json:"run"`
	campaign.RunLimits
	// Allowances are those of the plans of its connections. An answer to a change has none.
	Allowances []Allowance `json:"allowances,omitempty"`
	Sentence   string      `json:"sentence,omitempty"`
}
