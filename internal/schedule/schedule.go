package schedule

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"strings"
	"time"

	"campaignd/campaign"
	"campaignd/campaign/file"
	"campaignd/campaign/launch"
	"campaignd/campaign/plan"
	"campaignd/campaign/sender"
	"campaignd/internal/clock"
)

// Every is how often the campaign folder is read and due firings are launched. The times of
// a cron expression are whole minutes.
const Every = 5 * time.Second

// Scheduled is one campaign of the folder with a schedule.
type Scheduled struct {
	File       string
	Definition *file.Definition
	Source     []byte    // the file as it was read
	Written    time.Time // of the file; of a schedule that was changed while the folder was watched, when that was seen
	Cron       *plan.Cron
	// changed is when the file was written, or when the folder was seen to have this version of it in
	// place of another.
	changed time.Time
}

// Next returns the first firing after now.
func (s Scheduled) Next(now time.Time) plan.Firing { return s.Cron.Next(now) }

// NextLogged is the time of the next firing as the log has it.
func (s Scheduled) NextLogged() any {
	if f := s.Next(time.Now()); !f.At.IsZero() {
		return f.At
	}
	return "none: its time has passed"
}

// schedule names the times of the firings.
func (s Scheduled) schedule() string { return s.Cron.String() + " in " + s.Cron.Zone().String() }

// Read reads the campaign files of a folder once, and returns those with a schedule
// (Folder.Look).
func Read(dir string) ([]Scheduled, error) { return NewFolder(dir).Look() }

// CheckFolder returns an error if the campaigns folder does not exist or is no folder. No campaign
// fires then, which is no fault where none has a schedule.
func CheckFolder(dir string) error {
	info, err := os.Stat(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("there is no campaigns folder %s: no schedule fires; make it, or name another in the configuration (campaigns)", dir)
	case err != nil:
		return fmt.Errorf("campaigns folder: %w", err)
	case !info.IsDir():
		return fmt.Errorf("campaigns folder %s is a file: no schedule fires; name a folder in the configuration (campaigns)", dir)
	}
	return nil
}

// Run fires the campaigns of the folder and resumes imports whose process died, until ctx
// ends. The launch key of a firing's run contains its time, so a restart neither repeats a firing
// nor forgets one. A job lets one replica at a time fire a campaign, so that several replicas fire
// it once. every is how often it looks.
func (sc *Scheduler) Run(ctx context.Context, e *sender.Engine, every time.Duration) {
	l := NewLauncher(sc)
	defer l.Wait()
	folder := NewFolder(sc.o.Config.Campaigns)
	var loaded loads
	for {
		l.checkFolder(sc.o.Config.Campaigns)
		all, err := folder.Look()
		l.logFindingsOnce("folder", "a campaign file is not used", err)
		sc.mu.Lock()
		sc.good = all
		sc.mu.Unlock()
		loaded.log(sc.o.Log, all)
		if len(all) > 0 && sc.clockAgrees(ctx, l) {
			sc.fireDue(ctx, l, e, all)
		}
		sc.ResumeImports(ctx, l, e, all)
		sc.renewMedia(ctx, l, e, 0)
		select {
		case <-ctx.Done():
			return
		case <-l.freed: // campaigns that are due at the same minute do not wait for the next tick
		case <-time.After(every):
		}
	}
}

// fireDue fires the campaigns that are due, in the background.
func (sc *Scheduler) fireDue(ctx context.Context, l *Launcher, e *sender.Engine, all []Scheduled) {
	for _, s := range all {
		firing, err := sc.Look(ctx, s, time.Now())
		l.logOnce(s.File, "a scheduled campaign cannot be checked", err)
		if firing != nil {
			l.try(ctx, CronKey+s.Definition.Name, func(ctx context.Context) error { return sc.Fire(ctx, s, *firing, e) })
		}
	}
}

// clockAgrees reports whether this machine's clock is within clock.Most of the ledger's: a replica
// with a clock that is further ahead would fire before the others. It logs once that it is not, or
// that the ledger does not tell.
func (sc *Scheduler) clockAgrees(ctx context.Context, l *Launcher) bool {
	at, ahead, err := clock.Read(ctx, sc.o.Ledger)
	if err == nil && (ahead.Abs() > clock.Most || sc.o.Apart != nil && sc.o.Apart() != 0) {
		err = clock.ErrApart
	}
	if l.isNew("clock", err) && ctx.Err() == nil {
		sc.o.Log.Error("no schedule fires here until the clocks agree", "err", err, "clock", time.Now().UTC(), "ledger", at)
	}
	return err == nil
}

// Fire takes the campaign's job and launches a firing. The run of a firing that another replica
// has launched is found by its key, or by its instant. It is missed if people of its list got the
// template from another campaign, and it is late or the campaign refuses that.
func (sc *Scheduler) Fire(ctx context.Context, s Scheduled, f campaign.Firing, e *sender.Engine) error {
	return sc.job(CronKey+s.Definition.Name).Do(ctx, func(ctx context.Context) error {
		run, err := sc.launchedAt(ctx, f)
		if err == nil && run.No == 0 {
			l := sc.Launch(s.File, CronKey+f.Key)
			_, once := s.Cron.Once()
			l.Late = once && plan.Late(f.At, f.Since)
			run, err = sc.start(ctx, s, l, e)
		}
		var sent *launch.SentBeforeError
		switch {
		case errors.Is(err, campaign.ErrTaken): // its launch failed a moment ago, and rests
			return err
		case errors.As(err, &sent):
			f.Outcome, f.Detail, err = campaign.FiringMissed, sent.Error(), nil
		case err != nil:
			f.Detail = err.Error()
			err = &firingError{s.File, f.At, err}
		default:
			f.Outcome, f.Run, f.Detail = campaign.FiringLaunched, run.No, ""
		}
		if ctx.Err() != nil {
			return err
		}
		return errors.Join(err, sc.note(ctx, f, false))
	})
}

// launchedAt returns the run that was launched for the instant of f under another key: replicas may
// have read two spellings of schedule.at. Its No is 0 if there is none.
func (sc *Scheduler) launchedAt(ctx context.Context, f campaign.Firing) (run campaign.Run, err error) {
	same, err := sc.o.Ledger.Firings(ctx, campaign.FiringFilter{Campaign: f.Campaign, Until: f.At, Limit: 2})
	if err != nil {
		return run, fmt.Errorf("read firings: %w", err)
	}
	for _, was := range same {
		if was.Key == f.Key || !was.At.Equal(f.At) {
			continue
		}
		runs, err := sc.o.Ledger.Runs(ctx, campaign.RunFilter{Campaign: f.Campaign, Launch: CronKey + was.Key, Limit: 1})
		if err != nil {
			return run, fmt.Errorf("read runs: %w", err)
		}
		for _, r := range runs {
			return r, nil
		}
	}
	return run, nil
}

// Launch returns the launch of a campaign file by the schedule.
func (sc *Scheduler) Launch(file, key string) launch.Request {
	return launch.Request{
		Rate: sc.o.Config.Rate, Company: sc.o.Config.Company, OptOut: sc.o.Config.OptOut(), Commerce: sc.o.Config.Commerce.Configured(),
		Ledger: sc.o.Ledger, Service: sc.o.Service, File: file, Key: key,
		Owner: sc.o.Owner, Lease: time.Duration(sc.o.Config.Sending.Lease), NoWait: true, Unattended: true,
		SentWithin: sc.o.Config.SentBefore.Within.Std(),
	}
}

// CronKey begins the Launch key of scheduled runs, and the name of the job that fires a campaign.
const CronKey = campaign.FiringKey

// FireAs launches one firing under its key. The ledger refuses a second run with the same key. A
// firing that failed rests at all replicas, unless its campaign file or the size of its list has
// changed since.
func (sc *Scheduler) FireAs(ctx context.Context, s Scheduled, key string, e *sender.Engine) (campaign.Run, error) {
	return sc.start(ctx, s, sc.Launch(s.File, key), e)
}

func (sc *Scheduler) start(ctx context.Context, s Scheduled, l launch.Request, e *sender.Engine) (run campaign.Run, err error) {
	size := int64(-1)
	if info, err := os.Stat(s.List()); err == nil {
		size = info.Size()
	}
	job := fmt.Sprintf("%s of %s, file %x, list %d", l.Key, s.Definition.Name, sha256.Sum256(s.Source), size)
	err = sc.rested(ctx, job, l, func(ctx context.Context, l launch.Request) error {
		l.Source, l.Checked = s.Source, sc.o.Check(ctx, s.File)
		launched, err := sc.o.Audiences.Start(ctx, l)
		run = launched.Run
		if err == nil && launched.Imported {
			sc.o.Log.Info("scheduled campaign launched", "run", launched.Run.ID(), "firing", strings.TrimPrefix(l.Key, CronKey),
				"rows", launched.Run.Rows)
			e.Poke()
		}
		return err
	})
	return run, err
}

// loads knows which schedules were logged, by campaign.
type loads map[string]string

// log logs the schedules that were added, changed or removed since the last call. The first call
// logs none: takeOver has.
func (l *loads) log(log *slog.Logger, all []Scheduled) {
	now := make(loads, len(all))
	for _, s := range all {
		now[s.Definition.Name] = string(s.Source)
		switch source, known := (*l)[s.Definition.Name]; {
		case *l == nil || source == string(s.Source):
		case !known:
			log.Info("campaign added", "campaign", s.Definition.Name, "file", s.File, "schedule", s.Cron.String(), "next", s.NextLogged())
		default:
			log.Info("campaign changed", "campaign", s.Definition.Name, "file", s.File, "schedule", s.Cron.String(), "next", s.NextLogged())
		}
	}
	for name := range *l {
		if _, stays := now[name]; !stays {
			log.Info("campaign removed, it fires no more", "campaign", name)
		}
	}
	*l = now
}
