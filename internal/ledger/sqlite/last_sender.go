package sqlite

import (
	"context"

	"campaignd/internal/ledger"
	"campaignd/recipients"
)

const (
	sqlUnfolded = `SELECT id, lo, mark, hi, done, connection FROM segment
		WHERE id > ? AND NOT folded AND NOT closed AND mark > lo ORDER BY id LIMIT +?`
	// A failed message did not reach its recipient.
	sqlFold = `INSERT INTO sender (key, connection, at)
		SELECT d.key, CASE WHEN o.connection <> '' THEN o.connection ELSE s.connection END, o.result_at
		FROM segment s CROSS JOIN outcome o CROSS JOIN delivery d ON d.rid = o.rid
		WHERE s.id = ?1 AND o.rid >= ?2 AND o.rid < ?3 AND o.state = 5 /* accepted */ AND o.rank <> 2 /* failed */ AND d.key <> 0
		ON CONFLICT (key, connection) DO UPDATE SET at = excluded.at WHERE excluded.at > at`
	sqlFolded = `UPDATE segment SET folded = 1 WHERE id = ? AND done = 1`
)

// FoldSenders implements campaign.ImportLedger, one segment in a transaction.
func (l *Ledger) FoldSenders(ctx context.Context) error {
	if l.writer == nil {
		return nil
	}
	return ledger.FoldSenders(func(after int64) (page []ledger.SentSegment, err error) {
		err = l.read().each(ctx, sqlUnfolded, args(after, ledger.FoldPage), list(&page, ledger.ScanSentSegment))
		return page, err
	}, func(s ledger.SentSegment) error {
		return l.submit(ctx, &op{urgency: bulk, rows: int(s.To - s.From), run: func(t *tx) error {
			if _, err := t.exec(sqlFold, s.Key, s.From, s.To); err != nil {
				return err
			}
			_, err := t.exec(sqlFolded, s.Key)
			return err
		}})
	})
}

var sqlSenders = `SELECT key, connection, at FROM sender WHERE key IN ` + values(1, keysWidth) + ` AND key <> 0`

// LastSenders implements campaign.ImportLedger.
func (l *Ledger) LastSenders(ctx context.Context, keys []int64, connections []string) (map[int64]string, error) {
	last, keys := ledger.NewLastSender(connections), recipients.Spelled(keys)
	for len(keys) > 0 {
		var a []any
		a, keys = nextKeys(keys)
		if err := l.read().each(ctx, sqlSenders, a, last.Add); err != nil {
			return nil, err
		}
	}
	return last.Connections(), nil
}
