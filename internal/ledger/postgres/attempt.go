package postgres

import (
	"slices"

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
		SELECT o.rid, o.attempt, d.key, coalesce(o.connection, s.connection), coalesce(o.intent_at, 0), coalesce(o.result_at, 0) FROM outcome o
		CROSS JOIN LATERAL (SELECT key FROM delivery WHERE rid = o.rid OFFSET 0) d
		CROSS JOIN LATERAL (SELECT connection FROM segment
			WHERE id = ((o.rid >> 32) << 32) | ((o.rid & 4294967295) / 4096) OFFSET 0) s
		WHERE o.state = 3 /* in doubt */ AND `
	// The first condition is evaluated once: usually there is no open attempt near the results. IS
	// TRUE keeps the planner from a join, which would compare each result with each.
	sqlProven = `DELETE FROM attempt WHERE (SELECT true FROM attempt WHERE rid >= $3 AND rid <= $4 LIMIT 1) AND rid = ANY($1)
		AND ((rid, attempt) IN (SELECT w.rid, w.attempt FROM unnest($1::bigint[], $2::bigint[]) w (rid, attempt))) IS TRUE`
)

// provenBy ends the open attempts that results are about. It comes before the outcomes are written:
// attempts are locked before outcomes everywhere.
func provenBy(rs []campaign.Result) []*query {
	var rids, attempts []int64
	for i := range rs {
		if r := &rs[i]; r.Kind != campaign.ResultDoubt {
			rids, attempts = append(rids, ledger.RowID(r.Run, r.Seq)), append(attempts, int64(r.Attempt))
		}
	}
	return proven(rids, attempts)
}

func proven(rids, attempts []int64) []*query {
	if len(rids) == 0 {
		return nil
	}
	return []*query{stmt(nil, sqlProven, rids, attempts, slices.Min(rids), slices.Max(rids))}
}
