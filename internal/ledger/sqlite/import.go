package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"slices"
	"strings"
	"time"

	"campaignd/campaign"
	"campaignd/internal/ledger"
	"campaignd/internal/mutant"
)

// importWidth is how many rows one INSERT carries: 10 to 50 are the plateau (reliability.md 6.1).
const importWidth = 32

// values makes "(?, ?), (?, ?)": rows tuples of columns placeholders.
func values(rows, columns int) string {
	one := "(?" + strings.Repeat(", ?", columns-1) + ")"
	return one + strings.Repeat(", "+one, rows-1)
}

var (
	insertDelivery = insertOf(`INSERT INTO delivery (rid, key, row, dest, cells) VALUES `, 5)
	insertSkipped  = insertOf(`INSERT INTO outcome (rid, state, code, detail, result_at) VALUES `, 5)
)

// insertOf is an INSERT for one row and for importWidth rows.
func insertOf(head string, columns int) [2]string {
	return [2]string{head + values(1, columns), head + values(importWidth, columns)}
}

// insertAll runs an insertOf statement over flat, which holds columns values a row.
func (t *tx) insertAll(q [2]string, columns int, flat []any) error {
	for len(flat) > 0 {
		n, query := 1, q[0]
		if len(flat) >= importWidth*columns {
			n, query = importWidth, q[1]
		}
		if _, err := t.exec(query, flat[:n*columns]...); err != nil {
			return err
		}
		flat = flat[n*columns:]
	}
	return nil
}

// AppendRows implements campaign.ImportLedger.
func (l *Ledger) AppendRows(ctx context.Context, no campaign.RunNo, after int64, rows []campaign.Delivery, segments []campaign.Segment) error {
	deliveries := make([]any, 0, len(rows)*5)
	var skips []any
	now := ledger.Millis(time.Now())
	for i := range rows { // encoded here, so that the writer only writes
		d := &rows[i]
		cells, err := ledger.Cells(no, d)
		if err != nil {
			return err
		}
		deliveries = append(deliveries, ledger.RowID(no, d.Seq), d.Key, d.Row, d.To, cells)
		if d.Skip != "" {
			skips = append(skips, ledger.RowID(no, d.Seq), int(ledger.Skipped), string(d.Skip), ledger.Clip(d.Note, ledger.MaxDetail), now)
		}
	}
	if err := ledger.CheckSegments(no, segments); err != nil {
		return err
	}
	return l.submit(ctx, &op{urgency: bulk, rows: len(rows), run: func(t *tx) error {
		var state campaign.State
		var have int64
		err := t.row(`SELECT r.state, c.rows FROM run r JOIN run_count c ON c.no = r.no WHERE r.no = ?`, args(int64(no)), &state, &have)
		switch {
		case errors.Is(err, sql.ErrNoRows):
			return campaign.ErrNoRun
		case err != nil:
			return err
		case state != campaign.Importing || have != after:
			return campaign.ErrFenced
		}
		if err := t.insertAll(insertDelivery, 5, deliveries); err != nil {
			return err
		}
		mutant.Crash("import_chunk")
		if err := t.insertAll(insertSkipped, 5, skips); err != nil {
			return err
		}
		for _, s := range segments {
			if _, err := t.exec(`INSERT INTO segment (id, run, lo, hi, mark, done, closed, zone) VALUES (?, ?, ?, ?, ?, ?, ?, ?)
				ON CONFLICT (id) DO UPDATE SET hi = max(hi, excluded.hi)`,
				ledger.SegmentKey(no, s.Index), int64(no), s.Lo, s.Hi, s.Lo, s.Closed, s.Closed, s.Group); err != nil {
				return err
			}
		}
		_, err = t.exec(`UPDATE run_count SET rows = rows + ? WHERE no = ?`, len(rows), int64(no))
		return err
	}})
}

// FinishImport implements campaign.ImportLedger. It also refuses a list in which a
// phone key is queued twice: the importer's own memory is the first guard, this is the last,
// and costs a million rows a second instead of an index that would halve the import's speed.
// A run that was cancelled meanwhile becomes Ready, to be claimed and dropped.
func (l *Ledger) FinishImport(ctx context.Context, no campaign.RunNo, rows int64, state campaign.State) error {
	if err := ledger.CheckImportEnd(no, state); err != nil {
		return err
	}
	r, err := l.Run(ctx, no)
	if err != nil || r.State != campaign.Importing {
		return err
	}
	twice, err := l.queuedTwice(ctx, no, 1)
	if err != nil {
		return err
	}
	if err := ledger.CheckQueuedOnce(no, twice); err != nil {
		return err
	}
	return l.write(ctx, results, func(t *tx) error {
		r, err := t.run(sqlRun, int64(no))
		if err != nil || r.State != campaign.Importing {
			return err
		}
		end, err := ledger.ImportEnd(no, r.Rows, rows, r.Wanted, state)
		if err != nil {
			return err
		}
		return t.setState(no, end, "", "")
	})
}

const sqlQueuedLast = `SELECT d.row, d.rid & 0xffffffff FROM delivery d LEFT JOIN outcome o ON o.rid = d.rid
	WHERE d.rid >= ? AND d.rid < ? AND d.key = ? AND o.state IS NOT 7 /* skipped */ ORDER BY d.row DESC LIMIT 1`

// queuedTwice finds phone keys that more than one row of a run may be sent to. It needs 8
// bytes a row for as long as it runs.
func (l *Ledger) queuedTwice(ctx context.Context, no campaign.RunNo, limit int) (found []campaign.Problem, err error) {
	var rows int64
	if err := l.read().row(ctx, `SELECT rows FROM run_count WHERE no = ?`, args(int64(no)), &rows); err != nil {
		return nil, err
	}
	keys := make([]int64, 0, rows)                                             // growing it would take twice as much
	for from, end := ledger.RowID(no, 0), ledger.RowID(no+1, 0); from < end; { // in pages: a long read holds the write-ahead log
		n, last := 0, int64(0)
		err := l.read().each(ctx, `SELECT d.rid, d.key, o.state FROM delivery d LEFT JOIN outcome o ON o.rid = d.rid
			WHERE d.rid >= ? AND d.rid < ? ORDER BY d.rid LIMIT 65536`, args(from, end), func(scan func(...any) error) error {
			var key int64
			var state sql.NullInt64
			if err := scan(&last, &key, &state); err != nil {
				return err
			}
			n++
			if key != 0 && ledger.Outcome(state.Int64) != ledger.Skipped {
				keys = append(keys, key)
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
		if n == 0 {
			break
		}
		from = last + 1
	}
	slices.Sort(keys)
	for i := 1; i < len(keys) && len(found) < limit; i++ {
		if keys[i] != keys[i-1] || i > 1 && keys[i] == keys[i-2] {
			continue
		}
		a := args(ledger.RowID(no, 0), ledger.RowID(no+1, 0), keys[i])
		if err := l.read().each(ctx, sqlQueuedLast, a, func(scan scanFunc) error {
			p, err := ledger.QueuedTwice(scan)
			found = append(found, p)
			return err
		}); err != nil {
			return nil, err
		}
	}
	return found, nil
}
