package daemon

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"campaignd/campaign"
	"campaignd/campaign/file"
	"campaignd/campaign/launch"
	"campaignd/campaign/sender"
	"campaignd/campaign/why"
	"campaignd/internal/drops"
	"campaignd/internal/messaging"
	"campaignd/internal/schedule"
	"campaignd/reporting"
	"campaignd/reporting/html"
)

// watcher makes the watcher of drops, nil if there are none.
func (d *Daemon) watcher(e *sender.Engine) (*drops.Watcher, error) {
	if len(d.cfg.Drops) == 0 {
		return nil, nil
	}
	spool, err := d.spool()
	if err != nil {
		return nil, err
	}
	w := &dropLauncher{d: d, e: e, service: &recent{Service: d.client}, folder: schedule.NewFolder(d.cfg.Campaigns)}
	o := drops.Options{Ledger: d.ledger, Spool: spool, Launch: w.launch, Missing: w.missing, Owner: d.owner, Rates: d.rates, Page: d.page,
		Lease: time.Duration(d.cfg.Sending.Lease), Expiry: d.clock.Now, Log: d.log}
	for _, r := range d.cfg.Drops {
		b, err := r.Open()
		if err != nil {
			return nil, err
		}
		o.Rules = append(o.Rules, drops.Rule{Name: r.Bucket, Bucket: b, Prefix: r.Prefix, Patterns: r.Patterns,
			Campaign: r.Campaign, Again: r.Again})
	}
	return drops.New(o), nil
}

// spool returns a folder of this process alone in which dropped lists are read: beside an SQLite
// ledger, in data_dir, or a temporary one that Close removes.
func (d *Daemon) spool() (string, error) {
	switch {
	case !d.cfg.SharedLedger():
		return filepath.Abs(d.cfg.BesideLedger(".drops"))
	case d.cfg.DataDir != "":
		return filepath.Abs(filepath.Join(d.cfg.DataDir, "drops"))
	}
	dir, err := os.MkdirTemp("", "campaignd-drops-*")
	if err == nil {
		d.closers = append(d.closers, func() error { return os.RemoveAll(dir) })
	}
	return dir, err
}

// dropLauncher launches dropped lists.
type dropLauncher struct {
	d       *Daemon
	e       *sender.Engine
	service *recent

	mu     sync.Mutex
	folder *schedule.Folder
	looked time.Time
}

// findEvery is how often the campaigns folder is read for dropped files, at most.
const findEvery = 500 * time.Millisecond

// find returns the last good version of the campaign, which the schedule uses too. A campaign file
// that is broken later does not stop dropped files.
func (l *dropLauncher) find(name string) (schedule.Scheduled, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if now := time.Now(); now.Sub(l.looked) >= findEvery {
		_, _ = l.folder.Look() // the schedule logs the faults
		l.looked = now
	}
	return l.folder.Find(name)
}

// missing implements drops.Options.Missing.
func (l *dropLauncher) missing(name string) error {
	_, err := l.find(name)
	return err
}

// launch implements drops.Options.Launch.
func (l *dropLauncher) launch(ctx context.Context, r drops.Request) (run campaign.Run, err error) {
	found, err := l.find(r.Campaign)
	if err != nil {
		return run, err
	}
	runs, err := l.d.ledger.Runs(ctx, campaign.RunFilter{Campaign: r.Campaign, Launch: r.Key, Limit: 1})
	if err != nil {
		return run, fmt.Errorf("read runs: %w", err)
	}
	if len(runs) > 0 && runs[0].State != campaign.Importing {
		return runs[0], nil
	}
	name := found.File
	request := l.d.schedule.Launch(name, r.Key)
	request.List, request.Service, request.Again = r.List, l.service, r.Again
	var def *file.Definition
	if len(runs) > 0 { // Resume uses the campaign that the run has stored
		request.Source = runs[0].Definition
		if def, err = file.ParseStored(runs[0].ID(), request.Source); err != nil {
			return run, fmt.Errorf("the stored campaign of %s: %w", runs[0].ID(), err)
		}
	} else if def, err = override(&request, found, r); err != nil {
		return run, err
	}
	rejects := &rejectsFile{path: r.Rejects}
	defer func() {
		if left := rejects.drop(); left != nil {
			l.d.log.Warn("a file beside a dropped list was not removed", "err", left)
		}
	}()
	if err := rejects.create(r.List, def); err != nil {
		return run, err
	}
	if rejects.rows != nil {
		request.Rejects = rejects.rows.Add
	}
	var closed error
	request.Checked = l.d.checkLaunch(ctx, name, byDrop, func(*launch.Preflight) { closed = rejects.keep() })
	var launched launch.Outcome
	if len(runs) == 0 {
		launched, err = request.Start(ctx)
	} else {
		launched, err = request.Resume(ctx, runs[0])
	}
	var fault *launch.PreflightError
	switch refusal := sentBefore(err); {
	case refusal != nil:
		return run, refusal
	case errors.As(err, &fault) && fault.Preflight.ListAtFault():
		return run, refused("invalid_list", err, launch.ListFaults(def, r.List)...)
	case err != nil:
		return run, err
	}
	l.e.Poke()
	return launched.Run, closed
}

// override gives a launch the campaign of a file with what the sidecar overrides.
func override(l *launch.Request, found schedule.Scheduled, r drops.Request) (*file.Definition, error) {
	if l.Source = found.Source; r.Sidecar == nil {
		return found.Definition, nil
	}
	source, again, err := file.Override(found.Source, r.SidecarName, r.Sidecar)
	if err != nil {
		return nil, refused("invalid_sidecar", err)
	}
	def, err := file.Parse(r.SidecarName, source)
	if err != nil {
		return nil, refused("invalid_sidecar", err)
	}
	if l.Source = source; again != nil {
		l.Again = *again
	}
	return def, nil
}

// sentBefore returns how a list is rejected whose numbers an earlier run of the campaign had, or
// whose people got the template before where the campaign refuses that; nil for another error. A
// list that cannot be compared yet, because the other one is being imported, is tried again.
func sentBefore(err error) error {
	var unfinished *launch.UnfinishedError
	var repeat *launch.RepeatError
	var sent *launch.SentBeforeError
	out := &drops.Refused{Code: launch.RefusedRepeat}
	switch {
	case errors.As(err, &sent):
		if len(sent.Runs) > 0 {
			out.Run = sent.Runs[0]
		}
		out.Message = sent.Error() + "; drop a list without these people, or remove policies.sent_before"
		return out
	case errors.As(err, &unfinished) && unfinished.Difference.Interrupted:
		return fmt.Errorf("%s is being imported; this list is compared with it afterwards", unfinished.Run.ID())
	case errors.As(err, &unfinished):
		out.Run, out.Difference, out.Message = unfinished.Run.ID(), unfinished.Difference, unfinished.Reason()
	case errors.As(err, &repeat):
		out.Run, out.Difference, out.Message = repeat.Run.ID(), &repeat.Difference, repeat.Reason()
	default:
		return nil
	}
	out.Message = fmt.Sprintf("%s: %s; drop a list without those numbers, or, to send to all of it, with again: true "+
		"in its sidecar or in its rule of drops", out.Message, out.Difference)
	return out
}

// refused returns the fault of a dropped file with its findings. They name the file without its
// path. Findings that name the columns of the list replace those that are for a log.
func refused(code string, err error, named ...file.Finding) error {
	out := &drops.Refused{Code: code, Message: err.Error()}
	var file *file.Error
	var list *launch.PreflightError
	switch {
	case errors.As(err, &file):
		out.Findings = file.Findings
	case errors.As(err, &list):
		path := list.Preflight.List
		out.Message = strings.ReplaceAll(out.Message, path, filepath.Base(path))
		out.Findings = slices.Clone(list.Preflight.Errors())
		if len(named) > 0 {
			out.Findings = named
		}
		for i, f := range out.Findings {
			out.Findings[i].Where = strings.ReplaceAll(f.Where, path, filepath.Base(path))
			out.Findings[i].What = strings.ReplaceAll(f.What, path, filepath.Base(path))
		}
	}
	return out
}

// rejectsFile is the file of the rows that are not sent. It gets its name when it is complete.
type rejectsFile struct {
	path string
	file *os.File
	out  *bufio.Writer
	rows *reporting.Rejects
}

// create begins the file for a list. It does nothing for a list that cannot be read, which the
// launch reports.
func (r *rejectsFile) create(list string, def *file.Definition) error {
	l, err := launch.OpenList(list, def.Recipients.Options())
	if err != nil {
		return nil //nolint:nilerr // the launch reads it again
	}
	header, comma := slices.Clone(l.Header()), l.Dialect().Delimiter
	if err := l.Close(); err != nil {
		return err
	}
	if r.file, err = os.OpenFile(r.path+".part", os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600); err != nil {
		return err
	}
	r.out = bufio.NewWriter(r.file)
	r.rows, err = reporting.NewRejects(r.out, header, comma)
	return err
}

// keep completes the file and gives it its name. Call it once. It syncs the file first: after a
// loss of power, a file with the name is complete.
func (r *rejectsFile) keep() error {
	if r.file == nil {
		return nil
	}
	f := r.file
	r.file = nil
	return errors.Join(r.rows.Close(), r.out.Flush(), f.Sync(), f.Close(), os.Rename(r.path+".part", r.path))
}

// drop removes a file that was not kept.
func (r *rejectsFile) drop() error {
	if r.file == nil {
		return nil
	}
	return errors.Join(r.file.Close(), os.Remove(r.path+".part"))
}

// recentFor is how long an answer of the service counts for dropped files. Ten thousand files would
// ask thirty thousand times, and the platform allows an account 200 calls an hour
// (docs/service.md#limits).
const recentFor = time.Minute

// recent is a service that gives an answer again for recentFor.
type recent struct {
	messaging.Service

	mu      sync.Mutex
	answers map[string]answer
	asked   map[string]bool // by operation
}

type answer struct {
	value any
	until time.Time
}

// lately returns the answer of an operation about a connection, or about all with "", asked at most
// every recentFor.
func lately[T any](r *recent, operation, connection string, ask func() (T, error)) (T, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.asked == nil {
		r.asked = map[string]bool{}
	}
	r.asked[operation] = true
	question := operation + " " + connection
	if a, ok := r.answers[question]; ok && time.Now().Before(a.until) {
		return a.value.(T), nil //nolint:forcetypeassert // each question has one type
	}
	v, err := ask()
	if err == nil {
		if r.answers == nil {
			r.answers = map[string]answer{}
		}
		r.answers[question] = answer{v, time.Now().Add(recentFor)}
	}
	return v, err
}

// Asked names the operations of the service that were asked through r and that its document does
// not show.
func (r *recent) Asked() (offered, absent []string) {
	s, ok := r.Service.(asker)
	if !ok {
		return nil, nil
	}
	offered, absent = s.Asked()
	r.mu.Lock()
	defer r.mu.Unlock()
	others := func(operation string) bool { return !r.asked[operation] }
	return slices.DeleteFunc(offered, others), slices.DeleteFunc(absent, others)
}

func (r *recent) Connections(ctx context.Context) ([]messaging.Connection, error) {
	return lately(r, "connections", "", func() ([]messaging.Connection, error) { return r.Service.Connections(ctx) })
}

func (r *recent) Numbers(ctx context.Context) ([]messaging.Number, error) {
	return lately(r, "numbers", "", func() ([]messaging.Number, error) { return r.Service.Numbers(ctx) })
}

func (r *recent) Templates(ctx context.Context, connection string) ([]messaging.TemplateRecord, error) {
	return lately(r, "templates", connection, func() ([]messaging.TemplateRecord, error) { return r.Service.Templates(ctx, connection) })
}

// page reads the facts of a run's report for people, and returns what writes it.
func (d *Daemon) page(ctx context.Context, run campaign.Run, report *reporting.Report) (func(io.Writer) error, error) {
	history, err := d.ledger.History(ctx, run.No)
	if err != nil {
		return nil, err
	}
	facts, err := html.Read(ctx, d.ledger, run, report, why.History(run, history, d.directory.Origin), false)
	if err != nil {
		return nil, err
	}
	return func(w io.Writer) error { return html.Write(w, facts) }, nil
}
