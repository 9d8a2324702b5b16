//go:build unix

package main

import (
	"bufio"
	"context"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"campaignd/campaign"
	"campaignd/campaign/file"
	"campaignd/campaign/launch"
	"campaignd/internal/ledger"
	"campaignd/internal/ledger/backend"
	"campaignd/recipients"
)

// importJob is one list to read and import.
type importJob struct {
	File, List string
	Ledger     string // sqlite:PATH or postgres://...
}

// pace is the number of rows of a measurement, with its duration and CPU time.
type pace struct {
	Rows    int64
	Elapsed time.Duration
	CPU     time.Duration
}

// imported is the answer of the role import: the pace of encoding/csv alone and of the import of
// the same file.
type imported struct{ CSV, Import pace }

func runImport(ctx context.Context, in *json.Decoder, out *json.Encoder) error {
	var job importJob
	if err := in.Decode(&job); err != nil {
		return err
	}
	var got imported
	var err error
	if got.CSV, err = timed(func() (int64, error) { return readCSV(job.List) }); err != nil {
		return err
	}
	if got.Import, err = timed(func() (int64, error) { return importList(ctx, job) }); err != nil {
		return err
	}
	return out.Encode(got)
}

// timed measures f, which returns its number of rows.
func timed(f func() (int64, error)) (p pace, err error) {
	used, err := cpu()
	if err != nil {
		return p, err
	}
	began := time.Now()
	if p.Rows, err = f(); err != nil {
		return p, err
	}
	p.Elapsed = time.Since(began)
	now, err := cpu()
	p.CPU = now - used
	return p, err
}

// readCSV reads the list with encoding/csv and does nothing else.
func readCSV(path string) (rows int64, err error) {
	f, err := os.Open(path)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	r := csv.NewReader(bufio.NewReaderSize(f, 64<<10))
	r.ReuseRecord = true
	for {
		switch _, err := r.Read(); {
		case errors.Is(err, io.EOF):
			return rows - 1, nil // the header does not count
		case err != nil:
			return rows, err
		}
		rows++
	}
}

// importList opens a new ledger and imports the list into it.
func importList(ctx context.Context, job importJob) (rows int64, err error) {
	l, err := backend.Open(ctx, job.Ledger, ledger.Options{Sender: true})
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, l.Close()) }()
	_, rows, err = freeze(ctx, l, job, 0)
	return rows, err
}

// freeze imports the list into a new run of an open ledger, with segments of that many rows, or of
// the default size for 0.
func freeze(ctx context.Context, l campaign.Ledger, job importJob, segment int64) (no campaign.RunNo, rows int64, err error) {
	def, source, err := file.Load(job.File)
	if err != nil {
		return 0, 0, err
	}
	hash, _, err := recipients.Hash(job.List)
	if err != nil {
		return 0, 0, err
	}
	list, err := launch.OpenList(job.List, def.Recipients.Options())
	if err != nil {
		return 0, 0, err
	}
	header := list.Header()
	if err := list.Close(); err != nil {
		return 0, 0, err
	}
	run, err := l.CreateRun(ctx, campaign.Run{
		Campaign: def.Name, ListHash: hash, ListName: job.List, Definition: source, Header: header,
		Template: def.Template.Name, Language: def.Template.Language, Marketing: true, Wanted: campaign.WantRun,
	})
	if err != nil {
		return 0, 0, err
	}
	in := launch.ImportInput{Ledger: l, Run: run, Definition: def, List: job.List, SegmentRows: segment}
	counts, err := launch.Import(ctx, in)
	if err != nil {
		return 0, 0, err
	}
	if counts.Queued != counts.Rows {
		return 0, 0, fmt.Errorf("%d of %d rows can be sent, want all", counts.Queued, counts.Rows)
	}
	return run.No, counts.Rows, l.FinishImport(ctx, run.No, counts.Rows, campaign.Ready)
}

// importing measures imports and adds them to r.
func (b *bench) importing(r *results) error {
	file, list, err := b.list(b.rows)
	if err != nil {
		return err
	}
	for i := range b.repetitions {
		b.note("importing %d rows, repetition %d of %d", b.rows, i+1, b.repetitions)
		path := b.ledger()
		job := importJob{File: file, List: list, Ledger: "sqlite:" + path}
		var got imported
		if err := b.once("import", job, &got); err != nil {
			return err
		}
		if err := drop(path); err != nil {
			return err
		}
		r.Import.add(got)
	}
	return nil
}

// once runs a child that gives one answer to its job.
func (b *bench) once(role string, job, answer any) error {
	c, err := b.start(role, job)
	if err != nil {
		return err
	}
	return errors.Join(c.receive(answer), c.end())
}
