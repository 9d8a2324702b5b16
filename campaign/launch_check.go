package campaign

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"campaignd/internal/spelling"
)

// LaunchCheck says what `run` would do with a campaign and a list.
type LaunchCheck struct {
	// Does is goes_on, reports (the run has ended), launches, or refuses.
	Does string `json:"does"`
	// Run is the run that goes on, is reported, or stands in the way; with launches, the newest run of
	// the campaign if it has numbers of the list. "" for none.
	Run string `json:"run,omitempty"`
	// Difference is how the list differs from that of Run; nil if it does not, or without Run.
	Difference *ListDifference `json:"difference,omitempty"`
	// Sentence says the same for a person.
	Sentence string `json:"sentence"`
}

// newestRuns is how many runs of a campaign are searched for one that is no follow-up.
const newestRuns = 20

// CheckLaunch says what `run` without --new would do. hash is the SHA-256 of the list at path, and
// source the campaign file of def.
func CheckLaunch(ctx context.Context, l LaunchLedger, def *Definition, source []byte, path, hash string) (c LaunchCheck, err error) {
	same, err := Launch{Ledger: l}.existing(ctx, def.Name, hash, "")
	if err == nil {
		return checkSame(same, source), nil
	} else if !errors.Is(err, ErrNoRun) {
		return c, err
	}
	runs, err := Unfinished(ctx, l, def.Name)
	if err != nil {
		return c, err
	}
	refused := len(runs) > 0
	if !refused {
		all, err := l.Runs(ctx, RunFilter{Campaign: def.Name, Limit: newestRuns})
		if err != nil {
			return c, fmt.Errorf("read runs: %w", err)
		}
		for _, r := range all {
			if r.Parent == 0 {
				runs = append(runs, r)
			}
		}
	}
	c = LaunchCheck{Does: "launches", Sentence: "`run` launches a new run"}
	if len(runs) == 0 {
		return c, nil
	}
	run := runs[0]
	diff, err := CompareList(ctx, l, run, path, def.ListOptions(path))
	ago := Ago(time.Since(run.CreatedAt))
	switch {
	case err != nil:
		return c, fmt.Errorf("compare the list with that of %s: %w", run.ID(), err)
	case refused:
		return LaunchCheck{Does: "refuses", Run: run.ID(), Difference: &diff, Sentence: fmt.Sprintf(
			"`run` refuses this list while %s of %s is unfinished, and --new launches a new run beside it: %s", run.ID(), ago, diff)}, nil
	case diff.Both > 0:
		c.Run, c.Difference = run.ID(), &diff
		c.Sentence += fmt.Sprintf("; %s in %s of %s", spelling.Count(diff.Both, "of its numbers is", "of its numbers are"), run.ID(), ago)
	}
	return c, nil
}

// checkSame is the check of a list that has a run.
func checkSame(run Run, source []byte) LaunchCheck {
	c := LaunchCheck{Does: "goes_on", Run: run.ID(), Sentence: fmt.Sprintf("`run` goes on with %s of %s", run.ID(),
		Ago(time.Since(run.CreatedAt)))}
	switch {
	case run.State.Ended():
		c.Does = "reports"
		c.Sentence = fmt.Sprintf("`run` reports %s of %s again and sends nothing: it has this list and is %s; --new launches a new run",
			run.ID(), Ago(time.Since(run.CreatedAt)), run.State)
	default:
		if diff := Differences(run.Definition, source); len(diff) > 0 {
			c.Does = "refuses"
			c.Sentence = fmt.Sprintf("`run` refuses: %s is unfinished and was launched with another campaign file: %s", run.ID(),
				strings.Join(diff, "; "))
		}
	}
	return c
}
