package campaign

import (
	"context"
	"errors"
	"fmt"
)

// FindRun finds the run that a person named: an id as Run.ID prints it, its number, or the word
// latest. The campaign's name in an id must match, so that a number taken from another ledger has
// no effect. The error is ErrNoRun, or that of ParseRunID.
func FindRun(ctx context.Context, l RunLedger, id string) (Run, error) {
	if id == "latest" {
		newest, err := l.Runs(ctx, RunFilter{Limit: 1})
		switch {
		case err != nil:
			return Run{}, err
		case len(newest) == 0:
			return Run{}, fmt.Errorf("%w: this ledger has none yet", ErrNoRun)
		}
		return newest[0], nil
	}
	no, err := ParseRunID(id)
	if err != nil {
		return Run{}, err
	}
	r, err := l.Run(ctx, no)
	if errors.Is(err, ErrNoRun) || err == nil && id != r.ID() && id != fmt.Sprint(no) {
		return Run{}, fmt.Errorf("%w: %s; `campaignd runs` lists them", ErrNoRun, id)
	}
	return r, err
}

// Controlled is a run after an operator's request, with a sentence on what happens next.
type Controlled struct {
	Run      Run
	Sentence string
}

// ErrNotNow says that a request does not fit the state of the run.
var ErrNotNow = errors.New("not possible now")

// PauseRun asks that no further intent is written. It returns ErrNotNow for a run that has ended or
// is being cancelled.
func PauseRun(ctx context.Context, l RunLedger, r Run) (Controlled, error) {
	if r.State.Ended() {
		return Controlled{}, fmt.Errorf("%w: %s is %s, there is nothing to pause", ErrNotNow, r.ID(), r.State)
	}
	return want(ctx, l, r, WantPause, "%s will not send from the next intent on; `campaignd resume %[1]s` lets it go on")
}

// sender names the commands that send a run.
func (r Run) sender() string {
	if r.Parent != 0 {
		return "`campaignd serve`"
	}
	return "`campaignd serve` or `run`"
}

// instead names the command that sends to the recipients of a run that cannot go on: to those who
// are left of a cancelled one, else to all of them again.
func (r Run) instead(cancelled bool) string {
	switch {
	case cancelled:
		return fmt.Sprintf("`campaignd follow-up %s --where skipped=cancelled` sends to those who are left", r.ID())
	case r.Parent != 0:
		return fmt.Sprintf("`campaignd follow-up %s` makes another", r.ParentID())
	}
	return "`campaignd run --new` launches another"
}

// ParentID is the id of the run whose rows a follow-up has.
func (r Run) ParentID() string { return Run{No: r.Parent, Campaign: r.Campaign}.ID() }

// ResumeRun withdraws a pause and makes a Paused run Ready. It returns ErrNotNow for a run that has
// ended, is being cancelled, or waits for approval.
func ResumeRun(ctx context.Context, l RunLedger, r Run) (Controlled, error) {
	switch {
	case r.State.Ended():
		return Controlled{}, fmt.Errorf("%w: %s is %s; %s", ErrNotNow, r.ID(), r.State, r.instead(r.State == Cancelled))
	case r.State == WaitingApproval:
		return Controlled{}, fmt.Errorf("%w: %s waits for approval; `campaignd approve %[2]s` releases it", ErrNotNow, r.ID())
	}
	if r.Reason == PausedByCanary { // before the run is Ready: an operator who is interrupted repeats the command
		if err := l.ReleaseCanary(ctx, r.No); err != nil {
			return Controlled{}, fmt.Errorf("release %s: %w", r.ID(), err)
		}
	}
	return want(ctx, l, r, WantRun, "%s goes on as soon as a sender ("+r.sender()+") has it")
}

// CancelRun asks for the end of a run; its queued rows become skipped(cancelled). It returns
// ErrNotNow for an ended run.
func CancelRun(ctx context.Context, l RunLedger, r Run) (Controlled, error) {
	if r.State.Ended() {
		return Controlled{}, fmt.Errorf("%w: %s is already %s", ErrNotNow, r.ID(), r.State)
	}
	return want(ctx, l, r, WantCancel, "%s sends nothing from the next intent on; "+
		"its sender ends its queued rows as skipped(cancelled) within 5 seconds")
}

// ApproveRun releases a run that waits for approval. It returns ErrNotNow for any other run.
func ApproveRun(ctx context.Context, l RunLedger, r Run) (Controlled, error) {
	changed, err := l.SetState(ctx, r.No, []State{WaitingApproval}, Ready, "", "")
	if err != nil {
		return Controlled{}, fmt.Errorf("approve %s: %w", r.ID(), err)
	}
	if r, err = l.Run(ctx, r.No); err != nil {
		return Controlled{}, fmt.Errorf("approve: %w", err)
	}
	if !changed {
		return Controlled{}, fmt.Errorf("%w: %s is %s, it does not wait for approval", ErrNotNow, r.ID(), r.State)
	}
	if r.Wanted == WantPause {
		return Controlled{r, fmt.Sprintf("%s is approved, and stays paused until `campaignd resume %[1]s`", r.ID())}, nil
	}
	return Controlled{r, fmt.Sprintf("%s is approved; it is sent as soon as a sender (%s) has it", r.ID(), r.sender())}, nil
}

func want(ctx context.Context, l RunLedger, r Run, w Wanted, sentence string) (Controlled, error) {
	after, err := l.SetWanted(ctx, r.No, w)
	if errors.Is(err, ErrCancelled) {
		return Controlled{}, fmt.Errorf("%w: %s is being cancelled, which cannot be taken back; %s",
			ErrNotNow, r.ID(), r.instead(true))
	}
	if err != nil {
		return Controlled{}, fmt.Errorf("%s: %w", r.ID(), err)
	}
	if after.State.Ended() {
		return Controlled{}, fmt.Errorf("%w: %s has become %s", ErrNotNow, after.ID(), after.State)
	}
	return Controlled{after, fmt.Sprintf(sentence, after.ID())}, nil
}
