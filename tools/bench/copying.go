//go:build unix

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"campaignd/campaign"
	"campaignd/internal/ledger"
	"campaignd/internal/ledger/backend"
)

// loadJob is one list to import into a database.
type loadJob struct {
	importJob
	SegmentRows int64 // rows of a segment; 0: the default
}

// loaded is the pace of the whole import and of its calls of AppendRows, the COPY with its commit.
type loaded struct{ Import, Append pace }

func runLoad(ctx context.Context, in *json.Decoder, out *json.Encoder) error {
	var job loadJob
	if err := in.Decode(&job); err != nil {
		return err
	}
	l, err := backend.Open(ctx, job.Ledger, ledger.Options{Sender: true})
	if err != nil {
		return err
	}
	defer l.Close()
	watched := &appending{Ledger: l}
	var got loaded
	if got.Import, err = timed(func() (int64, error) {
		_, rows, err := freeze(ctx, watched, job.importJob, job.SegmentRows)
		return rows, err
	}); err != nil {
		return err
	}
	got.Append = watched.pace
	return out.Encode(got)
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

// copied is the pace of an import and of psql's \copy of the same columns into a table with the
// same indexes.
type copied struct{ Import, Append, Psql pace }

// copying measures one import and one \copy.
func (c *cluster) copying() (got copied, err error) {
	file, list, err := c.list(c.rows)
	if err != nil {
		return got, err
	}
	db, err := c.database()
	if err != nil {
		return got, err
	}
	defer func() { err = errors.Join(err, c.dropDatabase(db)) }()
	if _, err := c.postgres.psql(c.ctx, db, "CHECKPOINT"); err != nil {
		return got, err
	}
	var l loaded
	if err := c.once("load", loadJob{importJob: importJob{File: file, List: list, Ledger: c.postgres.url(db)}}, &l); err != nil {
		return got, err
	}
	got.Import, got.Append = l.Import, l.Append
	rows := filepath.Join(c.dir, "rows.copy")
	defer func() { err = errors.Join(err, os.Remove(rows)) }()
	const columns = "rid, key, row, dest, cells"
	quoted := "'" + strings.ReplaceAll(rows, "'", "''") + "'"
	if _, err := c.postgres.psql(c.ctx, db,
		`\copy (SELECT `+columns+` FROM delivery ORDER BY rid) TO `+quoted,
		"CREATE TABLE beside (LIKE delivery INCLUDING ALL)", "CHECKPOINT"); err != nil {
		return got, err
	}
	out, err := c.postgres.psql(c.ctx, db, `\timing on`, `\copy beside (`+columns+`) FROM `+quoted)
	if err != nil {
		return got, err
	}
	var milliseconds float64
	_, after, _ := strings.Cut(out, "COPY ")
	_, err = fmt.Sscanf(strings.Join(strings.Fields(after), " "), "%d Time: %f", &got.Psql.Rows, &milliseconds)
	if err != nil || got.Psql.Rows != got.Append.Rows {
		return got, fmt.Errorf(`psql's \copy of %d rows answered %q`, got.Append.Rows, out)
	}
	got.Psql.Elapsed = time.Duration(milliseconds * float64(time.Millisecond))
	return got, nil
}
