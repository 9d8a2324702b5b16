package portable

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"strings"
	"time"

	"campaignd/campaign"
	"campaignd/internal/ledger"
)

// SentRows implements campaign.RepeatLedger.
func (l *Ledger) SentRows(ctx context.Context, no campaign.RunNo, f campaign.SentFilter) iter.Seq2[campaign.SentRow, error] {
	return func(yield func(campaign.SentRow, error) bool) {
		segments, err := l.SegmentStates(ctx, no)
		for i := range segments {
			s := &segments[i]
			if s.Closed { // the import skipped its rows
				continue
			}
			var text string
			var rows []campaign.SentRow
			if _, err = l.row(ctx, Reports, []any{&text}, ledger.SentRows, ledger.RowID(no, s.Lo), ledger.RowID(no, s.Hi),
				ledger.RowID(no, s.Mark), bit(f.Queued), bit(f.Failed), ledger.Millis(f.Since)); err == nil {
				rows, err = ledger.ReadSentRows(text, s.Lo)
			}
			if err != nil {
				break
			}
			for _, row := range rows {
				if !yield(row, nil) {
					return
				}
			}
		}
		if err != nil {
			yield(campaign.SentRow{}, err)
		}
	}
}

// repeatsAtOnce is how many repeats one statement stores.
const repeatsAtOnce = 100

var sqlAddRepeats = func() string {
	var rows []string
	for n := 1; n <= 2*repeatsAtOnce; n += 2 {
		rows = append(rows, fmt.Sprintf("($%d, $%d)", n, n+1))
	}
	return `INSERT INTO repeat (rid, other) VALUES ` + strings.Join(rows, ", ") + ` ON CONFLICT DO NOTHING`
}()

// AddRepeats implements campaign.RepeatLedger. A statement with fewer rows repeats its last one.
func (l *Ledger) AddRepeats(ctx context.Context, all []campaign.Repeat) error {
	if len(all) == 0 {
		return nil
	}
	return l.db.Change(ctx, Reports, func(t Tx) error {
		for step := range slices.Chunk(all, repeatsAtOnce) {
			args := make([]any, 0, 2*repeatsAtOnce)
			for i := range repeatsAtOnce {
				r := step[min(i, len(step)-1)]
				args = append(args, ledger.RowID(r.Run, r.Seq), ledger.RowID(r.Other, r.OtherSeq))
			}
			if _, err := t.Exec(sqlAddRepeats, args...); err != nil {
				return err
			}
		}
		return nil
	})
}

const sqlRepeatsOf = `SELECT other >> 32, other & 4294967295 FROM repeat WHERE rid = $1 ORDER BY other`

// RepeatsOf implements campaign.RepeatLedger.
func (l *Ledger) RepeatsOf(ctx context.Context, no campaign.RunNo, seq int64) ([]campaign.Repeat, error) {
	return list(ctx, l.db, Reports, func(scan Scan) (campaign.Repeat, error) {
		r := campaign.Repeat{Run: no, Seq: seq}
		err := scan(&r.Other, &r.OtherSeq)
		return r, err
	}, sqlRepeatsOf, ledger.RowID(no, seq))
}

const (
	sqlRepeatsNoted = `SELECT count(*) FROM history WHERE run = $1 AND kind = 'repeats'`
	sqlNoteRepeats  = `INSERT INTO history (at, run, kind, value, id, detail) VALUES ($2, $1, 'repeats', '', '', $3)`
)

// NoteRepeats implements campaign.RepeatLedger.
func (l *Ledger) NoteRepeats(ctx context.Context, no campaign.RunNo, detail string) error {
	now := time.Now()
	return l.db.Change(ctx, Reports, func(t Tx) error {
		if _, _, err := lockRun(t, no); err != nil {
			return err
		}
		var noted int64
		if _, err := one(t.Each, []any{&noted}, sqlRepeatsNoted, int64(no)); err != nil || noted > 0 {
			return err
		}
		if _, err := t.Exec(sqlNoteRepeats, int64(no), ledger.Millis(now), ledger.PlainText(detail)); err != nil {
			return err
		}
		return Notify(t, l.options.NotifyRepeats(no, detail, now))
	})
}
