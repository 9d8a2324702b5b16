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
	"campaignd/internal/sentence"
)

// importWidth is how many rows one INSERT carries. Measured, 10 to 50 are equally fast, and more
// are not faster.
const importWidth = 32

// values makes the placeholders of rows rows, as in "(?, ?), (?, ?)".
func values(rows, columns int) string {
	one := "(?" + strings.Repeat(", ?", columns-1) + ")"
	return one + strings.Repeat(", "+one, rows-1)
}

// insert is an INSERT of one row, and of importWidth rows.
type insert struct {
	columns   int
	one, many string
}

func insertOf(head string, columns int) insert {
	return insert{columns, head + values(1, columns), head + values(importWidth, columns)}
}

var (
	sqlInsertDeliveries = insertOf(`INSERT INTO delivery (rid, key, row, dest, cells) VALUES `, 5)
	sqlInsertSkipped    = insertOf(`INSERT INTO outcome (rid, state, code, detail, result_at) VALUES `, 5)
)

// insertAll inserts the rows of flat, which has their columns one after the other.
func (t *tx) insertAll(i insert, flat []any) error {
	columns := i.columns
	for len(flat) > 0 {
		n, query := 1, i.one
		if len(flat) >= importWidth*columns {
			n, query = importWidth, i.many
		}
		if _, err := t.exec(query, flat[:n*columns]...); err != nil {
			return err
		}
		flat = flat[n*columns:]
	}
	return nil
}

const (
	sqlImported      = `SELECT r.state, r.parent, c.rows FROM run r JOIN run_count c ON c.no = r.no WHERE r.no = ?`
	sqlInsertSegment = `INSERT INTO segment (id, run, lo, hi, mark, done, closed, zone, wake_at, connection, bound)
		VALUES (?1, ?2, ?3, ?4, ?3, ?5, ?5, ?6, ?7, ?8, ?8 <> '')
		ON CONFLICT (id) DO UPDATE SET hi = max(hi, excluded.hi)`
	// The key of docs/protocol.md#follow-ups: a recipient of a parent is in one follow-up run.
	sqlFollowUp = `INSERT INTO follow_up (parent, key, rid) VALUES (?1, ?2, ?3) ON CONFLICT (parent, key) DO UPDATE SET rid = ?3
		WHERE EXISTS (SELECT 1 FROM outcome o WHERE o.rid = follow_up.rid AND o.state = 7 /* skipped */)`
	sqlAddRows = `UPDATE run_count SET rows = rows + ? WHERE no = ?`
)

// AppendRows implements campaign.ImportLedger.
func (l *Ledger) AppendRows(
	ctx context.Context, no campaign.RunNo, after int64, rows []campaign.Delivery, segments []campaign.Segment,
) error {
	if slices.ContainsFunc(rows, func(d campaign.Delivery) bool { return d.Key < 0 }) {
		rows = l.key.Forgotten(rows, nil) // a follow-up run of rows that were erased
	}
	deliveries, skips, err := encode(no, rows) // here, so that the writer only writes
	if err != nil {
		return err
	}
	if err := ledger.CheckSegments(no, segments); err != nil {
		return err
	}
	return l.submit(ctx, &op{urgency: bulk, rows: len(rows), run: func(t *tx) error {
		var state campaign.State
		var parent, have int64
		err := t.row(sqlImported, args(int64(no)), &state, &parent, &have)
		switch {
		case errors.Is(err, sql.ErrNoRows):
			return campaign.ErrNoRun
		case err != nil:
			return err
		case state != campaign.Importing || have != after:
			return campaign.ErrFenced
		}
		erased, err := erasedOf(t.row, l.key, ledger.KeysOf(rows))
		if err != nil {
			return err
		}
		rows, deliveries, skips := rows, deliveries, skips
		if len(erased) > 0 {
			rows = l.key.Forgotten(rows, erased)
			if deliveries, skips, err = encode(no, rows); err != nil {
				return err
			}
		}
		if err := t.followUp(no, parent, rows); err != nil {
			return err
		}
		if err := t.insertAll(sqlInsertDeliveries, deliveries); err != nil {
			return err
		}
		mutant.Crash("import_chunk")
		if err := t.insertAll(sqlInsertSkipped, skips); err != nil {
			return err
		}
		for _, s := range segments {
			t.recount(ledger.RowID(no, s.Lo))
			if _, err := t.exec(sqlInsertSegment,
				ledger.SegmentKey(no, s.Index), int64(no), s.Lo, s.Hi, s.Closed, s.Group, ledger.WakeTime(s), s.Bound); err != nil {
				return err
			}
		}
		_, err = t.exec(sqlAddRows, len(rows), int64(no))
		return err
	}})
}

// encode makes the columns of deliveries, and of the outcomes of the skipped ones.
func encode(no campaign.RunNo, rows []campaign.Delivery) (deliveries, skips []any, err error) {
	deliveries = make([]any, 0, len(rows)*5)
	now := ledger.Millis(time.Now())
	for i := range rows {
		d := &rows[i]
		cells, err := ledger.Cells(no, d)
		if err != nil {
			return nil, nil, err
		}
		deliveries = append(deliveries, ledger.RowID(no, d.Seq), d.Key, d.Row, d.To, cells)
		if d.Skip != "" {
			note := sentence.Clip(d.Note, campaign.MaxDetail)
			skips = append(skips, ledger.RowID(no, d.Seq), int(ledger.Skipped), string(d.Skip), note, now)
		}
	}
	return deliveries, skips, nil
}

// followUp takes the recipients of a follow-up run for it; campaign.ErrFollowedUp when another
// follow-up of the parent has one of them.
func (t *tx) followUp(no campaign.RunNo, parent int64, rows []campaign.Delivery) error {
	if parent == 0 {
		return nil
	}
	for i := range rows {
		if !ledger.Followed(&rows[i]) {
			continue
		}
		n, err := t.exec(sqlFollowUp, parent, rows[i].Key, ledger.RowID(no, rows[i].Seq))
		if err != nil {
			return err
		}
		if n != 1 {
			return campaign.ErrFollowedUp
		}
	}
	return nil
}

// FinishImport implements campaign.ImportLedger. It also refuses a list that queues a phone key
// twice. The importer finds such keys first, in its memory; here, a search of a million rows a
// second finds those that it missed. A unique index would find them too, but halves the speed of an
// import.
func (l *Ledger) FinishImport(ctx context.Context, no campaign.RunNo, rows int64, state campaign.State) error {
	importing, err := ledger.CheckImportEnd(no, state, func() (campaign.Run, error) { return l.Run(ctx, no) },
		func() ([]campaign.Problem, error) {
			found, _, err := l.queuedTwice(ctx, no, 1)
			return found, err
		})
	if err != nil || !importing {
		return err
	}
	return l.write(ctx, results, func(t *tx) error {
		r, err := t.run(sqlRun, int64(no))
		if err != nil || r.State != campaign.Importing {
			return err
		}
		if err := ledger.CheckImportRows(no, r.Rows, rows); err != nil {
			return err
		}
		return t.setState(no, state, "", "")
	})
}
