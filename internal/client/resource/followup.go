package resource

import (
	"campaignd/campaign/launch"
)

// FollowUpRequest selects rows of an ended run, for a new run that sends to them again.
type FollowUpRequest struct {
	// Where has one choice or more: failed, failed=CODE, refused, refused=CODE, unknown,
	// unknown=REASON, skipped or skipped=REASON (campaign.ParseWhere).
	Where []string `json:"where"`
	// Early also takes the rows that failed with 131049 less than 24 hours ago.
	Early bool `json:"early,omitempty"`
	// EndsComparison also takes people who were held out and whose purchases are still compared with
	// those of the others.
	EndsComparison bool `json:"ends_comparison,omitempty"`
	// NotReplayed also takes unknown rows that events of a time may prove which the ledger lost and
	// which was not replayed.
	NotReplayed bool `json:"not_replayed,omitempty"`
	// LeaveOutSent leaves out who got the template from another run, and SendAgain sends to them too.
	// With neither, the request is refused if there are such people.
	LeaveOutSent bool `json:"leave_out_sent,omitempty"`
	SendAgain    bool `json:"send_again,omitempty"`
	// DryRun counts the rows and makes no run.
	DryRun bool `json:"dry_run,omitempty"`
}

// FollowedUp is a follow-up run.
type FollowedUp struct {
	Run       Run   `json:"run"` // without an id after a dry run, unless an earlier request made it
	Rows      int64 `json:"rows"`
	Elsewhere int64 `json:"in_other_follow_ups"` // rows left out, because another follow-up of the same run has them
	NoID      int64 `json:"accepted_without_id"` // rows left out, because the service accepted the message, or may have
	Released  int64 `json:"released_without_id"` // rows of that kind that are sent to, because Where names their reason
	Compared  int64 `json:"compared,omitempty"`  // people who were held out and whose comparison this ends
	Existed   bool  `json:"existed"`             // an earlier request selected the same rows, and nothing was added
	DryRun    bool  `json:"dry_run,omitempty"`
	// SentBefore says who of the rows got the template from another run; absent if that was not
	// compared.
	SentBefore *launch.SentBefore `json:"sent_before,omitempty"`
}

// FollowedUpOf converts the result of a follow-up.
func FollowedUpOf(f launch.FollowedUp) FollowedUp {
	out := FollowedUp{RunOf(f.Run), f.Chosen, f.Elsewhere, f.NoID, f.Released, f.Compared, f.Existed, f.DryRun, f.SentBefore}
	if f.Run.No == 0 {
		out.Run = Run{}
	}
	return out
}
