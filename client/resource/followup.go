package resource

import "campaignd/campaign"

// FollowUpRequest chooses the rows of an ended run that a new run sends to again.
type FollowUpRequest struct {
	// Where has one choice or more: failed, failed=CODE, refused, refused=CODE, unknown,
	// unknown=REASON, skipped or skipped=REASON (campaign.ParseWhere).
	Where []string `json:"where"`
	// Early also takes the rows that failed with 131049 less than 24 hours ago.
	Early bool `json:"early,omitempty"`
}

// FollowedUp is a follow-up run.
type FollowedUp struct {
	Run       Run   `json:"run"`
	Rows      int64 `json:"rows"`
	Elsewhere int64 `json:"in_other_follow_ups"` // left out: another follow-up of the same run has them
	NoID      int64 `json:"accepted_without_id"` // left out: the service accepted them, or may have
	Released  int64 `json:"released_without_id"` // such rows that are sent to, because their reason was chosen
	Existed   bool  `json:"existed"`             // the same choice was made before, and nothing was added
}

// FollowedUpOf returns the facts of a follow-up run.
func FollowedUpOf(f campaign.FollowedUp) FollowedUp {
	return FollowedUp{RunOf(f.Run), f.Chosen, f.Elsewhere, f.NoID, f.Released, f.Existed}
}
