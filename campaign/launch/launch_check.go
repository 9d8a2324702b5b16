package launch

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"campaignd/campaign"
	"campaignd/campaign/file"
	"campaignd/internal/sentence"
)

// Check says what `run` would do with a campaign and a list.
type Check struct {
	// Does is goes_on, reports (the run has ended), Launches, Refuses, or Scheduled.
	Does string `json:"does"`
	// Run is the run that goes on, is reported, or stands in the way. "" for none.
	Run string `json:"run,omitempty"`
	// Difference is how the list differs from that of Run; nil if it does not, or without Run.
	Difference *ListDifference `json:"difference,omitempty"`
	// At is when the schedule sends to the list, if Does is Scheduled.
	At time.Time `json:"at,omitzero"`
	// Sentence says the same for a person.
	Sentence string `json:"sentence"`
}

// Refuses, Scheduled and Launches are what `run` without --new does: it ends with an error because
// of an earlier run, or because the schedule sends to the same list later, or it launches a run.
const (
	Refuses   = "refuses"
	Scheduled = "scheduled"
	Launches  = "launches"
)

// Inspect says what `run` without --new would do. source is the campaign file of def. hash is the
// SHA-256 of the list at path; it is empty for the list of an audience, whose run the campaign
// alone identifies. found is the preflight, and another says that it compared the list of another
// run, as of --new. A nil ledger stands for one that does not exist yet.
func Inspect(
	ctx context.Context, l Ledger, def *file.Definition, source []byte, path, hash string, found *Preflight, another bool,
) (Check, error) {
	if l == nil {
		return launchesNew(), nil
	}
	launch := Request{Ledger: l}
	same, err := launch.existing(ctx, def.Name, hash, "")
	if err == nil {
		if !another {
			found.SentBefore = nil // `run` sends nothing new
		}
		return checkSame(same, source, hash), nil
	} else if !errors.Is(err, campaign.ErrNoRun) {
		return Check{}, err
	}
	err = launch.sentBefore(ctx, def, path, hash, func(r campaign.Run) bool { return found.SentBefore == nil || mayStillSend(r) })
	var unfinished *UnfinishedError
	var repeat *RepeatError
	switch {
	case errors.As(err, &unfinished):
		id, diff := unfinished.Run.ID(), unfinished.Difference
		return Check{Does: Refuses, Run: id, Difference: diff, Sentence: fmt.Sprintf(
			"`run` refuses this list while %s of %s is unfinished, and --new launches a new run beside it: %s",
			id, Ago(time.Since(unfinished.Run.CreatedAt)), diff)}, nil
	case errors.As(err, &repeat):
		id, diff := repeat.Run.ID(), repeat.Difference
		return Check{Does: Refuses, Run: id, Difference: &diff, Sentence: fmt.Sprintf(
			"`run` refuses this list, because %s in %s of %s, and --new sends to all of them again: %s",
			sentence.Count(diff.Both, "of its numbers is", "of its numbers are"), id, Ago(time.Since(repeat.Run.CreatedAt)), diff)}, nil
	}
	if s := found.SentBefore; err == nil && s.Any() && found.Skipped[campaign.SentBefore] == 0 {
		c := Check{Does: Refuses, Sentence: fmt.Sprintf("`run` refuses this list: %s; --leave-out-sent sends to the others only, "+
			"and --send-again to all of them", s)}
		if len(s.Runs) > 0 {
			c.Run = s.Runs[0]
		}
		return c, nil
	}
	return launchesNew(), err
}

// launchesNew is the check of a list that sends to nobody of an earlier run.
func launchesNew() Check {
	return Check{Does: Launches, Sentence: "`run` launches a new run"}
}

// checkSame is the check of a list, or of an audience, that has a run.
func checkSame(run campaign.Run, source []byte, hash string) Check {
	c := Check{Does: "goes_on", Run: run.ID(), Sentence: fmt.Sprintf("`run` goes on with %s of %s", run.ID(),
		Ago(time.Since(run.CreatedAt)))}
	switch {
	case run.State.Ended():
		c.Does = "reports"
		has := "has this list"
		if hash == "" {
			has = "has this campaign's audience"
		}
		c.Sentence = fmt.Sprintf("`run` reports %s of %s again and sends nothing: it %s and is %s; --new launches a new run",
			run.ID(), Ago(time.Since(run.CreatedAt)), has, run.State)
	default:
		if diff := file.Differences(run.Definition, source); len(diff) > 0 {
			c.Does = Refuses
			c.Sentence = fmt.Sprintf("`run` refuses: %s is unfinished and was launched with another campaign file: %s", run.ID(),
				strings.Join(diff, "; "))
		}
	}
	return c
}
