package launch

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"campaignd/campaign"
	"campaignd/campaign/file"
)

// repeated finds the run of an earlier request with the same NewKey, whose launch key is key, and
// continues it. hash and list are "" for a list that is made.
func (l Request) repeated(ctx context.Context, def *file.Definition, key, hash, list string) (out Outcome, found bool, err error) {
	runs, err := l.Ledger.Runs(ctx, campaign.RunFilter{Campaign: def.Name, Launch: key, Limit: 1})
	if err != nil || len(runs) == 0 {
		return out, false, err
	}
	if err := sameRequest(runs, hash, l.Source); err != nil {
		return out, false, err
	}
	if runs[0].State.Ended() {
		return Outcome{Run: runs[0], Ended: true}, true, nil
	}
	out, err = l.resume(ctx, def, runs[0], cmp.Or(list, runs[0].ListName))
	return out, true, err
}

// known is a launch whose run exists: it reports one that has ended, and continues another.
func (l Request) known(ctx context.Context, def *file.Definition, run campaign.Run, list string) (Outcome, error) {
	diff := file.Differences(run.Definition, l.Source)
	switch {
	case run.State.Ended():
		return Outcome{Run: run, Ended: true, Changed: diff}, nil
	case len(diff) > 0:
		return Outcome{}, &ChangedError{run, diff}
	}
	return l.resume(ctx, def, run, list)
}

// meanwhile looks once more for a run of the list, now that no other launch of the campaign makes
// one. Another launch may have made it since Start looked, which was before a preflight of perhaps
// minutes, and with another launch key the ledger takes both. hash and list are as of repeated.
func (l Request) meanwhile(ctx context.Context, def *file.Definition, key, hash, list string) (out Outcome, found bool, err error) {
	if l.NewKey != "" && l.New {
		if out, found, err := l.repeated(ctx, def, key, hash, list); found || err != nil {
			return out, found, err
		}
	}
	run, err := l.existing(ctx, def.Name, hash, "")
	switch {
	case errors.Is(err, campaign.ErrNoRun):
		return out, false, nil
	case err != nil:
		return out, false, err
	case l.New && !run.State.Ended() && run.Wanted != campaign.WantCancel:
		return out, false, &UnfinishedError{Run: run, Command: l.Command}
	case l.New || key != "" && (run.Launch == key || run.Wanted == campaign.WantCancel && run.StartedAt.IsZero()):
		return out, false, nil // a run that was cancelled before it began has sent nothing
	case key != "": // the next try of a dropped file refuses it as a duplicate
		return out, false, fmt.Errorf("%s has the same content and was launched meanwhile", run.ID())
	}
	out, err = l.known(ctx, def, run, cmp.Or(list, run.ListName))
	return out, true, err
}
