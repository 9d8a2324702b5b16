package postgres

import (
	"context"
	"slices"

	"campaignd/internal/ledger"
	"campaignd/recipients"
)

const (
	sqlUnfolded = `SELECT id, lo, mark, hi, done, connection FROM segment
		WHERE id > $1 AND NOT folded AND NOT closed AND mark > lo ORDER BY id LIMIT $2`
	// First, so that two processes fold a segment one after the other.
	sqlFolded = `UPDATE segment SET folded = done WHERE id = $1`
	// A failed message did not reach its recipient. In the order of the keys: transactions that lock
	// rows in one order do not deadlock.
	sqlFold = `INSERT INTO sender (key, connection, at)
		SELECT d.key, coalesce(o.connection, s.connection), max(o.result_at)
		FROM segment s CROSS JOIN outcome o JOIN delivery d ON d.rid = o.rid
		WHERE s.id = $1 AND o.rid >= $2 AND o.rid < $3 AND d.rid >= $2 AND d.rid < $3 AND o.state = 5 /* accepted */
			AND o.rank <> 2 /* failed */ AND d.key <> 0
		GROUP BY 1, 2 ORDER BY 1, 2
		ON CONFLICT (key, connection) DO UPDATE SET at = excluded.at WHERE excluded.at > sender.at`
)

// FoldSenders implements campaign.ImportLedger, one segment in a transaction.
func (l *Ledger) FoldSenders(ctx context.Context) error {
	if l.readOnly {
		return nil
	}
	return ledger.FoldSenders(func(after int64) (page []ledger.SentSegment, err error) {
		err = l.read(ctx, l.reports, list(&page, ledger.ScanSentSegment, sqlUnfolded, after, ledger.FoldPage))
		return page, err
	}, func(s ledger.SentSegment) error {
		return l.change(ctx, l.reports, "", func(t *tx) error {
			return t.do(stmt(nil, sqlFolded, s.Key), stmt(nil, sqlFold, s.Key, s.From, s.To))
		})
	})
}

const sqlSenders = `SELECT key, connection, at FROM sender WHERE key = ANY($1) AND key <> 0 AND connection = ANY($2)`

// LastSenders implements campaign.ImportLedger.
func (l *Ledger) LastSenders(ctx context.Context, keys []int64, connections []string) (map[int64]string, error) {
	last := ledger.NewLastSender(connections)
	for step := range slices.Chunk(recipients.Spelled(keys), 10_000) {
		// Rows that a repeated query reads again change nothing.
		var none []struct{}
		if err := l.read(ctx, l.reports, list(&none, func(scan scanFunc) (struct{}, error) { return struct{}{}, last.Add(scan) },
			sqlSenders, step, connections)); err != nil {
			return nil, err
		}
	}
	return last.Connections(), nil
}
