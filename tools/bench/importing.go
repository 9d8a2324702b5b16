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
	"path/filepath"
	"strings"
	"time"

	"campaignd/campaign"
	"campaignd/campaign/file"
	"campaignd/campaign/launch"
	"campaignd/internal/ledger"
	"campaignd/internal/ledger/backend"
	"campaignd/recipients"
)

// importJob is one list to read and to import into a new run.
type importJob struct {
	File, List  string
	Ledger      string // sqlite:PATH or postgres://...
	SegmentRows int64  // rows of a segment; 0: the default
}

// pace is the number of rows of a measurement, with its duration and CPU time.
type pace struct {
	Rows         int64
	Elapsed, CPU time.Duration
}

func (p pace) perSecond() float64 { return float64(p.Rows) / p.Elapsed.Seconds() }
func (p pace) perRow() float64    { return float64(p.CPU.Microseconds()) / float64(p.Rows) }

// imported is the pace of encoding/csv alone, of the import of the same file, and of the import's
// calls of AppendRows.
type imported struct{ CSV, Import, Append pace }

func runImport(ctx context.Context, in *json.Decoder, out *json.Encoder) (err error) {
	var job importJob
	if err := in.Decode(&job); err != nil {
		return err
	}
	var got imported
	if got.CSV, err = timed(func() (int64, error) { return readCSV(job.List) }); err != nil {
		return err
	}
	l, err := backend.Open(ctx, job.Ledger, ledger.Options{Sender: true})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, l.Close()) }()
	watched := &appending{Ledger: l}
	if got.Import, err = timed(func() (int64, error) { return freeze(ctx, watched, job) }); err != nil {
		return err
	}
	got.Append = watched.pace
	return out.Encode(got)
}

// timed measures f, which returns its number of rows.
func timed(f func() (int64, error)) (p pace, err error) {
	used, began := cpu(), time.Now()
	p.Rows, err = f()
	p.Elapsed, p.CPU = time.Since(began), cpu()-used
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

// appending measures the chunks of an import.
type appending struct {
	campaign.Ledger
	pace
}

// AppendRows implements campaign.ImportLedger.
func (a *appending) AppendRows(
	ctx context.Context, no campaign.RunNo, after int64, rows []campaign.Delivery, segments []campaign.Segment,
) error {
	began := time.Now()
	err := a.Ledger.AppendRows(ctx, no, after, rows, segments)
	a.Elapsed += time.Since(began)
	a.Rows += int64(len(rows))
	return err
}

// freeze imports the list into a new run of an open ledger and returns its rows.
func freeze(ctx context.Context, l campaign.Ledger, job importJob) (rows int64, err error) {
	def, source, err := file.Load(job.File)
	if err != nil {
		return 0, err
	}
	hash, _, err := recipients.Hash(job.List)
	if err != nil {
		return 0, err
	}
	list, err := launch.OpenList(job.List, def.Recipients.Options())
	if err != nil {
		return 0, err
	}
	header := list.Header()
	if err := list.Close(); err != nil {
		return 0, err
	}
	run, err := l.CreateRun(ctx, campaign.Run{
		Campaign: def.Name, ListHash: hash, ListName: job.List, Definition: source, Header: header,
		Template: def.Template.Name, Language: def.Template.Language, Marketing: true, Wanted: campaign.WantRun,
	})
	if err != nil {
		return 0, err
	}
	in := launch.ImportInput{Ledger: l, Run: run, Definition: def, List: job.List, SegmentRows: job.SegmentRows}
	counts, err := launch.Import(ctx, in)
	if err != nil {
		return 0, err
	}
	if counts.Queued != counts.Rows {
		return 0, fmt.Errorf("%d of %d rows can be sent, want all", counts.Queued, counts.Rows)
	}
	return counts.Rows, l.FinishImport(ctx, run.No, counts.Rows, campaign.Ready)
}

// importing measures imports into SQLite beside encoding/csv.
func (b *bench) importing() error {
	file, list, err := b.inputs("bench", "", b.rows)
	if err != nil {
		return err
	}
	t := newTable("", "rows/s", "CPU us/row")
	for i := range b.repetitions {
		b.note("importing %d rows, repetition %d of %d", b.rows, i+1, b.repetitions)
		path := b.ledger()
		var got imported
		err := b.once("import", importJob{File: file, List: list, Ledger: "sqlite:" + path}, &got)
		if err := errors.Join(err, drop(path)); err != nil {
			return err
		}
		t.add("encoding/csv alone", got.CSV.perSecond(), got.CSV.perRow())
		t.add("campaignd import", got.Import.perSecond(), got.Import.perRow())
		t.add("ratio", got.Import.perSecond()/got.CSV.perSecond(), got.Import.perRow()/got.CSV.perRow())
	}
	return t.print(b.out, "Importing %d rows into SQLite on disk, compared with reading the same file.", b.rows)
}

// copying measures one import into PostgreSQL, and psql's \copy of the same columns into a table
// with the same indexes.
func (c *cluster) copying(t *table) (err error) {
	file, list, err := c.inputs("bench", "", c.rows)
	if err != nil {
		return err
	}
	db, err := c.database()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.dropDatabase(db)) }()
	if _, err := c.postgres.psql(c.ctx, db, "CHECKPOINT"); err != nil {
		return err
	}
	var got imported
	if err := c.once("import", importJob{File: file, List: list, Ledger: c.postgres.URL(db)}, &got); err != nil {
		return err
	}
	rows := filepath.Join(c.dir, "rows.copy")
	defer func() { err = errors.Join(err, os.Remove(rows)) }()
	const columns = "rid, key, row, dest, cells"
	quoted := "'" + strings.ReplaceAll(rows, "'", "''") + "'"
	if _, err := c.postgres.psql(c.ctx, db,
		`\copy (SELECT `+columns+` FROM delivery ORDER BY rid) TO `+quoted,
		"CREATE TABLE beside (LIKE delivery INCLUDING ALL)", "CHECKPOINT"); err != nil {
		return err
	}
	out, err := c.postgres.psql(c.ctx, db, `\timing on`, `\copy beside (`+columns+`) FROM `+quoted)
	if err != nil {
		return err
	}
	var copied, milliseconds float64
	_, after, _ := strings.Cut(out, "COPY ")
	_, err = fmt.Sscanf(strings.Join(strings.Fields(after), " "), "%f Time: %f", &copied, &milliseconds)
	if err != nil || copied != float64(got.Append.Rows) {
		return fmt.Errorf(`psql's \copy of %d rows answered %q`, got.Append.Rows, out)
	}
	psql := copied / milliseconds * 1000
	t.add(`psql's \copy`, psql, blank)
	t.add("COPY of the import, with its commits", got.Append.perSecond(), got.Append.perSecond()/psql)
	t.add("the whole import: read, checked twice", got.Import.perSecond(), got.Import.perSecond()/psql)
	return nil
}
