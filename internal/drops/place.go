package drops

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"
	"time"

	"campaignd/campaign"
	"campaignd/campaign/file"
	"campaignd/campaign/launch"
)

// The names of results, appended to that of the file.
const (
	acceptedName = ".accepted.json"
	rejectedName = ".rejected.csv"
	reportCSV    = ".report.csv"
	reportJSON   = ".report.json"
	reportHTML   = ".report.html"
)

// acceptance is the content of NAME.accepted.json.
type acceptance struct {
	File     int64     `json:"file"` // its number, as `campaignd drops` lists it
	Run      string    `json:"run"`
	Rows     int64     `json:"rows"`
	Campaign string    `json:"campaign"`
	From     string    `json:"from"`
	SHA256   string    `json:"sha256"`
	Bytes    int64     `json:"bytes"`
	TakenAt  time.Time `json:"taken_at"`
}

// rejection is the content of the NAME.report.json of a rejected file.
type rejection struct {
	File     int64          `json:"file"`
	Error    string         `json:"error"`
	Message  string         `json:"message"`
	Findings []file.Finding `json:"findings,omitempty"`
	// Run and Difference are those of Refused.
	Run        string                 `json:"run,omitempty"`
	Difference *launch.ListDifference `json:"difference,omitempty"`
	Campaign   string                 `json:"campaign"`
	From       string                 `json:"from"`
	TakenAt    time.Time              `json:"taken_at"`
}

// mostNames bounds the search for a name that is free.
const mostNames = 10_000

// chooseName chooses the name of the file in folder, and reserves it by writing first, the result
// that tells whose name it is. A name that another file or result has is not touched.
func (t *task) chooseName(ctx context.Context, folder, first string, content any) error {
	text, err := json.MarshalIndent(content, "", "  ")
	if err != nil {
		return err
	}
	for n := 1; n <= mostNames; n++ {
		key := beside(t.f.Key, folder, numbered(path.Base(t.f.Key), n))
		ours, free, err := t.owner(ctx, key+first)
		if err != nil {
			return err
		}
		if free {
			if _, err := t.p.Bucket.Stat(ctx, key); err == nil {
				continue
			} else if !errors.Is(err, fs.ErrNotExist) {
				return err
			}
			err := t.p.Bucket.Create(ctx, key+first, append(text, '\n'))
			if errors.Is(err, fs.ErrExist) {
				continue
			}
			if err != nil {
				return err
			}
			ours = true
		}
		if ours {
			t.f.Place = key
			return t.store(ctx)
		}
	}
	return fmt.Errorf("%d files have the name %s in %s", mostNames, path.Base(t.f.Key), folder)
}

// owner reports whether the result at key is of this file, and whether there is none. Another
// ledger, and one that went back in time, give the file's number to another file, perhaps of the
// same name: the time of the claim tells them apart.
func (t *task) owner(ctx context.Context, key string) (ours, free bool, err error) {
	o, err := t.p.Bucket.Stat(ctx, key)
	if errors.Is(err, fs.ErrNotExist) {
		return false, true, nil
	}
	if err != nil || o.Fault != "" {
		return false, false, err
	}
	r, err := t.p.Bucket.Open(ctx, o, 0)
	if err != nil {
		return false, false, err
	}
	text, err := io.ReadAll(io.LimitReader(r, file.MaxSize))
	if err = errors.Join(err, r.Close()); err != nil {
		return false, false, err
	}
	var found acceptance
	ours = json.Unmarshal(text, &found) == nil && found.File == t.f.No && found.From == t.f.Key && found.TakenAt.Equal(t.f.TakenAt)
	return ours, false, nil
}

// replaced is the detail of a file whose rows are in the ledger and whose text is lost.
const replaced = "the file was replaced or removed before it was moved, so it is not in its place; its report has its rows"

// move gives the file its new name, t.f.Place. If the version was replaced since, its content comes
// from the spool.
func (t *task) move(ctx context.Context) error {
	err := t.p.Bucket.Move(ctx, t.object(), t.f.Place)
	if errors.Is(err, ErrChanged) || errors.Is(err, fs.ErrNotExist) {
		if _, there := t.p.Bucket.Stat(ctx, t.f.Place); there == nil {
			return nil // an earlier try moved it
		}
		return t.putList(ctx)
	}
	return err
}

// putList writes the list of the spool to t.f.Place, if the spool still has the whole of it.
func (t *task) putList(ctx context.Context) (err error) {
	f, err := os.OpenFile(t.list(), os.O_RDWR, 0)
	if errors.Is(err, fs.ErrNotExist) {
		f, err = nil, nil
	}
	if err != nil {
		return err
	}
	if f != nil {
		defer f.Close() //nolint:errcheck // read only
		s := newSpool(f, t.dir)
		if err := s.resume(t.f); err != nil {
			return err
		}
		if s.have == t.f.Size {
			return t.p.Bucket.Put(ctx, t.f.Place, f)
		}
	}
	if t.f.Detail == "" { // neither the bucket nor this spool has it
		t.f.Detail = replaced
	}
	return nil
}

// moveSidecar moves the sidecar that the list had beside it. Another one belongs to the next list.
func (t *task) moveSidecar(ctx context.Context) error {
	o, err := t.findSidecar(ctx)
	if err != nil || o.ETag != t.f.Sidecar || o.ETag == campaign.NoSidecar || o.Fault != "" {
		return err
	}
	if err = t.p.Bucket.Move(ctx, o, sidecar(t.f.Place)); errors.Is(err, ErrChanged) || errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// notMoved begins the detail of a file that could not be moved.
const notMoved = "move to "

// unmoved reports whether the last try to move the file failed.
func (t *task) unmoved() bool { return strings.HasPrefix(t.f.Detail, notMoved) }

// moveBoth moves the file and its sidecar.
func (t *task) moveBoth(ctx context.Context) error {
	if err := errors.Join(t.move(ctx), t.moveSidecar(ctx)); err != nil {
		return fmt.Errorf("%s%s: %w", notMoved, t.f.Place, err)
	}
	return nil
}

// accept writes the first results of a launched file, and moves it.
func (t *task) accept(ctx context.Context) error {
	run, err := t.o.Ledger.Run(ctx, t.f.Run)
	if err != nil {
		return err
	}
	if t.f.Place == "" {
		if err := t.chooseName(ctx, doneFolder, acceptedName, acceptance{File: t.f.No, Run: run.ID(), Rows: run.Rows, Campaign: t.f.Campaign,
			From: t.f.Key, SHA256: t.f.Hash, Bytes: t.f.Size, TakenAt: t.f.TakenAt}); err != nil {
			return fmt.Errorf("write the results: %w", err)
		}
	}
	again := t.unmoved()
	t.f.Detail = ""
	if err := t.moveBoth(ctx); err != nil {
		if !again {
			return err
		}
		t.f.Detail = err.Error() // the results do not wait for a right that is not given; report tries again
	}
	if err := t.putRejects(ctx, run); err != nil {
		return fmt.Errorf("write %s: %w", t.f.Place+rejectedName, err)
	}
	t.f.State, t.f.NextAt = campaign.DropLaunched, time.Now()
	if err := t.store(ctx); err != nil {
		return err
	}
	t.tidy(t.clean(run))
	return nil
}

// rejecting reports whether the file was found to be at fault.
func (t *task) rejecting() bool {
	return strings.HasPrefix(t.f.Place, beside(t.f.Key, rejectedFolder, "")+"/")
}

// reject writes why a file has no run, and moves it.
func (t *task) reject(ctx context.Context, why *Refused) error {
	if t.f.Detail = why.Message; why.Code == "duplicate" {
		t.f.Hash = "" // the content is another file's
	}
	message := why.Message
	if len(why.Findings) > 0 {
		message = why.Findings[0].String()
		if more := len(why.Findings) - 1; more > 0 {
			message += fmt.Sprintf(" (and %d more)", more)
		}
	}
	t.o.Log.Warn("dropped file rejected", "bucket", t.f.Bucket, "file", t.f.Key, "why", why.Message)
	if err := t.chooseName(ctx, rejectedFolder, reportJSON, rejection{File: t.f.No, Error: why.Code, Message: message,
		Findings: why.Findings, Run: why.Run, Difference: why.Difference, Campaign: t.f.Campaign, From: t.f.Key,
		TakenAt: t.f.TakenAt}); err != nil {
		return fmt.Errorf("write the results: %w", err)
	}
	return t.rejected(ctx)
}

// withdraw cancels the run of a rejected file if its import was interrupted. Nobody else continues
// it, and later lists of the campaign would wait for it. A run that another process has imported by
// now goes on.
func (t *task) withdraw(ctx context.Context) error {
	own, err := t.ownRun(ctx)
	if err != nil || own.State != campaign.Importing || own.Wanted == campaign.WantCancel {
		return err
	}
	job := campaign.Job{Ledger: t.o.Ledger, Name: fmt.Sprint("import ", own.No), Owner: t.o.Owner, Lease: t.o.Lease}
	return job.Do(ctx, func(ctx context.Context) error {
		now, err := t.o.Ledger.Run(ctx, own.No)
		if err != nil || now.State != campaign.Importing {
			return err
		}
		_, err = t.o.Ledger.SetWanted(ctx, own.No, campaign.WantCancel, campaign.ByFolder)
		return err
	})
}

// rejected moves a file that was found to be at fault.
func (t *task) rejected(ctx context.Context) error {
	if err := t.withdraw(ctx); err != nil {
		return fmt.Errorf("cancel its run: %w", err)
	}
	if f, err := os.Open(t.rejects()); err == nil {
		err := t.p.Bucket.Put(ctx, t.f.Place+rejectedName, f)
		_ = f.Close() // read only
		if err != nil {
			return fmt.Errorf("write %s: %w", t.f.Place+rejectedName, err)
		}
	}
	if err := t.moveBoth(ctx); err != nil {
		return err
	}
	t.f.State = campaign.DropRejected
	if err := t.store(ctx); err != nil {
		return err
	}
	t.tidy(os.RemoveAll(t.dir))
	return nil
}
