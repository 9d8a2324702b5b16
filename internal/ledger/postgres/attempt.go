package postgres

import (
	"maps"
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
	// Mostly no attempt is open, and then none is looked for.
	sqlProven = `DELETE FROM attempt WHERE (SELECT true FROM attempt LIMIT 1) AND rid = ANY($1) AND attempt = $2`
)

// provenBy ends the open attempts that results are about. It comes before the outcomes are written:
// attempts are locked before outcomes everywhere.
func provenBy(rs []campaign.Result) []*query {
	var proven provenAttempts
	for i := range rs {
		if r := &rs[i]; r.Kind != campaign.ResultDoubt {
			proven.add(ledger.RowID(r.Run, r.Seq), int64(r.Attempt))
		}
	}
	return proven.end()
}

// provenAttempts are the row ids of attempts that are not open any more, by the attempt's number.
// That is nearly always 1, and one number in a statement is cheaper than pairs: each commit of
// results runs it. Late results of attempts with different numbers could meet an adoption in
// another order; the database then breaks one of the two off, and it is repeated.
type provenAttempts map[int64][]int64

func (p *provenAttempts) add(rid, attempt int64) {
	if *p == nil {
		*p = provenAttempts{}
	}
	(*p)[attempt] = append((*p)[attempt], rid)
}

// end deletes them.
func (p provenAttempts) end() (qs []*query) {
	for _, attempt := range slices.Sorted(maps.Keys(p)) {
		qs = append(qs, stmt(nil, sqlProven, p[attempt], attempt))
	}
	return qs
}
