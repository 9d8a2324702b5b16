package postgres

import (
	"cmp"
	"context"
	"slices"
	"time"

	"campaignd/campaign"
	"campaignd/internal/ledger"
	"campaignd/recipients"
)

const (
	sqlSuppressFrom = `WITH s AS (INSERT INTO suppression (key, scope, until, at, dest, source, proof)
		SELECT key, scope, until, at, dest, source, proof
		FROM (SELECT key, other, scope, until, CASE WHEN newest THEN greatest(at, (SELECT max(o.at) + 1 FROM opt_in o
				WHERE o.key IN (w.key, w.other) AND o.scope = w.scope)) ELSE at END AS at, dest, source, proof
			FROM unnest($1::bigint[], $2::text[], $3::bigint[], $4::bigint[], $5::text[], $6::text[], $7::text[], $8::bigint[], $9::boolean[])
				w (key, scope, until, at, dest, source, proof, other, newest)) w`
	// An opt-out that is delivered again after its recipient resumed does not count.
	sqlNotResumed = ` WHERE NOT EXISTS (SELECT 1 FROM opt_in o WHERE o.key IN (w.key, w.other) AND o.scope = w.scope AND o.at > w.at)`
	// The update follows the rule of ledger.Repeated.
	sqlSuppressTo = `
		ON CONFLICT (key, scope) DO UPDATE SET at = greatest(suppression.at, excluded.at),
			until = CASE WHEN suppression.until = 0 OR excluded.until = 0 THEN 0 ELSE greatest(suppression.until, excluded.until) END,
			source = CASE WHEN suppression.source IN ('service_block', 'refused:recipient_blocked') THEN excluded.source
				ELSE suppression.source END,
			dest = CASE WHEN suppression.dest = '' THEN excluded.dest ELSE suppression.dest END,
			proof = CASE WHEN suppression.proof = '' THEN excluded.proof ELSE suppression.proof END
		RETURNING xmax = 0 AS fresh)
	SELECT count(*) FILTER (WHERE fresh) FROM s`

	sqlInsertSuppressions = sqlSuppressFrom + sqlSuppressTo
	sqlObeyOptOuts        = sqlSuppressFrom + sqlNotResumed + sqlSuppressTo
)

// suppress writes suppressions, in the order of their keys. added, unless it is nil, receives the
// number of new ones.
func suppress(added *int64, list []campaign.Suppression) []*query {
	return suppressBy(sqlInsertSuppressions, added, list)
}

// suppressBy is suppress with the statement sqlInsertSuppressions or sqlObeyOptOuts.
func suppressBy(sql string, added *int64, list []campaign.Suppression) (qs []*query) {
	list = slices.DeleteFunc(slices.Clone(list), func(s campaign.Suppression) bool { return s.Key == 0 }) // they have no phone number
	for _, part := range parts(list, func(a, b campaign.Suppression) int {
		return cmp.Or(cmp.Compare(a.Key, b.Key), cmp.Compare(ledger.PlainText(a.ScopeText()), ledger.PlainText(b.ScopeText())))
	}) {
		var keys, others, untils, ats []int64
		var scopes, dests, sources, proofs []string
		var newest []bool
		for _, s := range part {
			newest = append(newest, s.Newest)
			keys, others = append(keys, s.Key), append(others, recipients.Other(s.Key))
			untils, ats = append(untils, ledger.Millis(s.Until)), append(ats, ledger.Millis(ledger.OrNow(s.At)))
			scopes, dests = append(scopes, ledger.PlainText(s.ScopeText())), append(dests, ledger.PlainText(s.To))
			sources, proofs = append(sources, ledger.PlainText(s.Source)), append(proofs, ledger.ProofText(s.Proof))
		}
		if added == nil || len(qs) > 0 { // only suppressions of the first part can be new
			added = new(int64)
		}
		qs = append(qs, row(added, sql, keys, scopes, untils, ats, dests, sources, proofs, others, newest))
	}
	return qs
}

const (
	// Without the lock, an opt-out and a move of one number that are written at the same time would
	// not see each other, and the new number would not get the opt-out. Moves are rare.
	sqlLockSuppressions = `LOCK TABLE suppression IN SHARE ROW EXCLUSIVE MODE`

	sqlMoved = `INSERT INTO moved (key, dest, target, new, at) VALUES ($1, $2, $3, $4, $5)
		ON CONFLICT (key) DO UPDATE SET target = excluded.target, new = excluded.new, at = excluded.at WHERE excluded.at > moved.at`
	sqlCarried = `SELECT ` + ledger.SuppressionColumns + `, m.dest, m.target, m.new, m.at
		FROM unnest($1::bigint[], $2::bigint[]) w (key, other)
		CROSS JOIN LATERAL (SELECT * FROM moved WHERE key IN (w.key, w.other) OFFSET 0) m
		CROSS JOIN LATERAL (SELECT * FROM suppression WHERE key IN (w.key, w.other) OFFSET 0) s ORDER BY s.key, s.scope`
)

// carry writes the moves. Then it copies opt-outs to the numbers that their recipients have now:
// those of the numbers that moved, and those in added, which the transaction has written already. A
// recipient who resumed under the new number since gets none.
func (t *tx) carry(added []campaign.Suppression, moves []campaign.Move) error {
	moves = ledger.Moves(moves)
	slices.SortFunc(moves, func(a, b campaign.Move) int { return cmp.Compare(a.From, b.From) })
	for _, m := range moves {
		t.last(stmt(nil, sqlMoved, m.From, ledger.PlainText(m.FromPhone), m.To, ledger.PlainText(m.ToPhone), ledger.Millis(ledger.OrNow(m.At))))
		added = append(slices.Clip(added), campaign.Suppression{Key: m.From})
	}
	return ledger.Carry(added, func(keys []int64) (found []campaign.Suppression, err error) {
		others := make([]int64, len(keys))
		for i, key := range keys {
			others[i] = recipients.Other(key)
		}
		t.last(list(&found, ledger.ScanCarried, sqlCarried, keys, others))
		err = t.flush()
		return found, err
	}, func(found []campaign.Suppression) error {
		t.last(suppressBy(sqlObeyOptOuts, nil, found)...)
		return nil
	})
}

// Suppress implements campaign.SuppressionLedger.
func (l *Ledger) Suppress(ctx context.Context, s []campaign.Suppression) (added int, err error) {
	return ledger.InSteps(s, func(step []campaign.Suppression) (n int64, err error) {
		err = l.change(ctx, l.hooks, "", func(t *tx) error {
			erased, err := l.erasedOf(t, ledger.KeysOfEvents(&campaign.Events{Suppressions: step}))
			if err != nil {
				return err
			}
			added := ledger.UnerasedOf(step, erased)
			t.last(suppress(&n, added)...)
			return t.carry(added, nil)
		})
		return n, err
	})
}

const sqlUnsuppress = `WITH removed AS (DELETE FROM suppression s
		USING unnest($1::bigint[], $2::text[], $3::boolean[]) w (key, scope, every)
		WHERE s.key = ANY($1) AND s.key = w.key AND (s.scope = w.scope OR w.every AND starts_with(s.scope, w.scope || '@'))
		RETURNING s.key, s.scope, s.at),
	remembered AS (` + ledger.RememberFrom + ` FROM removed WHERE true` + ledger.RememberWhere + `)
	SELECT count(*) FROM removed`

// Unsuppress implements campaign.SuppressionLedger.
func (l *Ledger) Unsuppress(ctx context.Context, s []campaign.Suppression) (removed int, err error) {
	return ledger.InSteps(s, func(step []campaign.Suppression) (n int64, err error) {
		var keys []int64
		var scopes []string
		var every []bool
		for _, x := range step {
			for _, r := range l.key.Removals(x) {
				keys, scopes, every = append(keys, r.Key), append(scopes, ledger.PlainText(r.Scope)), append(every, r.Every)
			}
		}
		err = l.change(ctx, l.hooks, "", func(t *tx) error { return t.do(row(&n, sqlUnsuppress, keys, scopes, every)) })
		return n, err
	})
}

const sqlSuppressedKeys = `SELECT key, scope FROM suppression WHERE key = ANY($1) AND key <> 0 AND (until = 0 OR until > $2)`

// SuppressedKeys implements campaign.SuppressionLedger.
func (l *Ledger) SuppressedKeys(
	ctx context.Context, keys []int64, marketing bool, companies []string, now time.Time,
) (map[int64]campaign.SkipReason, error) {
	found := ledger.Stops{}
	for step := range slices.Chunk(recipients.Spelled(keys), 10_000) {
		type stop struct {
			key   int64
			scope string
		}
		var stops []stop
		if err := l.read(ctx, l.reports, list(&stops, func(scan scanFunc) (s stop, err error) {
			err = scan(&s.key, &s.scope)
			return s, err
		}, sqlSuppressedKeys, step, ledger.Millis(now))); err != nil {
			return nil, err
		}
		erased, err := l.erasures(func(qs ...*query) error { return l.read(ctx, l.reports, qs...) }, step)
		if err != nil {
			return nil, err
		}
		for key := range erased {
			stops = append(stops, stop{key, string(campaign.ScopeAll)})
		}
		for _, s := range stops {
			found.AddKey(s.key, s.scope, marketing, companies...)
		}
	}
	return found, nil
}
