package sqlite

import (
	"context"
	"iter"
	"time"

	"campaignd/campaign"
	"campaignd/internal/ledger"
)

// suppress writes one suppression. An opt-out that is repeated keeps its first source and
// its latest time, so that an older "resume" cannot lift it; an until moves to the later.
func (t *tx) suppress(s campaign.Suppression) (added bool, err error) {
	if s.Key == 0 {
		return false, nil // no number: nothing that could be sent to
	}
	n, err := t.exec(`INSERT INTO suppression (key, scope, until, at, dest, source) VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING`,
		s.Key, string(s.Scope), ledger.Millis(s.Until), ledger.Millis(ledger.Now(s.At)), s.To, s.Source)
	if err != nil || n == 1 {
		return n == 1, err
	}
	_, err = t.exec(`UPDATE suppression SET at = max(at, ?3), until = CASE WHEN until = 0 OR ?4 = 0 THEN 0 ELSE max(until, ?4) END,
		dest = CASE WHEN dest = '' THEN ?5 ELSE dest END WHERE key = ?1 AND scope = ?2`, s.Key, string(s.Scope), ledger.Millis(ledger.Now(s.At)), ledger.Millis(s.Until), s.To)
	return false, err
}

// lift takes back an opt-out from marketing that is not newer than the wish to resume.
func (t *tx) lift(s campaign.Suppression) error {
	_, err := t.exec(`DELETE FROM suppression WHERE key = ? AND scope = 'marketing' AND at <= ?`, s.Key, ledger.Millis(ledger.Now(s.At)))
	return err
}

// Suppress implements campaign.SuppressionLedger.
func (l *Ledger) Suppress(ctx context.Context, s []campaign.Suppression) (added int, err error) {
	return ledger.InSteps(s, func(step []campaign.Suppression) (n int64, err error) {
		err = l.submit(ctx, &op{urgency: bulk, rows: len(step), run: func(t *tx) error {
			n = 0
			for _, x := range step {
				ok, err := t.suppress(x)
				if err != nil {
					return err
				}
				if ok {
					n++
				}
			}
			return nil
		}})
		return n, err
	})
}

const sqlUnsuppress = `DELETE FROM suppression WHERE key = ? AND scope = ?`

// Unsuppress implements campaign.SuppressionLedger.
func (l *Ledger) Unsuppress(ctx context.Context, s []campaign.Suppression) (removed int, err error) {
	return ledger.InSteps(s, func(step []campaign.Suppression) (n int64, err error) {
		err = l.submit(ctx, &op{urgency: bulk, rows: len(step), run: func(t *tx) error {
			n = 0
			for _, x := range step {
				m, err := t.exec(sqlUnsuppress, x.Key, string(x.Scope))
				if err != nil {
					return err
				}
				n += m
			}
			return nil
		}})
		return n, err
	})
}

const sqlSuppressions = `SELECT key, scope, until, at, dest, source FROM suppression
	WHERE (key, scope) > (?, ?) ORDER BY key, scope LIMIT ?`

// Suppressions implements campaign.SuppressionLedger.
func (l *Ledger) Suppressions(ctx context.Context) iter.Seq2[campaign.Suppression, error] {
	return ledger.Pages(ledger.SuppressionPage, func(last *campaign.Suppression) (page []campaign.Suppression, err error) {
		key, scope := int64(-1<<63), ""
		if last != nil {
			key, scope = last.Key, string(last.Scope)
		}
		err = l.read().each(ctx, sqlSuppressions, args(key, scope, ledger.SuppressionPage), func(scan func(...any) error) error {
			s, err := ledger.ScanSuppression(scan)
			page = append(page, s)
			return err
		})
		return page, err
	})
}

// SuppressedKeys implements campaign.SuppressionLedger.
func (l *Ledger) SuppressedKeys(ctx context.Context, keys []int64, marketing bool, now time.Time) (map[int64]campaign.SkipReason, error) {
	found := map[int64]campaign.SkipReason{}
	const width = 256
	query := `SELECT key, scope FROM suppression WHERE key IN (` + values(1, width)[1:]
	query += ` AND key <> 0 AND (until = 0 OR until > ?)`
	a := make([]any, width+1)
	for len(keys) > 0 {
		step := keys[:min(len(keys), width)]
		keys = keys[len(step):]
		for i := range width {
			a[i] = int64(0)
			if i < len(step) {
				a[i] = step[i]
			}
		}
		a[width] = ledger.Millis(now)
		if err := l.read().each(ctx, query, a, func(scan func(...any) error) error {
			var key int64
			var scope campaign.Scope
			err := scan(&key, &scope)
			if why := ledger.SkipFor(scope, marketing); why != "" {
				found[key] = ledger.Stronger(found[key], why)
			}
			return err
		}); err != nil {
			return nil, err
		}
	}
	return found, nil
}
