package sqlite

import (
	"math"

	"campaignd/campaign"
	"campaignd/internal/ledger"
)

// Each doubt has an open attempt. It is written when the doubt begins, and deleted when a result or
// a webhook proves what became of it (docs/protocol.md#adoption). A segment without a connection
// was moved by Quarantine: any connection may have sent it.
const (
	sqlOpenAttempts = `INSERT INTO attempt (rid, attempt, key, connection, intent_at, doubt_at)
		SELECT o.rid, o.attempt, d.key, CASE WHEN o.connection <> '' THEN o.connection ELSE s.connection END, o.intent_at, o.result_at
		FROM outcome o INDEXED BY outcome_open CROSS JOIN delivery d ON d.rid = o.rid
		CROSS JOIN segment s ON s.id = ((o.rid >> 32) << 32) | ((o.rid & 0xffffffff) / 4096)
		WHERE o.rid >= ?1 AND o.rid < ?2 AND o.state IN (1, 2, 3) /* open */ AND o.state = 3 /* in doubt */
		ON CONFLICT DO NOTHING`
	sqlAnyAttempt = `SELECT EXISTS (SELECT 1 FROM attempt WHERE rid >= ? AND rid <= ?)`
	sqlProven     = `DELETE FROM attempt WHERE rid = ? AND attempt = ?`
)

// proven ends the open attempts that results are about. They are few, so it looks first whether
// there is one among the rows.
func (t *tx) proven(rs []campaign.Result) error {
	first, last := int64(math.MaxInt64), int64(0)
	for i := range rs {
		id := ledger.RowID(rs[i].Run, rs[i].Seq)
		first, last = min(first, id), max(last, id)
	}
	var some bool
	if err := t.row(sqlAnyAttempt, args(first, last), &some); err != nil || !some {
		return err
	}
	for i := range rs {
		if r := &rs[i]; r.Kind != campaign.ResultDoubt {
			if _, err := t.exec(sqlProven, ledger.RowID(r.Run, r.Seq), r.Attempt); err != nil {
				return err
			}
		}
	}
	return nil
}
