package schedule

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync/atomic"
	"time"

	"campaignd/campaign"
	"campaignd/campaign/file"
	"campaignd/campaign/launch"
	"campaignd/campaign/sender"
	"campaignd/internal/faults"
	"campaignd/internal/messaging"
)

// managementCalls is how many requests an hour a launch that fails again and again may make. The
// platform allows 200 for all that an account does (docs/service.md#limits).
const managementCalls = 30

// restAfter is how long a launch waits, at all replicas, after a try that failed with this many
// requests to the service. Tries so far apart make at most managementCalls an hour, or one try.
func restAfter(calls int64) time.Duration {
	if calls >= managementCalls/2 {
		return max(time.Hour, time.Hour*time.Duration(calls)/managementCalls)
	}
	return max(launchAgain, time.Hour*time.Duration(calls)/time.Duration(managementCalls-calls))
}

// counted is a service that counts the requests of one launch.
type counted struct {
	messaging.Service
	calls atomic.Int64
}

func (c *counted) Connections(ctx context.Context) ([]messaging.Connection, error) {
	c.calls.Add(1)
	return c.Service.Connections(ctx)
}

func (c *counted) Numbers(ctx context.Context) ([]messaging.Number, error) {
	c.calls.Add(1)
	return c.Service.Numbers(ctx)
}

func (c *counted) Templates(ctx context.Context, connection string) ([]messaging.TemplateRecord, error) {
	c.calls.Add(1)
	return c.Service.Templates(ctx, connection)
}

func (c *counted) UploadMedia(ctx context.Context, connection, name, contentType string, r io.Reader) (messaging.Asset, error) {
	c.calls.Add(1)
	return c.Service.UploadMedia(ctx, connection, name, contentType, r)
}

// rested does a launch under a job that rests after a failure, so that several replicas together
// try as often as one replica, and a restart does not shorten the wait.
func (sc *Scheduler) rested(ctx context.Context, name string, l launch.Request, do func(context.Context, launch.Request) error) error {
	service := &counted{Service: l.Service}
	l.Service = service
	job := sc.job(name)
	job.Rest = func(err error) time.Duration {
		if errors.Is(err, launch.ErrListElsewhere) || errors.Is(err, campaign.ErrTaken) {
			return 0 // a replica that has the list tries at once
		}
		return restAfter(service.calls.Load())
	}
	return job.Do(ctx, func(ctx context.Context) error { return do(ctx, l) })
}

// ResumeImports continues imports whose process died, if this process can read their list. A list
// on another machine is left to a replica there, or to the operator's `campaignd run`. An import of
// a schedule that cannot be continued ends at its grace, or when its files are corrected; all has
// the campaigns with a schedule.
func (sc *Scheduler) ResumeImports(ctx context.Context, l *Launcher, e *sender.Engine, all []Scheduled) {
	runs, err := sc.o.Ledger.Runs(ctx, campaign.RunFilter{Unfinished: true})
	if err != nil {
		return // the engine logs it
	}
	for _, r := range runs {
		// A process creates a run before it leases the import, so a young run is left to its creator. The
		// list of a dropped file is read from its bucket again (internal/drops).
		if r.State != campaign.Importing || r.Wanted == campaign.WantCancel || strings.HasPrefix(r.Launch, campaign.DropKey) ||
			time.Since(r.CreatedAt) < time.Duration(sc.o.Config.Sending.Lease) {
			continue
		}
		var of *Scheduled
		for i := range all {
			if strings.HasPrefix(r.Launch, CronKey) && all[i].Definition.Name == r.Campaign {
				of = &all[i]
			}
		}
		l.try(ctx, "import "+r.ID(), func(ctx context.Context) error {
			if err := sc.resumeImport(ctx, r, of, e); err != nil {
				return fmt.Errorf("interrupted import of %s: %w", r.ID(), err)
			}
			return nil
		})
	}
}

// resumeImport continues one import, or ends it. of is the campaign of a scheduled run, nil for
// another.
func (sc *Scheduler) resumeImport(ctx context.Context, r campaign.Run, of *Scheduled, e *sender.Engine) error {
	if r.Parent != 0 { // its list is rows of the ledger
		return sc.resumeFollowUp(ctx, r, e)
	}
	why, again, err := sc.stuck(ctx, r, of)
	switch {
	case err != nil:
		return err
	case why != "":
		return sc.endStuck(ctx, r, why, again, e)
	}
	request := sc.Launch("", "")
	if of != nil {
		request = sc.Launch(of.File, "")
		request.List = of.List()
	}
	return sc.rested(ctx, fmt.Sprint("retry import ", r.No), request, func(ctx context.Context, launch launch.Request) error {
		launched, err := launch.Resume(ctx, r)
		if err == nil && launched.Imported { // else another process has imported it since the runs were read
			sc.o.Log.Info("interrupted import finished", "run", r.ID(), "rows", launched.Run.Rows)
			e.Poke()
			_, err = sc.o.Audiences.Sweep(ctx) // its list, if it was of an audience
		}
		return err
	})
}

// keyAfter is the launch key of the firing that takes the place of a stuck import.
func keyAfter(r campaign.Run) string { return fmt.Sprintf("%s after %d", r.Launch, r.No) }

// stuck says why the import of a scheduled run that failed before (its Detail says how) is to end:
// its firing has become too late, or its campaign file or list was changed since. again is then the
// changed campaign, which is launched first; nil: none, or another process has launched it. why is
// "" for an import that is to be continued.
func (sc *Scheduler) stuck(ctx context.Context, r campaign.Run, of *Scheduled) (why string, again *Scheduled, err error) {
	if r.Detail == "" || !strings.HasPrefix(r.Launch, CronKey) {
		return "", nil, nil
	}
	launched, err := sc.o.Ledger.Runs(ctx, campaign.RunFilter{Campaign: r.Campaign, Launch: keyAfter(r), Limit: 1})
	if err != nil {
		return "", nil, fmt.Errorf("read runs: %w", err)
	}
	corrected := "its campaign file or list was corrected, and launched again: " + r.Detail
	switch {
	case len(launched) > 0: // also where this process has the file of before: the list would be sent twice
		return corrected, nil, nil
	case of == nil:
		return "", nil, nil
	}
	now, err := sc.o.Ledger.Clock(ctx) // by its own clock, which may be wrong, a replica could end an import too early
	switch {
	case err != nil:
		return "", nil, fmt.Errorf("read the ledger's clock: %w", err)
	case now.Sub(r.CreatedAt) > time.Duration(of.Definition.Schedule.Grace):
		return fmt.Sprintf("its import did not end within its grace of %s: %s", of.Definition.Schedule.Grace, r.Detail), nil, nil
	case of.changedSince(r):
		return corrected, of, nil
	}
	return "", nil, nil
}

// endStuck ends an import, after it has launched the campaign again as another firing (nil: none).
// It has the job of the import all that time: a replica with the campaign file of before, which
// could finish the import, would send to the list too. When the other run is stored, the import
// ends, even if the other one fails; that one is continued.
func (sc *Scheduler) endStuck(ctx context.Context, r campaign.Run, why string, again *Scheduled, e *sender.Engine) error {
	return sc.job(fmt.Sprint("import ", r.No)).Do(ctx, func(ctx context.Context) error {
		now, err := sc.o.Ledger.Run(ctx, r.No)
		if err != nil || now.State != campaign.Importing || now.Wanted == campaign.WantCancel {
			return err
		}
		var fault error
		if again != nil {
			run, err := sc.FireAs(ctx, *again, keyAfter(r), e)
			if fault = err; run.No == 0 {
				return err
			}
		}
		ended, err := sc.o.Ledger.SetState(ctx, r.No, []campaign.State{campaign.Importing}, campaign.RunStateFailed, "", why)
		if err == nil && ended {
			if changed, before := sc.failing.Failed("import of "+r.Campaign, why); changed {
				sc.o.Log.Error("a scheduled import was given up", faults.Counting(before, "run", r.ID(), "why", why)...)
			}
		}
		return errors.Join(fault, err)
	})
}

// changedSince reports whether the campaign differs from the one that the run was launched with, or
// its list does, because they were written after the launch. A file that differs and is older is
// that of a replica which does not have the newest one yet.
func (s Scheduled) changedSince(r campaign.Run) bool {
	if s.changed.After(r.CreatedAt) && len(file.Differences(r.Definition, s.Source)) > 0 {
		return true
	}
	info, err := os.Stat(s.List())
	return err == nil && info.ModTime().After(r.CreatedAt)
}

// List is the path of the campaign's list.
func (s Scheduled) List() string { return file.Beside(s.File, s.Definition.Recipients.File) }
