package launch

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"campaignd/campaign"
	"campaignd/campaign/file"
	"campaignd/recipients"
)

// RepeatError says that a launch would send again to people of an earlier run of the same campaign
// that sends nothing more.
type RepeatError struct {
	Run        campaign.Run
	Difference ListDifference
}

// Error is two lines: the run that has sent, and the ways out.
func (e *RepeatError) Error() string {
	return fmt.Sprintf("%s: %s\n--new sends to all of this list, those numbers too; `campaignd follow-up %s --where STATUS` sends to "+
		"chosen rows again; a list without those numbers needs neither", e.Reason(), e.Difference, e.Run.ID())
}

// Reason says which run had the numbers, without the difference and the ways out.
func (e *RepeatError) Reason() string {
	return fmt.Sprintf("%s of %s is %s and had numbers of this list", e.Run.ID(), Ago(time.Since(e.Run.CreatedAt)), e.Run.State)
}

// alone does the part of a launch that compares the list with earlier runs and makes the run. It
// waits while another launch of the campaign or of its template does the same, because two lists
// with the same numbers would else find no run of each other.
func (l Request) alone(
	ctx context.Context, def *file.Definition, do func(context.Context) (Outcome, error),
) (launched Outcome, err error) {
	job := func(name string) campaign.Job {
		return campaign.Job{Ledger: l.Ledger, Name: name, Owner: l.Owner, Lease: l.Lease, Waits: func() { l.progress("waiting", 0) }}
	}
	done := false
	err = job("launch "+def.Name).Await(ctx, func(ctx context.Context) error {
		return job("launch of template "+def.Template.Name).Await(ctx, func(ctx context.Context) (err error) {
			launched, err = do(ctx)
			done = err == nil
			return err
		})
	})
	if done {
		return launched, nil // also if the lease was lost meanwhile
	}
	return launched, err
}

// sentBefore is the one rule for which lists `run`, `launch` and a watched folder refuse: those
// with a number that an earlier run of the campaign has and did not skip. It returns an
// *UnfinishedError when that run may still send, and a *RepeatError otherwise. A run whose import
// has not ended is refused too, since its numbers are not all known. Runs of the same bytes, whose
// SHA-256 is hash, do not count: another process has just launched one.
//
// With New or Again nothing is refused. With New, Beside is called for each run that may still
// send. which selects among the earlier runs.
func (l Request) sentBefore(ctx context.Context, def *file.Definition, list, hash string, which func(campaign.Run) bool) error {
	if l.New {
		return l.besides(ctx, def, list, hash)
	}
	if l.Again {
		return nil
	}
	runs, err := l.earlier(ctx, def.Name, hash)
	if runs = slices.DeleteFunc(runs, func(r campaign.Run) bool { return !which(r) }); err != nil || len(runs) == 0 {
		return err
	}
	keys, err := keysOf(ctx, list, def.ListOptions(list))
	if err != nil {
		return err
	}
	rows := int64(0)
	for i, run := range runs {
		if rows += run.Rows; i >= newestRuns && rows > mostCompared {
			return nil
		}
		open := mayStillSend(run)
		importing := open && run.State == campaign.Importing
		if has, err := l.hasAny(ctx, run, keys); err != nil {
			return err
		} else if !has && !importing {
			continue
		}
		diff, err := l.compare(ctx, def, run, list)
		switch {
		case err != nil:
			return err
		case open:
			return &UnfinishedError{Run: run, Difference: &diff}
		}
		return &RepeatError{Run: run, Difference: diff}
	}
	return nil
}

// A list is compared with the newestRuns runs of its campaign, and with older ones until the runs
// have mostCompared rows together.
const (
	newestRuns   = 20
	mostCompared = 5_000_000
)

// earlier returns the runs of a campaign with other lists: those that may still send, then the
// others, then follow-up runs, whose people are most often those of their parent; the newest first.
// A run that was cancelled before it began has sent nothing.
func (l Request) earlier(ctx context.Context, name, hash string) ([]campaign.Run, error) {
	runs, err := l.Ledger.Runs(ctx, campaign.RunFilter{Campaign: name})
	if err != nil {
		return nil, fmt.Errorf("read runs: %w", err)
	}
	runs = slices.DeleteFunc(runs, func(r campaign.Run) bool {
		return r.ListHash == hash || r.Wanted == campaign.WantCancel && r.StartedAt.IsZero()
	})
	rank := func(r campaign.Run) int {
		switch {
		case mayStillSend(r):
			return 0
		case r.Parent == 0:
			return 1
		}
		return 2
	}
	slices.SortStableFunc(runs, func(a, b campaign.Run) int { return rank(a) - rank(b) })
	return runs, nil
}

// mayStillSend reports whether a run with a list of its own has not ended and is not to be
// cancelled.
func mayStillSend(r campaign.Run) bool {
	return r.Parent == 0 && !r.State.Ended() && r.Wanted != campaign.WantCancel
}

// hasAny reports whether the run has one of keys in a row that was not skipped. A row that a
// cancelled run has still queued will be.
func (l Request) hasAny(ctx context.Context, run campaign.Run, keys *recipients.KeySet) (bool, error) {
	l.progress("comparing", 0)
	for line, err := range l.Ledger.Lines(ctx, run.No) {
		if err != nil {
			return false, fmt.Errorf("read %s: %w", run.ID(), err)
		}
		if line.Status != campaign.Skipped && (line.Status != campaign.Queued || run.Wanted != campaign.WantCancel) &&
			keys.Has(recipients.Fold(line.Key)) {
			return true, nil
		}
	}
	return false, nil
}

// keysOf reads the numbers of a list.
func keysOf(ctx context.Context, path string, o recipients.Options) (keys *recipients.KeySet, err error) {
	list, err := OpenList(path, o)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, list.Close()) }()
	keys = new(recipients.KeySet)
	for n := 0; ; n++ {
		row, err := list.Next()
		switch {
		case errors.Is(err, io.EOF):
			return keys, nil
		case err != nil:
			return nil, err
		case n&1023 == 0 && ctx.Err() != nil:
			return nil, ctx.Err()
		case row.Fault == nil:
			keys.Add(row.Key)
		}
	}
}

// besides calls Beside for each run of another list that may still send.
func (l Request) besides(ctx context.Context, def *file.Definition, list, hash string) error {
	if l.Beside == nil {
		return nil
	}
	runs, err := Unfinished(ctx, l.Ledger, def.Name)
	if err != nil {
		return err
	}
	for _, run := range runs {
		if run.ListHash == hash {
			continue
		}
		diff, err := l.compare(ctx, def, run, list)
		if err != nil {
			return err
		}
		l.Beside(run, diff)
	}
	return nil
}

func (l Request) compare(ctx context.Context, def *file.Definition, run campaign.Run, list string) (ListDifference, error) {
	l.progress("comparing", 0)
	diff, err := CompareList(ctx, l.Ledger, run, list, def.ListOptions(list))
	if err != nil {
		return diff, fmt.Errorf("compare the list with the list of %s: %w", run.ID(), err)
	}
	return diff, nil
}
