package daemon

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"sync"
	"time"

	"campaignd/campaign"
	"campaignd/campaign/plan"
	"campaignd/reporting"
)

// RunOptions describe `campaignd run`.
type RunOptions struct {
	File     string        // the campaign file
	List     string        // the list; "": recipients.file of the campaign
	New      bool          // launch another run of a list that has one
	Settle   time.Duration // how long statuses are awaited after the last answer
	Checked  func(*campaign.Preflight)
	Progress func(Progress)
}

// RunResult is what `campaignd run` ends with.
type RunResult struct {
	Report  *reporting.Report
	Resumed bool
	Ended   bool // the run had ended before: nothing was sent
}

// Unsure is how many rows are not settled: `run` exits with 3 exactly when it is above 0.
func (r RunResult) Unsure() int64 {
	t := r.Report.Totals
	return t[campaign.Queued] + t[campaign.Sending] + t[campaign.InDoubt] + t[campaign.Unknown]
}

// RunCampaign brings one campaign to its end: it checks, freezes the list, sends, and keeps
// taking webhooks until the statuses are settled. It may be interrupted and called again.
func (d *Daemon) RunCampaign(ctx context.Context, o RunOptions) (RunResult, error) {
	if o.Progress == nil {
		o.Progress = func(Progress) {}
	}
	def, src, err := campaign.LoadDefinition(o.File)
	if err != nil {
		return RunResult{}, err
	}
	if _, err := plan.CronOf(o.File, src, def); err != nil { // what check refuses
		return RunResult{}, err
	}
	if _, err := d.numbers.refresh(ctx, d.client); err != nil {
		return RunResult{}, err
	}
	// Memory stays flat in the list's length: garbage is collected at half the usual growth while a list is read twice, and to
	// the end where the ledger is in this process. Sending to a server's ledger is a third faster at the usual growth.
	usual := debug.SetGCPercent(50)
	defer debug.SetGCPercent(usual)
	launched, err := campaign.Launch{
		Ledger: d.ledger, Service: d.client, File: o.File, List: o.List, New: o.New, Checked: o.Checked,
		Owner: d.owner, Lease: time.Duration(d.cfg.Sending.Lease),
		Progress: func(phase string, rows int64) { o.Progress(Progress{Phase: phase, Done: rows}) },
	}.Start(ctx)
	if d.cfg.sharedLedger() {
		debug.SetGCPercent(usual)
	}
	if err != nil {
		return RunResult{}, err
	}
	run := launched.Run
	result := RunResult{Resumed: launched.Resumed, Ended: launched.Ended}
	if !launched.Ended {
		if run.State == campaign.Paused && run.Reason != campaign.PausedByOperator && run.Reason != campaign.PausedByLedger {
			// Whoever runs it again wants it to go on; what paused it is tried once more. What an operator must look at first
			// waits for `resume`.
			if run, err = d.ledger.SetWanted(ctx, run.No, campaign.WantRun); err != nil {
				return result, fmt.Errorf("resume the run: %w", err)
			}
		}
		if err := d.sendUntilSettled(ctx, run, o); err != nil && !errors.Is(err, context.Canceled) {
			return result, err
		}
	}
	// The report is written although the command was interrupted.
	ctx = context.WithoutCancel(ctx)
	if run, err = d.ledger.Run(ctx, run.No); err != nil {
		return result, fmt.Errorf("read the run: %w", err)
	}
	if result.Report, err = reporting.Build(ctx, d.ledger, run); err != nil {
		return result, err
	}
	return result, nil
}

// sendUntilSettled runs the engine and the intake for one run until watch says it is over.
func (d *Daemon) sendUntilSettled(ctx context.Context, run campaign.Run, o RunOptions) error {
	engine, err := d.engine(run.No)
	if err != nil {
		return err
	}
	sending, stop := context.WithCancel(ctx)
	defer stop()
	var wg sync.WaitGroup
	var sendErr error
	wg.Go(func() {
		defer stop() // an engine that cannot run ends the watch too
		sendErr = d.send(sending, engine)
	})
	_, err = d.watch(sending, run.No, o.Settle, o.Progress)
	stop()
	wg.Wait()
	if sendErr != nil {
		return sendErr
	}
	return err
}

// EndCancelled brings a run that is to be cancelled to its end in this process: what is queued is dropped, nothing is
// sent. It gives up after budget, when doubts keep the run open; the next sender finishes it then.
func (d *Daemon) EndCancelled(ctx context.Context, no campaign.RunNo, budget time.Duration) (campaign.Run, error) {
	engine, err := d.engine(no)
	if err != nil {
		return campaign.Run{}, err
	}
	ctx, stop := context.WithTimeout(ctx, budget)
	defer stop()
	var wg sync.WaitGroup
	wg.Go(func() { err = engine.Run(ctx) })
	run := campaign.Run{No: no}
	var readErr error
	for ctx.Err() == nil {
		if run, readErr = d.ledger.Run(ctx, no); readErr != nil || run.State.Ended() {
			break
		}
		t := time.NewTimer(20 * time.Millisecond)
		select {
		case <-ctx.Done():
		case <-t.C:
		}
		t.Stop()
	}
	stop()
	wg.Wait()
	if readErr != nil && !errors.Is(readErr, context.DeadlineExceeded) {
		err = errors.Join(err, readErr)
	}
	return run, err
}

// Interrupted reports whether an error says only that the operator stopped the command.
func Interrupted(err error) bool { return errors.Is(err, context.Canceled) }
