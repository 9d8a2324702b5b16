package launch

import (
	"errors"

	"campaignd/campaign/file"
	"campaignd/recipients"
)

// The reasons for which a launch is refused, as RefusalOf returns them. Those about another run, or
// one to come, are RefusedChanged and after.
const (
	RefusedCampaign   = "invalid_campaign"
	RefusedPreflight  = "not_sendable"
	RefusedList       = "invalid_list"
	RefusedChanged    = "changed_campaign"
	RefusedUnfinished = "unfinished_run"
	RefusedRepeat     = "sent_before"
	RefusedScheduled  = "scheduled"
)

// RefusalOf returns why err refuses a launch, and the facts of it for JSON. The reason is "" if err
// is no fault of the campaign file or the list, and no other run stands in the way: the same launch
// may then succeed later.
func RefusalOf(err error) (reason string, facts map[string]any) {
	var file *file.Error
	var preflight *PreflightError
	var list *recipients.FileError
	var changed *ChangedError
	var unfinished *UnfinishedError
	var repeat *RepeatError
	var scheduled *ScheduledError
	var sent *SentBeforeError
	switch {
	case errors.As(err, &file):
		return RefusedCampaign, nil
	case errors.As(err, &preflight):
		return RefusedPreflight, map[string]any{"findings": preflight.Preflight.Findings}
	case errors.As(err, &list):
		return RefusedList, nil
	case errors.As(err, &changed):
		return RefusedChanged, map[string]any{"run": changed.Run.ID(), "differences": changed.Differences}
	case errors.As(err, &unfinished):
		return RefusedUnfinished, map[string]any{"run": unfinished.Run.ID(), "difference": unfinished.Difference}
	case errors.As(err, &repeat):
		return RefusedRepeat, map[string]any{"run": repeat.Run.ID(), "difference": repeat.Difference}
	case errors.As(err, &sent):
		facts := map[string]any{"sent_before": sent.SentBefore}
		if len(sent.Runs) > 0 {
			facts["run"] = sent.Runs[0]
		}
		return RefusedRepeat, facts
	case errors.As(err, &scheduled):
		return RefusedScheduled, map[string]any{"file": scheduled.File, "at": scheduled.At}
	}
	return "", nil
}
