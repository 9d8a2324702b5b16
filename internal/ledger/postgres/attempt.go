package postgres

import (
	"campaignd/campaign"
	"campaignd/internal/ledger"
)

// Each doubt has an open attempt. It is written when the doubt begins, and goes when a result or a
// webhook proves what became of it (docs/protocol.md#adoption).
const (
	sqlOpenAttempts   = sqlOpen + `o.rid = ANY($1) ORDER BY o.rid ON CONFLICT (rid, attempt) DO NOTHING`
	sqlOpenAttemptsIn = sqlOpen + `o.rid >= $1 AND o.rid < $2 ORDER BY o.rid ON CONFLICT (rid, attempt) DO NOTHING`
	// A segment without a connection was moved by Quarantine: any connection may have sent it.
	sqlOpen = `INSERT INTO attempt (rid, attempt, key, connection, intent_at, doubt_at)
		SELECT o.rid, o.attempt, d.key, s.connection, coalesce(o.intent_at, 0), coalesce(o.result_at, 0) FROM outcome o
		CROSS JOIN LATERAL (SELECT key FROM delivery WHERE rid = o.rid OFFSET 0) d
		CROSS JOIN LATERAL (SELECT connection FROM segment
			WHERE id = ((o.rid >> 32) << 32) | ((o.rid & 4294967295) / 4096) OFFSET 0) s
		WHERE o.state = 3 /* in doubt */ AND `
	sqlProven = `DELETE FROM attempt WHERE rid = ANY($1)
		AND (rid, attempt) IN (SELECT w.rid, w.attempt FROM unnest($1::bigint[], $2::bigint[]) w (rid, attempt))`
)

// proven ends the open attempts that results are about. It comes before the outcomes are written:
// attempts are locked before outcomes everywhere.
func proven(rs []campaign.Result) (qs []*query) {
	var rids, attempts []int64
	for i := range rs {
		if r := &rs[i]; r.Kind != campaign.ResultDoubt {
			rids, attempts = append(rids, ledger.RowID(r.Run, r.Seq)), append(attempts, int64(r.Attempt))
		}
	}
	if len(rids) > 0 {
		qs = append(qs, stmt(nil, sqlProven, rids, attempts))
	}
	return qs
}
