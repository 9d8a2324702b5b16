package postgres

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"campaignd/campaign"
	"campaignd/internal/ledger"
	"campaignd/internal/mutant"
	"campaignd/internal/sentence"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// chunk is a part of a list that is being imported.
type chunk struct {
	no       campaign.RunNo
	rows     []campaign.Delivery
	cells    []string // of each row, as JSON
	skips    []int    // indexes of the rows that are skipped
	segments struct {
		ids, los, his []int64
		wakes         []int64
		closed        []bool
		zones, bound  []string
	}
}

// newChunk encodes the rows. AppendRows does this before its transaction takes a lock.
func newChunk(no campaign.RunNo, rows []campaign.Delivery, segments []campaign.Segment) (*chunk, error) {
	c := &chunk{no: no, rows: rows, cells: make([]string, len(rows))}
	for i := range rows {
		d := &rows[i]
		cells, err := ledger.Cells(no, d)
		if err != nil {
			return nil, err
		}
		c.cells[i] = cells
		if d.Skip != "" {
			c.skips = append(c.skips, i)
		}
	}
	if err := ledger.CheckSegments(no, segments); err != nil {
		return nil, err
	}
	for _, s := range segments {
		x := &c.segments
		x.ids, x.los, x.his = append(x.ids, ledger.SegmentKey(no, s.Index)), append(x.los, s.Lo), append(x.his, s.Hi)
		x.closed, x.zones = append(x.closed, s.Closed), append(x.zones, ledger.PlainText(s.Group))
		x.wakes, x.bound = append(x.wakes, ledger.WakeTime(s)), append(x.bound, ledger.PlainText(s.Bound))
	}
	return c, nil
}

// copy writes the deliveries, and the outcomes of the skipped ones.
func (c *chunk) copy(t *tx) error {
	values := make([]any, 5) // used for every row: pgx encodes them before it asks for the next
	if _, err := t.CopyFrom(t.ctx, pgx.Identifier{"delivery"}, []string{"rid", "key", "row", "dest", "cells"},
		pgx.CopyFromSlice(len(c.rows), func(i int) ([]any, error) {
			d := &c.rows[i]
			values[0], values[1], values[2], values[3], values[4] = ledger.RowID(c.no, d.Seq), d.Key, d.Row, ledger.PlainText(d.To), c.cells[i]
			return values, nil
		})); err != nil {
		return err
	}
	mutant.Crash("import_chunk")
	if len(c.skips) == 0 {
		return nil
	}
	now := ledger.Millis(time.Now())
	_, err := t.CopyFrom(t.ctx, pgx.Identifier{"outcome"}, []string{"rid", "state", "code", "detail", "result_at"},
		pgx.CopyFromSlice(len(c.skips), func(i int) ([]any, error) {
			d := &c.rows[c.skips[i]]
			var note any
			if d.Note != "" {
				note = ledger.PlainText(sentence.Clip(d.Note, campaign.MaxDetail))
			}
			values[0], values[1], values[2] = ledger.RowID(c.no, d.Seq), int16(ledger.Skipped), string(d.Skip)
			values[3], values[4] = note, now
			return values, nil
		}))
	return err
}

const (
	// The transaction that ends the import locks this row, too.
	sqlImportedRows = `SELECT rows FROM run_count WHERE no = $1 FOR NO KEY UPDATE`
	// The lock makes a cancellation wait for the chunk, or the chunk for the cancellation.
	sqlImporting      = `SELECT state, parent FROM run WHERE no = $1 FOR SHARE`
	sqlInsertSegments = `INSERT INTO segment (id, run, lo, hi, mark, done, closed, zone, wake_at, connection, bound)
		SELECT s.id, $2, s.lo, s.hi, s.lo, s.closed, s.closed, s.zone, s.wake, s.bound, s.bound <> ''
		FROM unnest($1::bigint[], $3::bigint[], $4::bigint[], $5::boolean[], $6::text[], $7::bigint[], $8::text[])
			s (id, lo, hi, closed, zone, wake, bound)
		ON CONFLICT (id) DO UPDATE SET hi = greatest(segment.hi, excluded.hi)`
	// A recipient of a parent run is in one follow-up run at most: docs/protocol.md#follow-ups.
	sqlFollowUp = `INSERT INTO follow_up (parent, key, rid) SELECT $1, w.key, w.rid FROM unnest($2::bigint[], $3::bigint[]) w (key, rid)
		ORDER BY w.key ON CONFLICT (parent, key) DO UPDATE SET rid = excluded.rid
		WHERE EXISTS (SELECT 1 FROM outcome o WHERE o.rid = follow_up.rid AND o.state = 7 /* skipped */)`
	sqlAddRows = `UPDATE run_count SET rows = rows + $2 WHERE no = $1`
)

// forget returns the chunk without the phone numbers that were erased. A later erasure finds the
// rows of the chunk itself.
func (l *Ledger) forget(t *tx, c *chunk, rows []campaign.Delivery, segments []campaign.Segment) (*chunk, error) {
	erased, err := l.erasedOf(t, ledger.KeysOf(rows))
	if err != nil || len(erased) == 0 && !slices.ContainsFunc(rows, func(d campaign.Delivery) bool { return d.Key < 0 }) {
		return c, err
	}
	return newChunk(c.no, l.key.Forgotten(rows, erased), segments)
}

// followUp reserves the recipients of the chunk for its follow-up run. It returns
// campaign.ErrFollowedUp when another follow-up run of the parent has one of them.
func (c *chunk) followUp(t *tx, parent int64) error {
	if parent == 0 {
		return nil
	}
	var keys, rids []int64
	for i := range c.rows {
		if d := &c.rows[i]; ledger.Followed(d) {
			keys, rids = append(keys, d.Key), append(rids, ledger.RowID(c.no, d.Seq))
		}
	}
	var taken int64
	if err := t.do(stmt(&taken, sqlFollowUp, parent, keys, rids)); err != nil {
		return err
	}
	if taken != int64(len(keys)) {
		return campaign.ErrFollowedUp
	}
	return nil
}

// AppendRows implements campaign.ImportLedger. It copies the chunk in one transaction with the
// run's count of rows, which says how far the import is.
func (l *Ledger) AppendRows(
	ctx context.Context, no campaign.RunNo, after int64, rows []campaign.Delivery, segments []campaign.Segment,
) error {
	c, err := newChunk(no, rows, segments)
	if err != nil {
		return err
	}
	err = l.change(ctx, l.reports, "", func(t *tx) error {
		var state campaign.State
		var have, parent int64
		err := t.do(row(&have, sqlImportedRows, int64(no)), rowOf([]any{&state, &parent}, sqlImporting, int64(no)))
		switch {
		case errors.Is(err, pgx.ErrNoRows):
			return campaign.ErrNoRun
		case err != nil:
			return err
		case t.again && len(rows) > 0 && have == after+int64(len(rows)):
			return c.confirm(t) // an earlier try may have been committed
		case state != campaign.Importing || have != after:
			return campaign.ErrFenced
		}
		c, err := l.forget(t, c, rows, segments)
		if err != nil {
			return err
		}
		if err := c.followUp(t, parent); err != nil {
			return err
		}
		if err := c.copy(t); err != nil {
			return err
		}
		s := &c.segments
		for _, lo := range s.los {
			t.recount(ledger.RowID(no, lo))
		}
		return t.do(
			stmt(nil, sqlInsertSegments, s.ids, int64(no), s.los, s.his, s.closed, s.zones, s.wakes, s.bound),
			stmt(nil, sqlAddRows, int64(no), int64(len(rows))))
	})
	var said *pgconn.PgError
	if errors.As(err, &said) && said.Code == "23505" {
		return fmt.Errorf("run %d: a row or seq of this chunk is in the ledger already: %w", no, err)
	}
	return err
}

const sqlHasDelivery = `SELECT EXISTS (SELECT 1 FROM delivery WHERE rid = $1 AND row = $2 AND dest = $3)`

// confirm returns nil when the ledger has the last row of this chunk, and campaign.ErrFenced when
// it has another importer's row instead.
func (c *chunk) confirm(t *tx) error {
	last := &c.rows[len(c.rows)-1]
	var same bool
	if err := t.do(row(&same, sqlHasDelivery, ledger.RowID(c.no, last.Seq), last.Row, ledger.PlainText(last.To))); err != nil {
		return err
	}
	if !same {
		return campaign.ErrFenced
	}
	return nil
}

// analyzeFrom is the number of rows from which an import updates the statistics itself and does not
// wait for the autovacuum.
const analyzeFrom = 1000

const (
	sqlAnalyzeDeliveries = `ANALYZE delivery`
	sqlAnalyzeSegments   = `ANALYZE segment`
	sqlAnalyzeOutcomes   = `ANALYZE outcome`
)

// FinishImport implements campaign.ImportLedger. It also refuses a list that queues a phone key
// twice. The importer finds such keys first, in its memory; the query here finds those that it
// missed. A unique index over run and key would find them too, but halves the speed of an import
// and takes 34 MB per million rows.
func (l *Ledger) FinishImport(ctx context.Context, no campaign.RunNo, rows int64, state campaign.State) error {
	importing, err := ledger.CheckImportEnd(no, state, func() (campaign.Run, error) { return l.Run(ctx, no) },
		func() ([]campaign.Problem, error) {
			found, _, err := l.queuedTwice(ctx, no, 1)
			return found, err
		})
	if err != nil || !importing {
		return err
	}
	if err := l.change(ctx, l.reports, "", func(t *tx) error {
		var have int64
		if err := t.do(row(&have, sqlImportedRows, int64(no))); err != nil {
			return err
		}
		now, _, err := t.lockRun(no)
		if err != nil || now != campaign.Importing {
			return err
		}
		if err := ledger.CheckImportRows(no, have, rows); err != nil {
			return err
		}
		return t.do(append(notify(t.options.NotifyState(no, state, "", "", false, time.Now())), setState(no, state, "", ""))...)
	}); err != nil {
		return err
	}
	if rows >= analyzeFrom {
		err := l.read(ctx, l.reports, stmt(nil, sqlAnalyzeDeliveries), stmt(nil, sqlAnalyzeSegments), stmt(nil, sqlAnalyzeOutcomes))
		if err != nil {
			l.log.Warn("the server's statistics could not be brought up to date; autovacuum will", "ledger", l.name, "err", err)
		}
	}
	return nil
}
