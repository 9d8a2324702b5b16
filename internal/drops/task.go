package drops

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"campaignd/campaign"
	"campaignd/campaign/file"
	"campaignd/internal/sentence"
)

// tryAgain is when a file that could not be launched is tried again. One that could not be moved,
// or whose results could not be written, waits longer the older it is.
const tryAgain = 30 * time.Second

// task is the work on one file, under its job.
type task struct {
	*Watcher
	p   *watched
	f   campaign.DroppedFile // as stored
	dir string               // its folder in the spool
	own campaign.Run         // that an earlier try made; without a number: none
}

// advance takes a file one step on, unless another process does. A failure is stored
// as the detail of the file, and is tried again.
func (w *Watcher) advance(ctx context.Context, p *watched, f campaign.DroppedFile) error {
	job := campaign.Job{Ledger: w.o.Ledger, Name: f.Launch(), Owner: w.o.Owner, Lease: w.o.Lease}
	return job.Do(ctx, func(ctx context.Context) error {
		found, err := w.o.Ledger.DroppedFiles(ctx, campaign.DropFilter{No: f.No, Bucket: f.Bucket})
		if err != nil || len(found) == 0 || !found[0].State.Open() {
			return err
		}
		t := &task{Watcher: w, p: w.ruleOf(p, f), f: found[0], dir: filepath.Join(w.o.Spool, spoolName(found[0]))}
		if t.f.State == campaign.DropLaunched {
			err = t.report(ctx)
		} else {
			err = t.launch(ctx)
		}
		if err == nil || ctx.Err() != nil {
			return err
		}
		known := t.f.Detail == err.Error()
		if t.f.State != campaign.DropLaunched || t.f.Detail != replaced && !t.unmoved() {
			t.f.Detail = err.Error()
		}
		wait := tryAgain
		if t.f.Place != "" { // a right may be missing for days
			wait = max(wait, nextReport(time.Since(t.f.TakenAt), 0))
		}
		t.f.NextAt = time.Now().Add(wait)
		if e := t.store(ctx); e != nil || known { // it was logged when it happened first
			return e
		}
		return err
	})
}

// tidy logs that the spool of a file was not removed. That decides nothing about the file.
func (t *task) tidy(err error) {
	if err != nil {
		t.o.Log.Warn("the spool of a file was not removed", "bucket", t.f.Bucket, "file", t.f.Key, "err", err)
	}
}

// store writes what has become of the file.
func (t *task) store(ctx context.Context) error { return t.o.Ledger.UpdateFile(ctx, t.f) }

// launch brings a claimed file to its run and its place, or rejects it. Each step that a crash may
// interrupt is stored before the next one.
func (t *task) launch(ctx context.Context) error {
	if t.f.Run == 0 && !t.rejecting() {
		err := t.bring(ctx)
		var refused *Refused
		switch {
		case errors.As(err, &refused):
			return t.reject(ctx, refused)
		case err != nil || t.f.State == campaign.DropGone:
			return err
		}
	}
	if t.rejecting() {
		return t.rejected(ctx)
	}
	return t.accept(ctx)
}

// awaitList is how long after a file was taken its interrupted import waits for the process that
// has read the list.
const awaitList = time.Hour

// bring reads the list and launches it. A run that an earlier try made goes on, whatever became of
// the file, its sidecar and other runs of the list since; after its import it needs no list.
func (t *task) bring(ctx context.Context) (err error) {
	if t.own, err = t.ownRun(ctx); err != nil {
		return err
	}
	if t.own.No != 0 && t.own.State != campaign.Importing {
		return t.launched(ctx, t.own)
	}
	if err := t.noteSidecar(ctx); err != nil {
		return err
	}
	list, err := t.fetch(ctx)
	lost := errors.Is(err, ErrChanged) || errors.Is(err, fs.ErrNotExist)
	switch {
	case lost && t.own.No == 0:
		t.f.State, t.f.Detail = campaign.DropGone, "it was removed or replaced before it was read"
		t.o.Log.Info("a file went away before it was read", "bucket", t.f.Bucket, "file", t.f.Key)
		if err := t.store(ctx); err != nil {
			return err
		}
		t.tidy(os.RemoveAll(t.dir))
		return nil
	case lost && t.f.TakenAt.Before(t.o.Expiry.Before(awaitList)):
		return &Refused{Code: "list_lost", Message: fmt.Sprintf("the file was removed or replaced before the import of %s had ended, "+
			"so the run is cancelled and has sent nothing; drop the list again", t.own.ID())}
	case lost:
		return fmt.Errorf("the file was removed or replaced before the import of %s has ended; the run is cancelled at %s unless the "+
			"process that read the list goes on", t.own.ID(), sentence.Instant(t.f.TakenAt.Add(awaitList)))
	case err != nil:
		return fmt.Errorf("read: %w", err)
	}
	if err := t.run(ctx, list); err != nil {
		return fmt.Errorf("launch: %w", err)
	}
	return nil
}

// ownRun returns the run of the file, without a number if there is none.
func (t *task) ownRun(ctx context.Context) (campaign.Run, error) {
	runs, err := t.o.Ledger.Runs(ctx, campaign.RunFilter{Campaign: t.f.Campaign, Launch: t.f.Launch(), Limit: 1})
	if err != nil || len(runs) == 0 {
		return campaign.Run{}, err
	}
	return runs[0], nil
}

// launched notes the run of the file.
func (t *task) launched(ctx context.Context, run campaign.Run) error {
	t.f.Run, t.f.Detail = run.No, ""
	t.o.Log.Info("dropped file launched", "file", t.f.Key, "run", run.ID(), "rows", run.Rows)
	return t.store(ctx)
}

// run launches the list, or continues its interrupted import.
func (t *task) run(ctx context.Context, list string) error {
	switch err := t.store(ctx); {
	case errors.Is(err, campaign.ErrSameContent):
		return t.duplicate(ctx)
	case err != nil:
		return err
	}
	r := Request{Campaign: t.f.Campaign, List: list, Key: t.f.Launch(), Again: t.p.Again, Rejects: t.rejects()}
	if t.own.No == 0 { // else it goes on as it was launched
		err := t.unsent(ctx)
		if err == nil {
			err = t.refuseLost(ctx)
		}
		if err == nil {
			r.Sidecar, err = t.sidecar(ctx)
		}
		if err != nil {
			return err
		}
		r.SidecarName = path.Base(sidecar(t.f.Key))
	}
	run, err := t.o.Launch(ctx, r)
	if err != nil {
		return err
	}
	return t.launched(ctx, run)
}

// unsent refuses a list that a run of the campaign has.
func (t *task) unsent(ctx context.Context) error {
	runs, err := t.o.Ledger.Runs(ctx, campaign.RunFilter{Campaign: t.f.Campaign, ListHash: t.f.Hash})
	if err != nil {
		return err
	}
	for _, r := range runs {
		if r.Parent != 0 {
			continue
		}
		if ended, err := t.withdrawn(ctx, r); err != nil {
			return err
		} else if !ended {
			return duplicateOf(r)
		}
	}
	return nil
}

// withdrawn reports whether a run was cancelled because its file was rejected.
func (t *task) withdrawn(ctx context.Context, r campaign.Run) (bool, error) {
	if r.Wanted != campaign.WantCancel || !strings.HasPrefix(r.Launch, campaign.DropKey) {
		return false, nil
	}
	files, err := t.o.Ledger.DroppedFiles(ctx, campaign.DropFilter{Campaign: t.f.Campaign, Hash: r.ListHash})
	return slices.ContainsFunc(files, func(f campaign.DroppedFile) bool {
		return f.State == campaign.DropRejected && f.Launch() == r.Launch
	}), err
}

// duplicateOf refuses a list that has a run.
func duplicateOf(r campaign.Run) error {
	return &Refused{Code: "duplicate", Message: fmt.Sprintf("the list of %s, launched %s, has the same content; "+
		"`campaignd launch` with --new launches it again", r.ID(), sentence.Instant(r.CreatedAt))}
}

// duplicate refuses a list that another dropped file has too. While that one has no run, and may
// still be rejected, this one waits.
func (t *task) duplicate(ctx context.Context) error {
	hash := t.f.Hash
	t.f.Hash = "" // it is the other file's
	all, err := t.o.Ledger.DroppedFiles(ctx, campaign.DropFilter{Campaign: t.f.Campaign, Hash: hash})
	if err != nil {
		return err
	}
	for _, o := range all {
		switch {
		case o.No == t.f.No || o.State == campaign.DropRejected || o.State == campaign.DropGone:
		case o.Run == 0:
			return fmt.Errorf("%s has the same content and is not launched yet", o.Key)
		default:
			run, err := t.o.Ledger.Run(ctx, o.Run)
			if errors.Is(err, campaign.ErrNoRun) {
				return &Refused{Code: "duplicate", Message: fmt.Sprintf("%s, taken %s, has the same content", o.Key,
					sentence.Instant(o.TakenAt))}
			}
			if err != nil {
				return err
			}
			return duplicateOf(run)
		}
	}
	return campaign.ErrSameContent // the other one was rejected meanwhile
}

// findSidecar finds the file that overrides fields of the campaign. Its tag is campaign.NoSidecar
// if there is none.
func (t *task) findSidecar(ctx context.Context) (Object, error) {
	o, err := t.p.Bucket.Stat(ctx, sidecar(t.f.Key))
	if errors.Is(err, fs.ErrNotExist) {
		return Object{ETag: campaign.NoSidecar}, nil
	}
	if err != nil {
		return o, fmt.Errorf("sidecar: %w", err)
	}
	return o, nil
}

// noteSidecar notes which sidecar the list has, before the list is read and launched, which may
// take hours. An exporter that uses the same names each time may write the next one meanwhile. A
// list with a run has been launched with its sidecar.
func (t *task) noteSidecar(ctx context.Context) error {
	if t.f.Sidecar != "" || t.own.No != 0 {
		return nil
	}
	o, err := t.findSidecar(ctx)
	if err != nil {
		return err
	}
	t.f.Sidecar = o.ETag
	return t.store(ctx)
}

// sidecar reads the sidecar of the list, nil if it has none. Another one than the list had at first
// may be that of the next list.
func (t *task) sidecar(ctx context.Context) ([]byte, error) {
	o, err := t.findSidecar(ctx)
	if err != nil {
		return nil, err
	}
	if o.ETag != t.f.Sidecar {
		return nil, &Refused{Code: "invalid_sidecar", Message: "its sidecar was written, replaced or removed after the list was taken; " +
			"put the sidecar in its place, and then drop the list again"}
	}
	if o.ETag == campaign.NoSidecar {
		return nil, nil
	}
	if o.Fault != "" || o.Size > file.MaxSize {
		return nil, &Refused{Code: "invalid_sidecar",
			Message: fmt.Sprintf("%s: want a regular file of at most %d bytes", o.Key, file.MaxSize)}
	}
	r, err := t.p.Bucket.Open(ctx, o, 0)
	if err != nil {
		return nil, fmt.Errorf("sidecar: %w", err)
	}
	text, err := io.ReadAll(io.LimitReader(r, file.MaxSize+1))
	if err = errors.Join(err, r.Close()); err != nil {
		return nil, fmt.Errorf("sidecar: %w", err)
	}
	return text, nil
}

// rest delays the next try of a file by a third of the lease. Without a delay a file that fails
// would ask the ledger without a pause. The caller has w.mu.
func (w *Watcher) rest(no int64) {
	now := time.Now()
	if len(w.again) > mostDue {
		maps.DeleteFunc(w.again, func(_ int64, at time.Time) bool { return at.Before(now) })
	}
	w.again[no] = now.Add(w.o.Lease / 3)
}
