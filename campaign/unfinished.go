package campaign

import (
	"context"
	"fmt"
	"time"

	"campaignd/internal/spelling"
)

// UnfinishedError says that a launch would send to people of an unfinished run of the same
// campaign.
type UnfinishedError struct {
	Run Run
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
		return fmt.Sprintf("%s of %s is unfinished and has another list: %s\n"+
			"give its list again to go on with it, `campaignd cancel %[1]s` and then `campaignd follow-up %[1]s --where skipped=cancelled` "+
			"for its rest, or --new for this list too", id, ago, e.Difference)
	}
	command := "the same command without --new"
	if e.Command != "" {
		command = "`" + e.Command + "`"
	}
	return fmt.Sprintf("%s of %s has this list and is unfinished, so --new would send to its people twice\n"+
		"%s goes on with it; `campaignd cancel %[1]s` ends it, and `campaignd follow-up %[1]s` then sends to chosen rows", id, ago, command)
}

// RepeatError says that a launch would send again to people of an ended run of the same campaign.
type RepeatError struct {
	Run        Run
	Difference ListDifference
}

// Error is two lines: the run that has sent, and the ways out.
func (e *RepeatError) Error() string {
	return fmt.Sprintf("%s of %s is %s and had numbers of this list: %s\n"+
		"--new sends to all of this list, those numbers too; `campaignd follow-up %[1]s --where STATUS` sends to chosen rows again; "+
		"a list without those numbers needs neither", e.Run.ID(), Ago(time.Since(e.Run.CreatedAt)), e.Run.State, e.Difference)
}

// existing is the run of this list: the newest that is unfinished, else the newest. A firing has
// the run of its key.
func (l Launch) existing(ctx context.Context, name, hash, key string) (Run, error) {
	w := RunFilter{Campaign: name, ListHash: hash, Unfinished: true, Limit: 1}
	if key != "" {
		w = RunFilter{Campaign: name, Launch: key, Limit: 1}
	}
	for {
		runs, err := l.Ledger.Runs(ctx, w)
		switch {
		case err != nil:
			return Run{}, fmt.Errorf("read runs: %w", err)
		case len(runs) > 0:
			return runs[0], nil
		case !w.Unfinished:
			return Run{}, ErrNoRun
		}
		w.Unfinished = false
	}
}

// others returns an *UnfinishedError when another list of the campaign has an unfinished run, and a
// *RepeatError when a run that has ended had numbers of the list. With New, it calls Beside for
// each unfinished run instead. Runs of the same list, whose SHA-256 is hash, do not count: another
// process has just launched one.
func (l Launch) others(ctx context.Context, def *Definition, list, hash string) error {
	runs, err := Unfinished(ctx, l.Ledger, def.Name)
	if err != nil || l.New && l.Beside == nil {
		return err
	}
	for _, run := range runs {
		if run.ListHash == hash {
			continue
		}
		diff, err := l.compare(ctx, def, run, list)
		switch {
		case err != nil:
			return err
		case !l.New:
			return &UnfinishedError{Run: run, Difference: &diff}
		}
		l.Beside(run, diff)
	}
	if l.New {
		return nil
	}
	if runs, err = l.Ledger.Runs(ctx, RunFilter{Campaign: def.Name, Limit: newestRuns}); err != nil {
		return fmt.Errorf("read runs: %w", err)
	}
	for _, run := range runs {
		if run.Parent != 0 || run.ListHash == hash || !run.State.Ended() {
			continue
		}
		if diff, err := l.compare(ctx, def, run, list); err != nil {
			return err
		} else if diff.Both > 0 {
			return &RepeatError{Run: run, Difference: diff}
		}
	}
	return nil
}

// newestRuns is how many runs of a campaign are searched for numbers of the list.
const newestRuns = 20

func (l Launch) compare(ctx context.Context, def *Definition, run Run, list string) (ListDifference, error) {
	l.progress("comparing", 0)
	diff, err := CompareList(ctx, l.Ledger, run, list, def.ListOptions(list))
	if err != nil {
		return diff, fmt.Errorf("compare the list with that of %s: %w", run.ID(), err)
	}
	return diff, nil
}

// Unfinished returns the runs of a campaign that may still send, the newest first. Follow-up runs
// are not among them, because their rows are those of an earlier run, and runs that are to be
// cancelled send nothing more.
func Unfinished(ctx context.Context, l RunLedger, campaign string) ([]Run, error) {
	all, err := l.Runs(ctx, RunFilter{Campaign: campaign, Unfinished: true})
	if err != nil {
		return nil, fmt.Errorf("read runs: %w", err)
	}
	runs := all[:0]
	for _, r := range all {
		if r.Parent == 0 && r.Wanted != WantCancel {
			runs = append(runs, r)
		}
	}
	return runs, nil
}

// Ago is a time that has passed, in words: 2 hours ago; less than a minute is just now.
func Ago(d time.Duration) string {
	for _, unit := range []struct {
		length    time.Duration
		one, many string
	}{{24 * time.Hour, "day", "days"}, {time.Hour, "hour", "hours"}, {time.Minute, "minute", "minutes"}} {
		if d >= 2*unit.length || d >= unit.length && unit.one != "day" {
			return spelling.Count(int64(d/unit.length), unit.one, unit.many) + " ago"
		}
	}
	return "just now"
}
