package drops

import (
	"bufio"
	"context"
	"crypto/sha256"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"campaignd/campaign"
	"campaignd/campaign/file"
	"campaignd/recipients"
	"campaignd/reporting"
)

// The times of results (docs/operations.md#dropped-files).
const (
	// The time between two looks at results is a tenth of the age of the run, from minReportWait to
	// maxReportWait.
	minReportWait = 2 * time.Second
	maxReportWait = time.Hour
	// perRow is the least of that time for each row. The writing of a large report takes a few percent
	// of a core.
	perRow = 200 * time.Microsecond
	// readsUntil is how long after the last event of a run with delivered messages a read may still
	// come.
	readsUntil = 24 * time.Hour
	// statusesUntil is how long after its end a run waits for the status of an accepted message.
	statusesUntil = 7 * 24 * time.Hour
)

// nextReport is how long after a look at the results of a run the next one comes.
func nextReport(age time.Duration, rows int64) time.Duration {
	return max(min(age/10, maxReportWait), minReportWait, time.Duration(rows)*perRow)
}

// report writes the results of a launched file, if they have changed.
func (t *task) report(ctx context.Context) error {
	if _, err := t.p.Bucket.Stat(ctx, t.f.Place+acceptedName); errors.Is(err, fs.ErrNotExist) {
		// The results were taken away, or this replica has another folder under that name.
		t.f.NextAt = time.Now().Add(maxReportWait)
		return t.store(ctx)
	} else if err != nil {
		return err
	}
	if t.unmoved() {
		t.f.Detail = ""
		if err := t.moveBoth(ctx); err != nil {
			t.f.Detail = err.Error()
		}
	}
	run, err := t.o.Ledger.Run(ctx, t.f.Run)
	if err != nil {
		return err
	}
	report, err := reporting.Build(ctx, t.o.Ledger, run)
	if err != nil {
		return err
	}
	if report.Cost, err = reporting.CostOf(ctx, t.o.Ledger, run.No, t.o.Rates); err != nil {
		return err
	}
	text, err := report.JSON()
	if err != nil {
		return err
	}
	last, err := t.o.Ledger.LastEventAt(ctx, run.No)
	if err != nil {
		return err
	}
	now, sum := time.Now(), sha256.Sum256(text)
	t.mu.Lock()
	written := t.stated[t.f.No] == sum
	t.mu.Unlock()
	if !written {
		// The JSON comes last: a script that sees there that the run has finished finds the others, too.
		err := t.put(ctx, reportCSV, func(w io.Writer) error { return reporting.WriteCSV(ctx, w, t.o.Ledger, run, t.o.Rates) })
		if err == nil {
			err = t.putPage(ctx, run, report)
		}
		if err == nil {
			err = t.put(ctx, reportJSON, func(w io.Writer) error { _, err := w.Write(text); return err })
		}
		if err != nil {
			return err
		}
	}
	t.f.NextAt = now.Add(nextReport(now.Sub(run.CreatedAt), run.Rows))
	if t.f.Detail != replaced && !t.unmoved() {
		t.f.Detail = "" // of a try that failed
	}
	t.mu.Lock()
	if t.stated[t.f.No] = sum; settled(run, report, last, now) {
		t.f.State = campaign.DropSettled
		delete(t.stated, t.f.No)
	}
	t.mu.Unlock()
	return t.store(ctx)
}

// putPage writes the report for people.
func (t *task) putPage(ctx context.Context, run campaign.Run, report *reporting.Report) error {
	if t.o.Page == nil {
		return nil
	}
	write, err := t.o.Page(ctx, run, report)
	if err != nil {
		return err
	}
	return t.put(ctx, reportHTML, write)
}

// settled reports whether no status is awaited any more.
func settled(run campaign.Run, r *reporting.Report, last, now time.Time) bool {
	switch t := r.Totals; {
	case !run.State.Ended():
		return false
	case now.Sub(run.EndedAt) > statusesUntil:
		return true
	case t[campaign.Accepted]+t[campaign.Sent]+t[campaign.InDoubt]+t[campaign.Queued]+t[campaign.Sending] > 0:
		return false
	default:
		return t[campaign.Delivered] == 0 || now.Sub(last) > readsUntil && now.Sub(run.EndedAt) > readsUntil
	}
}

// put writes one result of the file, first to the spool, because a bucket needs its size.
func (t *task) put(ctx context.Context, name string, write func(io.Writer) error) (err error) {
	if err := os.MkdirAll(t.dir, 0o700); err != nil {
		return err
	}
	f, err := os.Create(filepath.Join(t.dir, "result"+name)) //nolint:gosec // a name of ours in our own folder
	if err != nil {
		return err
	}
	defer func() {
		if left := errors.Join(f.Close(), os.RemoveAll(t.dir)); left != nil {
			t.o.Log.Warn("the copy of a result was not removed", "err", left)
		}
	}()
	b := bufio.NewWriterSize(f, 64<<10)
	if err := errors.Join(write(b), b.Flush()); err != nil {
		return err
	}
	return t.p.Bucket.Put(ctx, t.f.Place+name, f)
}

// putRejects writes the rows that a correction can help: those that the launch found, with line and
// remedy, or, if that file was lost with its process, what the ledger has of them.
func (t *task) putRejects(ctx context.Context, run campaign.Run) error {
	if f, err := os.Open(t.rejects()); err == nil {
		defer f.Close() //nolint:errcheck // read only
		return t.p.Bucket.Put(ctx, t.f.Place+rejectedName, f)
	}
	return t.put(ctx, rejectedName, func(w io.Writer) error {
		out, err := reporting.NewRejects(w, run.Header, file.CommaOf(run))
		if err != nil {
			return err
		}
		var sent recipients.KeySet // a row is left out whose number another row has
		for line, err := range t.o.Ledger.Lines(ctx, run.No) {
			if err != nil {
				return err
			}
			if line.Status != campaign.Skipped {
				sent.Add(line.Key)
			}
		}
		for line, err := range t.o.Ledger.Lines(ctx, run.No) {
			if err != nil {
				return err
			}
			reason := campaign.SkipReason(line.Reason)
			if line.Status != campaign.Skipped || !reason.Correctable() || sent.Has(line.Key) {
				continue
			}
			if err := out.Add(campaign.Reject{Row: line.Row, To: line.To, Reason: reason, Note: reason.Sentence(), Cells: line.Cells}); err != nil {
				return err
			}
		}
		return out.Close()
	})
}
