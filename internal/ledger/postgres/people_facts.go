package postgres

import (
	"context"
	"slices"
	"time"

	"campaignd/campaign"
	"campaignd/internal/ledger"
	"campaignd/recipients"
)

// A refusal that proves that nothing was sent deletes the delivery's row of reach, and its contact.
// The place is free when the recipient has no other row. The flag says that an earlier attempt may
// have been sent. The places are locked first, by their portfolios.
const (
	sqlUnsent = `FROM unnest($1::bigint[]) w (r)
		CROSS JOIN LATERAL (SELECT key FROM delivery WHERE rid = w.r OFFSET 0) d
		CROSS JOIN LATERAL (SELECT true FROM outcome WHERE rid = w.r AND state IN (1, 6) /* not sent */
			AND flags & 2 /* may be a duplicate */ = 0 OFFSET 0) o`
	sqlLockPlaces = `SELECT id FROM portfolio WHERE (SELECT true FROM reach LIMIT 1) AND id IN (
			SELECT x.portfolio ` + sqlUnsent + ` CROSS JOIN LATERAL (SELECT portfolio FROM reach WHERE key = d.key AND rid = w.r OFFSET 0) x)
		ORDER BY id FOR NO KEY UPDATE`
	sqlReturnPlaces = `WITH u AS MATERIALIZED (SELECT w.r, d.key ` + sqlUnsent + ` WHERE (SELECT true FROM reach LIMIT 1)),
		x AS (DELETE FROM reach USING u WHERE reach.key = u.key AND reach.rid = u.r RETURNING reach.portfolio, reach.key, reach.rid),
		n AS (SELECT portfolio, count(DISTINCT key) AS n FROM x WHERE NOT EXISTS (
			SELECT 1 FROM reach o WHERE o.key = x.key AND o.portfolio = x.portfolio AND o.rid NOT IN (SELECT rid FROM x)) GROUP BY portfolio)
		UPDATE portfolio p SET taken = greatest(0, p.taken - n.n) FROM n WHERE p.id = n.portfolio`
	sqlReturnContacts = `WITH u AS MATERIALIZED (SELECT w.r, d.key ` + sqlUnsent + ` WHERE (SELECT true FROM contact LIMIT 1))
		DELETE FROM contact USING u WHERE contact.key = u.key AND contact.rid = u.r`
)

// giveBackPeople returns what deliveries took of the limits that count people, if it is certain
// that they were not sent. It follows the statements that write their outcomes.
func giveBackPeople(rids []int64) (qs []*query) {
	if len(rids) == 0 {
		return nil
	}
	rids = slices.Clone(rids)
	slices.Sort(rids)
	rids = slices.Compact(rids)
	return append(qs, stmt(nil, sqlLockPlaces, rids), stmt(nil, sqlReturnPlaces, rids), stmt(nil, sqlReturnContacts, rids))
}

const sqlWrote = `INSERT INTO inbound (key, connection, at, own)
	SELECT DISTINCT ON (key, connection) key, connection, at, own
	FROM unnest($1::bigint[], $2::text[], $3::bigint[], $4::bigint[]) w (key, connection, at, own)
	ORDER BY key, connection, own DESC, at
	ON CONFLICT (key, connection) DO UPDATE SET at = excluded.at, own = excluded.own
	WHERE excluded.at > inbound.at AND excluded.own > inbound.own`

// wrote notes when recipients wrote, whose messages came at now.
func wrote(all []campaign.Inbound, now time.Time) (qs []*query) {
	windows := ledger.Windows(all, now)
	if len(windows) == 0 {
		return nil
	}
	var keys, ats, owns []int64
	var connections []string
	for _, w := range windows {
		keys, connections, ats, owns = append(keys, w.Key), append(connections, ledger.PlainText(w.Connection)), append(ats, w.Began),
			append(owns, w.Own)
	}
	return []*query{stmt(nil, sqlWrote, keys, connections, ats, owns)}
}

const sqlReachedSince = `SELECT min(r.at), max(r.at), count(*) FROM reach r WHERE r.portfolio = $1 AND r.at > $2 AND ` + sqlLastReach + `
	GROUP BY r.at / 3600000 /* an hour */ ORDER BY 1`

// Reached implements campaign.SuppressionLedger.
func (l *Ledger) Reached(ctx context.Context, portfolio string, since time.Time) (all []campaign.Reached, err error) {
	err = l.read(ctx, l.reports, list(&all, ledger.ScanReached, sqlReachedSince, ledger.PlainText(portfolio), ledger.Millis(since)))
	return all, err
}

const sqlCappedKeys = `SELECT key, count(*) FROM contact WHERE key = ANY($1) AND key <> 0 AND capped AND at > $2 GROUP BY key`

// CappedKeys implements campaign.LimitLedger.
func (l *Ledger) CappedKeys(ctx context.Context, keys []int64, limit campaign.FrequencyLimit, now time.Time) (map[int64]bool, error) {
	var all []ledger.Messages
	since := ledger.Millis(now.Add(-time.Duration(limit.Per)))
	for step := range slices.Chunk(recipients.Spelled(keys), 10_000) {
		var part []ledger.Messages
		if err := l.read(ctx, l.reports, list(&part, ledger.ScanMessages, sqlCappedKeys, step, since)); err != nil {
			return nil, err
		}
		all = append(all, part...)
	}
	return ledger.Capped(all, limit.Messages), nil
}
