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
	"time"

	"campaignd/campaign"
	"campaignd/campaign/file"
	"campaignd/internal/sentence"
)

// tryAgain is when a file that could not be launched, or whose results could not be written, is
// tried again.
const tryAgain = 30 * time.Second

// task is the work on one file, under its job.
type task struct {
	*Watcher
	p   *watched
	f   campaign.DroppedFile // as stored
	dir string               // its folder in the spool
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
		if t.f.NextAt = time.Now().Add(tryAgain); t.f.State != campaign.DropLaunched || t.f.Detail != replaced {
			t.f.Detail = err.Error()
		}
		if e := t.store(ctx); e != nil || known { // it was logged when it happened first
			return e
		}
		return err
	})
}

// store writes what has become of the file.
func (t *task) store(ctx context.Context) error { return t.o.Ledger.UpdateFile(ctx, t.f) }

// launch brings a claimed file to its run and its place, or rejects it. Each step that a crash may
// interrupt is stored before the next one.
func (t *task) launch(ctx context.Context) error {
	if t.f.Run == 0 && !t.rejecting() {
		list, err := t.fetch(ctx)
		switch {
		case errors.Is(err, ErrChanged), errors.Is(err, fs.ErrNotExist):
			t.f.State, t.f.Detail = campaign.DropGone, "it was removed or replaced before it was read"
			t.o.Log.Info("a file went away before it was read", "bucket", t.f.Bucket, "file", t.f.Key)
			return errors.Join(t.store(ctx), os.RemoveAll(t.dir))
		case err != nil:
			return fmt.Errorf("read: %w", err)
		}
		err = t.run(ctx, list)
		var refused *Refused
		switch {
		case errors.As(err, &refused):
			return t.reject(ctx, refused)
		case err != nil:
			return fmt.Errorf("launch: %w", err)
		}
	}
	if t.rejecting() {
		return t.rejected(ctx)
	}
	return t.accept(ctx)
}

// run launches the list, or finds the run that an earlier try launched.
func (t *task) run(ctx context.Context, list string) error {
	switch err := t.store(ctx); {
	case errors.Is(err, campaign.ErrSameContent):
		return t.duplicate(ctx)
	case err != nil:
		return err
	}
	runs, err := t.o.Ledger.Runs(ctx, campaign.RunFilter{Campaign: t.f.Campaign, ListHash: t.f.Hash})
	if err != nil {
		return err
	}
	for _, r := range runs {
		if r.Launch != t.f.Launch() && r.Parent == 0 {
			return duplicateOf(r)
		}
	}
	r := Request{Campaign: t.f.Campaign, List: list, Key: t.f.Launch(), Again: t.p.Again, Rejects: t.rejects()}
	if r.Sidecar, err = t.sidecar(ctx); err != nil {
		return err
	}
	r.SidecarName = path.Base(sidecar(t.f.Key))
	run, err := t.o.Launch(ctx, r)
	if err != nil {
		return err
	}
	t.f.Run, t.f.Detail = run.No, ""
	t.o.Log.Info("dropped file launched", "file", t.f.Key, "run", run.ID(), "rows", run.Rows)
	return t.store(ctx)
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

// sidecar reads the file that overrides fields of the campaign, nil if there is none.
func (t *task) sidecar(ctx context.Context) ([]byte, error) {
	o, err := t.p.Bucket.Stat(ctx, sidecar(t.f.Key))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("sidecar: %w", err)
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
