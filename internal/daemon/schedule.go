package daemon

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"campaignd/campaign"
	"campaignd/campaign/plan"
	"campaignd/campaign/sender"
)

// scheduleEvery is how often the campaign folder is read and due firings are launched. The times of
// a cron expression are whole minutes.
const scheduleEvery = 5 * time.Second

// Scheduled is one campaign of the folder with a schedule.
type Scheduled struct {
	File       string
	Definition *campaign.Definition
	Source     []byte // the file as it was read
	Cron       *plan.Cron
}

// Next returns the first firing after now.
func (s Scheduled) Next(now time.Time) plan.Firing { return s.Cron.Next(now) }

// ReadSchedule reads the campaign files of a folder and returns those with a schedule. A folder
// that does not exist counts as empty. The faults of all files are one *campaign.FileError,
// returned with the good files. If two files have the same campaign name, the second is a fault.
func ReadSchedule(dir string) ([]Scheduled, error) {
	files, err := filepath.Glob(filepath.Join(dir, "*.yaml"))
	if err != nil {
		return nil, fmt.Errorf("campaigns folder %q: %w", dir, err)
	}
	var out []Scheduled
	named := map[string]string{} // the file of each campaign
	faults := &campaign.FileError{Name: dir}
	for _, f := range files {
		s, err := readScheduled(f)
		var file *campaign.FileError
		switch {
		case errors.As(err, &file):
			faults.Findings = append(faults.Findings, file.Findings...)
		case err != nil:
			faults.Findings = append(faults.Findings, campaign.Finding{Level: campaign.LevelError, What: err.Error()})
		case s.Cron == nil:
		case named[s.Definition.Name] != "":
			// The key of a firing is made from the campaign's name, so only one of the two would be
			// launched.
			faults.Findings = append(faults.Findings, campaign.Finding{
				Level: campaign.LevelError, Where: f,
				What:   fmt.Sprintf("the name %s is that of %s too", s.Definition.Name, named[s.Definition.Name]),
				Remedy: "give each campaign a name of its own",
			})
		default:
			named[s.Definition.Name] = f
			out = append(out, s)
		}
	}
	if len(faults.Findings) > 0 {
		return out, faults
	}
	return out, nil
}

// CheckFolder says that the campaigns folder does not exist or cannot be one. Nothing of it fires
// then, which is as it should be where no campaign has a schedule.
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

func readScheduled(file string) (Scheduled, error) {
	def, src, err := campaign.LoadDefinition(file)
	if err != nil {
		return Scheduled{}, err
	}
	c, err := plan.CronOf(file, src, def)
	return Scheduled{File: file, Definition: def, Source: src, Cron: c}, err
}

// schedule fires the campaigns of the folder and resumes imports whose process died, until ctx
// ends. The key of a firing's run holds its time, so a restart neither repeats a firing nor forgets
// one within its grace. A job lets one replica at a time fire a campaign, so that several replicas
// fire it once.
func (d *Daemon) schedule(ctx context.Context, e *sender.Engine) {
	l := newLauncher(d)
	defer l.running.Wait()
	for {
		l.checkFolder(d.cfg.Campaigns)
		all, err := ReadSchedule(d.cfg.Campaigns)
		l.logFindingsOnce("folder", "a campaign file is not used", err)
		for _, s := range all {
			_, due, err := d.due(ctx, s, time.Now())
			l.logOnce(s.File, "a scheduled campaign cannot be checked", err)
			if due {
				l.try(ctx, cronKey+s.Definition.Name, func(ctx context.Context) error { return d.fireOnce(ctx, s, e) })
			}
		}
		d.resumeImports(ctx, l, e, all)
		d.renewMedia(ctx, l, e, 0)
		t := time.NewTimer(scheduleEvery)
		select {
		case <-ctx.Done():
			t.Stop()
			return
		case <-t.C:
		}
	}
}

// fireOnce takes the campaign's job and fires s if it is still due: another replica may have fired
// it before this process got the job.
func (d *Daemon) fireOnce(ctx context.Context, s Scheduled, e *sender.Engine) error {
	return d.job(cronKey+s.Definition.Name).Do(ctx, func(ctx context.Context) error {
		firing, due, err := d.due(ctx, s, time.Now())
		if err != nil || !due {
			return err
		}
		if err := d.fire(ctx, s, cronKey+firing.Key, e); err != nil {
			return fmt.Errorf("%s, due %s: %w", s.File, firing.At.Format(time.RFC3339), err)
		}
		return nil
	})
}

// launch returns the launch of a campaign file by the schedule.
func (d *Daemon) launch(file, key string) campaign.Launch {
	return campaign.Launch{
		Rate:   d.cfg.Rate,
		Ledger: d.ledger, Service: d.client, File: file, Key: key,
		Owner: d.owner, Lease: time.Duration(d.cfg.Sending.Lease), NoWait: true,
	}
}

// due returns the firing of s that should be launched now; ok is false for none. Firings count from
// the campaign's last scheduled run, else from the time at which its file was written. The
// campaign's misfire policy decides about a late firing.
func (d *Daemon) due(ctx context.Context, s Scheduled, now time.Time) (firing plan.Firing, ok bool, err error) {
	last, err := d.ledger.Runs(ctx, campaign.RunFilter{Campaign: s.Definition.Name, Fired: true, Limit: 1})
	if err != nil {
		return firing, false, fmt.Errorf("read runs: %w", err)
	}
	info, err := os.Stat(s.File)
	if err != nil {
		return firing, false, err
	}
	after := info.ModTime()
	for _, r := range last {
		after = r.CreatedAt // also when its import was interrupted: resumeImports continues that
	}
	firing, _, ok = s.Cron.Latest(after, now)
	if !ok {
		return firing, false, nil
	}
	decision := plan.Misfire(s.Definition.Schedule.Misfire, time.Duration(s.Definition.Schedule.Grace), firing.At, now)
	return firing, decision == plan.Fire, nil
}

// cronKey begins the Launch key of scheduled runs, and the name of the job that fires a campaign.
const cronKey = campaign.FiringKey

// fire launches one firing under its key. The ledger refuses a second run with the same key. A
// firing that failed rests at all replicas, unless its campaign file or the size of its list has
// changed since.
func (d *Daemon) fire(ctx context.Context, s Scheduled, key string, e *sender.Engine) error {
	size := int64(-1)
	if info, err := os.Stat(s.list()); err == nil {
		size = info.Size()
	}
	job := fmt.Sprintf("%s of %s, file %x, list %d", key, s.Definition.Name, sha256.Sum256(s.Source), size)
	return d.rested(ctx, job, d.launch(s.File, key), func(ctx context.Context, l campaign.Launch) error {
		launched, err := l.Start(ctx)
		if err == nil && launched.Imported {
			d.log.Info("scheduled campaign launched", "run", launched.Run.ID(), "key", key, "rows", launched.Run.Rows)
			e.Poke()
		}
		return err
	})
}
