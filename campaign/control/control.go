package control

import (
	"context"
	"errors"
	"fmt"

	"campaignd/campaign"
)

// Find finds the run that a person named: an id as Run.ID prints it, its number, or the word
// latest. The campaign's name in an id must match, so that a number taken from another ledger has
// no effect. The error is ErrNoRun, or an error of ParseRunID.
func Find(ctx context.Context, l campaign.RunLedger, id string) (campaign.Run, error) {
	if id == "latest" {
		newest, err := l.Runs(ctx, campaign.RunFilter{Limit: 1})
		switch {
		case err != nil:
			return campaign.Run{}, err
		case len(newest) == 0:
			return campaign.Run{}, fmt.Errorf("%w: this ledger has none yet", campaign.ErrNoRun)
		}
		return newest[0], nil
	}
	no, err := campaign.ParseRunID(id)
	if err != nil {
		return campaign.Run{}, err
	}
	r, err := l.Run(ctx, no)
	if errors.Is(err, campaign.ErrNoRun) || err == nil && id != r.ID() && id != fmt.Sprint(no) {
		return campaign.Run{}, fmt.Errorf("%w: %s; `campaignd runs` lists them", campaign.ErrNoRun, id)
	}
	return r, err
}

// Outcome is a run after an operator's request, with a sentence on what happens next.
type Outcome struct {
	Run      campaign.Run
	Sentence string
}

// Pause asks that no further intent is written. It returns ErrNotNow for a run that has ended or
// is being cancelled. The history of the run names who asked, as for each request below.
func Pause(ctx context.Context, l campaign.RunLedger, r campaign.Run, who string) (Outcome, error) {
	if r.State.Ended() {
		return Outcome{}, fmt.Errorf("%w: %s is %s, there is nothing to pause", campaign.ErrNotNow, r.ID(), r.State)
	}
	return want(ctx, l, r, campaign.WantPause, who, "%s will not send from the next intent on; `campaignd resume %[1]s` resumes it")
}

// sender names the commands that send a run.
func sender(r campaign.Run) string {
	if r.Parent != 0 {
		return "`campaignd serve`"
	}
	return "`campaignd serve` or `run`"
}

// instead names the command that sends to the recipients of a run that cannot go on: to those who
// are left of a cancelled one, else to all of them again.
func instead(r campaign.Run, cancelled bool) string {
	switch {
	case cancelled:
		return fmt.Sprintf("`campaignd follow-up %s --where skipped=cancelled` sends to those who are left", r.ID())
	case r.Parent != 0:
		return fmt.Sprintf("`campaignd follow-up %s` makes another", r.ParentID())
	}
	return "nothing of it is left to send (`campaignd run --new` sends to its whole list again)"
}

// Resume withdraws a pause and makes a Paused run Ready. It returns ErrNotNow for a run that has
// ended, is being cancelled, or waits for approval.
func Resume(ctx context.Context, l campaign.RunLedger, r campaign.Run, who string) (Outcome, error) {
	switch {
	case r.State.Ended():
		return Outcome{}, fmt.Errorf("%w: %s is %s; %s", campaign.ErrNotNow, r.ID(), r.State, instead(r, r.State == campaign.Cancelled))
	case r.State == campaign.WaitingApproval:
		return Outcome{}, fmt.Errorf("%w: %s waits for approval; `campaignd approve %[2]s` releases it", campaign.ErrNotNow, r.ID())
	}
	if r.Reason == campaign.PausedByCanary { // before the run is Ready: an operator who is interrupted repeats the command
		if err := l.ReleaseCanary(ctx, r.No, who, ""); err != nil {
			return Outcome{}, fmt.Errorf("release %s: %w", r.ID(), err)
		}
	}
	return want(ctx, l, r, campaign.WantRun, who, "%s goes on as soon as a sender ("+sender(r)+") has it")
}

// Cancel asks for the end of a run; its queued rows become skipped(cancelled). It returns
// ErrNotNow for an ended run.
func Cancel(ctx context.Context, l campaign.RunLedger, r campaign.Run, who string) (Outcome, error) {
	if r.State.Ended() {
		return Outcome{}, fmt.Errorf("%w: %s is already %s", campaign.ErrNotNow, r.ID(), r.State)
	}
	return want(ctx, l, r, campaign.WantCancel, who, "%s sends nothing from the next intent on; "+
		"its sender ends its queued rows as skipped(cancelled) within 5 seconds")
}

// Approve releases a run that waits for approval. It returns ErrNotNow for any other run.
func Approve(ctx context.Context, l campaign.RunLedger, r campaign.Run, who string) (Outcome, error) {
	changed, err := l.Approve(ctx, r.No, who)
	if err != nil {
		return Outcome{}, fmt.Errorf("approve %s: %w", r.ID(), err)
	}
	if r, err = l.Run(ctx, r.No); err != nil {
		return Outcome{}, fmt.Errorf("approve: %w", err)
	}
	if !changed {
		return Outcome{}, fmt.Errorf("%w: %s is %s, it does not wait for approval", campaign.ErrNotNow, r.ID(), r.State)
	}
	if r.Wanted == campaign.WantPause {
		return Outcome{r, fmt.Sprintf("%s is approved, and stays paused until `campaignd resume %[1]s`", r.ID())}, nil
	}
	return Outcome{r, fmt.Sprintf("%s is approved; it is sent as soon as a sender (%s) has it", r.ID(), sender(r))}, nil
}

func want(
	ctx context.Context, l campaign.RunLedger, r campaign.Run, w campaign.Wanted, who, sentence string,
) (Outcome, error) {
	after, err := l.SetWanted(ctx, r.No, w, who)
	if errors.Is(err, campaign.ErrCancelled) {
		return Outcome{}, fmt.Errorf("%w: %s is being cancelled, which cannot be taken back; %s",
			campaign.ErrNotNow, r.ID(), instead(r, true))
	}
	if err != nil {
		return Outcome{}, fmt.Errorf("%s: %w", r.ID(), err)
	}
	if after.State.Ended() {
		return Outcome{}, fmt.Errorf("%w: %s has become %s", campaign.ErrNotNow, after.ID(), after.State)
	}
	return Outcome{after, fmt.Sprintf(sentence, after.ID())}, nil
}
