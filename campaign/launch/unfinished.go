package launch

import (
	"context"
	"fmt"
	"slices"
	"time"

	"campaignd/campaign"
	"campaignd/internal/sentence"
)

// UnfinishedError says that a launch would send to people of an unfinished run of the same
// campaign.
type UnfinishedError struct {
	Run campaign.Run
	// Difference is how the list differs from that of the run; nil if the launch was to be another run
	// of the same list.
	Difference *ListDifference
	// Command goes on with a run of the same list; "" if it is not known.
	Command string
}

// Error is two lines: what is unfinished, and the ways out.
func (e *UnfinishedError) Error() string {
	id, ago := e.Run.ID(), Ago(time.Since(e.Run.CreatedAt))
	if e.Difference != nil {
		return fmt.Sprintf("%s: %s\n"+
			"give its list again to go on with it, `campaignd cancel %[3]s` and then `campaignd follow-up %[3]s --where skipped=cancelled` "+
			"for its rest, or --new for this list too", e.Reason(), e.Difference, id)
	}
	command := "the same command without --new"
	if e.Command != "" {
		command = "`" + e.Command + "`"
	}
	return fmt.Sprintf("%s of %s has this list and is unfinished, so --new would send to its people twice\n"+
		"%s continues it; `campaignd cancel %[1]s` ends it, and `campaignd follow-up %[1]s` then sends to chosen rows", id, ago, command)
}

// Reason says which run has people of the list, without the difference and the ways out.
func (e *UnfinishedError) Reason() string {
	return fmt.Sprintf("%s of %s is unfinished and has another list", e.Run.ID(), Ago(time.Since(e.Run.CreatedAt)))
}

// existing is the run of this list: the newest that is unfinished, else the newest. A firing has
// the run of its key. With neither it is the run of a list that is made: of the campaign, if it is
// no follow-up.
func (l Request) existing(ctx context.Context, name, hash, key string) (campaign.Run, error) {
	w := campaign.RunFilter{Campaign: name, ListHash: hash, Unfinished: true, Limit: 1}
	if key != "" {
		w = campaign.RunFilter{Campaign: name, Launch: key, Limit: 1}
	} else if hash == "" {
		w.Limit = 0
	}
	for {
		runs, err := l.Ledger.Runs(ctx, w)
		if w.Limit == 0 {
			runs = slices.DeleteFunc(runs, func(r campaign.Run) bool { return r.Parent != 0 })
		}
		switch {
		case err != nil:
			return campaign.Run{}, fmt.Errorf("read runs: %w", err)
		case len(runs) > 0:
			return runs[0], nil
		case !w.Unfinished:
			return campaign.Run{}, campaign.ErrNoRun
		}
		w.Unfinished = false
	}
}

// Unfinished returns the runs of a campaign that may still send, the newest first. Follow-up runs
// are not among them, because their rows are those of an earlier run, and runs that are to be
// cancelled send nothing more.
func Unfinished(ctx context.Context, l campaign.RunLedger, name string) ([]campaign.Run, error) {
	all, err := l.Runs(ctx, campaign.RunFilter{Campaign: name, Unfinished: true})
	if err != nil {
		return nil, fmt.Errorf("read runs: %w", err)
	}
	runs := all[:0]
	for _, r := range all {
		if mayStillSend(r) {
			runs = append(runs, r)
		}
	}
	return runs, nil
}

// Ago is a time that has passed, in words: 2 hours ago; less than a minute is a moment ago.
func Ago(d time.Duration) string {
	for _, unit := range []struct {
		length    time.Duration
		one, many string
	}{{24 * time.Hour, "day", "days"}, {time.Hour, "hour", "hours"}, {time.Minute, "minute", "minutes"}} {
		if d >= 2*unit.length || d >= unit.length && unit.one != "day" {
			return sentence.Count(int64(d/unit.length), unit.one, unit.many) + " ago"
		}
	}
	return "a moment ago"
}
