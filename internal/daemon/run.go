package daemon

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"sync"
	"time"

	"campaignd/campaign"
	"campaignd/campaign/file"
	"campaignd/campaign/launch"
	"campaignd/campaign/plan"
	"campaignd/campaign/why"
	"campaignd/campaign/wording"
	"campaignd/internal/operator"
	"campaignd/reporting"
)

// RunOptions are the options of `campaignd run`.
type RunOptions struct {
	// File is the path of the campaign file.
	File string
	// List is the path of the list. "" takes recipients.file of the campaign.
	List string
	// New, LeaveOutSent, SendAgain, Command and Beside are passed to launch.Request.
	New                     bool
	LeaveOutSent, SendAgain bool
	Command                 string
	Beside                  func(campaign.Run, launch.ListDifference)
	// Settle is how long statuses are awaited after the last answer. 0: not at all.
	Settle time.Duration
	// Checked, if not nil, gets the preflight of a new run.
	Checked func(*launch.Preflight)
	// Progress, if not nil, is called when the run has advanced, about four times a second, from
	// more than one goroutine.
	Progress func(Progress)
}

// RunResult is the result of `campaignd run`.
type RunResult struct {
	// Run is set once the run is stored, also when an error is returned.
	Run campaign.Run
	// Report is nil with an error.
	Report *reporting.Report
	// Ended means that the run had ended before, so nothing was sent.
	Ended bool
	// Changed is how the campaign file differs now from the file of a run that had ended.
	Changed []string
}

// frugal is the growth of the heap, in percent, at which garbage is collected: half of the usual
// one. Memory must not grow with the length of a list. It applies while `run` reads its list, and
// always in a `serve` on SQLite, which may read a list at any time. At the usual growth sending
// takes less CPU: a third less on PostgreSQL, 6 to 9 % less on SQLite for 7 MB more
// (docs/performance.md).
const frugal = 50

// RunCampaign checks one campaign, freezes its list, sends, and keeps taking webhooks until the
// statuses have settled. A call that was interrupted may be repeated; it continues the same run.
func (d *Daemon) RunCampaign(ctx context.Context, o RunOptions) (RunResult, error) {
	if o.Progress == nil {
		o.Progress = func(Progress) {}
	}
	def, src, err := file.Load(o.File)
	if err != nil {
		return RunResult{}, err
	}
	// The schedule is not used here, but its faults are refused as `check` refuses them.
	if _, err := plan.CronOf(o.File, src, def); err != nil {
		return RunResult{}, err
	}
	if _, err := d.directory.RefreshConnections(ctx, d.client); err != nil {
		return RunResult{}, err
	}
	_, ratesErr := d.directory.RefreshRates(ctx, d.client)
	if ratesErr != nil { // the run waits for them
		d.log.Warn("the service does not list its numbers", "err", ratesErr)
	}
	refreshing, stop := context.WithCancel(ctx)
	var refresh sync.WaitGroup
	refresh.Go(func() { d.refreshNumbers(refreshing, refreshedAt(ratesErr)) })
	defer refresh.Wait()
	defer stop()
	usual := debug.SetGCPercent(frugal)
	defer debug.SetGCPercent(usual)
	request := launch.Request{
		Ledger: d.ledger, Service: d.client, File: o.File, List: o.List, New: o.New, Command: o.Command,
		LeaveOutSent: o.LeaveOutSent, SendAgain: o.SendAgain, SentWithin: d.cfg.SentBefore.Within.Std(),
		Checked: d.checkLaunch(ctx, o.File, byCommand, o.Checked), Scheduled: scheduledToo(ctx, d.ledger, d.cfg.Campaigns),
		Beside: o.Beside, Rate: d.cfg.Rate, Tier: d.cfg.Tier, Company: d.cfg.Company,
		OptOut: d.cfg.OptOut(), Commerce: d.cfg.Commerce.Configured(),
		Owner: d.owner, By: operator.LocalUser(), Lease: time.Duration(d.cfg.Sending.Lease),
		Progress: func(phase string, rows int64) { o.Progress(Progress{Phase: phase, Done: rows}) },
	}
	launched, err := d.audiences.Start(ctx, request)
	debug.SetGCPercent(usual)
	if err != nil {
		return RunResult{Run: launched.Run}, err
	}
	run := launched.Run
	result := RunResult{Run: run, Ended: launched.Ended, Changed: launched.Changed}
	if !launched.Ended {
		if _, err := file.ParseStored(run.ID(), run.Definition); err != nil && run.Wanted != campaign.WantCancel {
			return result, fmt.Errorf("this version cannot send %s, which `campaignd cancel %[1]s` ends: %w", run.ID(), err)
		}
		if run.State == campaign.Paused && run.Reason == campaign.PausedByBreaker {
			// The command is given again, so the run continues and tries once more what paused it. Any other
			// pause ends only by `resume`.
			if run, err = d.ledger.SetWanted(ctx, run.No, campaign.WantRun, operator.LocalUser()); err != nil {
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
	if result.Report.Cost, err = reporting.CostOf(ctx, d.ledger, run.No, d.rates); err != nil {
		return result, err
	}
	holds, err := d.ledger.Holds(ctx, false)
	if err != nil {
		return result, fmt.Errorf("read the holds: %w", err)
	}
	now := time.Now()
	result.Report.Holds = wording.States(why.RunHolds(run, holds, d.directory.Origin, now), now)
	return result, nil
}

// sendUntilSettled runs the engine and the intake for one run until watch returns.
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
		defer stop() // an engine that fails ends the watch too
		sendErr = d.send(sending, engine)
	})
	wg.Go(func() { d.schedule.KeepMedia(sending, engine, run.No) })
	wg.Go(func() { d.schedule.KeepPolicies(sending, engine, run.No) })
	_, err = d.watch(sending, run.No, o.Settle, o.Progress)
	stop()
	wg.Wait()
	if sendErr != nil {
		return sendErr
	}
	return err
}
