package sqlite

import (
	"context"
	"slices"
	"time"

	"campaignd/campaign"
	"campaignd/internal/ledger"
	"campaignd/recipients"
)

const (
	sqlInsertSuppression = `INSERT INTO suppression (key, scope, until, at, dest, source, proof) VALUES (?, ?, ?, ?, ?, ?, ?)
		ON CONFLICT DO NOTHING`
	sqlSuppression      = `SELECT ` + ledger.SuppressionColumns + ` FROM suppression s WHERE s.key = ? AND s.scope = ?`
	sqlMergeSuppression = `UPDATE suppression SET until = ?, at = ?, dest = ?, proof = ?, source = ? WHERE key = ? AND scope = ?`
)

// suppress writes one suppression.
func (t *tx) suppress(s campaign.Suppression) (added bool, err error) {
	if s.Key == 0 {
		return false, nil // no number
	}
	s.At = ledger.OrNow(s.At)
	n, err := t.exec(sqlInsertSuppression, s.Key, s.ScopeText(), ledger.Millis(s.Until), ledger.Millis(s.At), s.To, s.Source,
		ledger.ProofText(s.Proof))
	if err != nil || n == 1 {
		return n == 1, err
	}
	var was []campaign.Suppression
	if err := t.each(sqlSuppression, args(s.Key, s.ScopeText()), list(&was, ledger.ScanSuppression)); err != nil {
		return false, err
	}
	is := ledger.Repeated(was[0], s)
	_, err = t.exec(sqlMergeSuppression, ledger.Millis(is.Until), ledger.Millis(is.At), is.To, ledger.ProofText(is.Proof),
		is.Source, is.Key, is.ScopeText())
	return false, err
}

const (
	sqlMoved = `INSERT INTO moved (key, dest, target, new, at) VALUES (?, ?, ?, ?, ?)
		ON CONFLICT (key) DO UPDATE SET target = excluded.target, new = excluded.new, at = excluded.at WHERE excluded.at > moved.at`
	sqlAnyMoved = `SELECT EXISTS (SELECT 1 FROM moved)`
	sqlCarried  = `SELECT ` + ledger.SuppressionColumns + `, m.dest, m.target, m.new, m.at
		FROM moved m CROSS JOIN suppression s ON s.key IN (?1, ?2) WHERE m.key IN (?1, ?2)`
)

// carry writes the moves, and gives the opt-outs of numbers that moved, and these new ones, to the
// numbers that their recipients have now, unless they resumed there since.
func (t *tx) carry(added []campaign.Suppression, moves []campaign.Move) error {
	for _, m := range ledger.Moves(moves) {
		if _, err := t.exec(sqlMoved, m.From, m.FromPhone, m.To, m.ToPhone, ledger.Millis(ledger.OrNow(m.At))); err != nil {
			return err
		}
		added = append(slices.Clip(added), campaign.Suppression{Key: m.From})
	}
	var some bool
	if len(added) > 0 {
		if err := t.row(sqlAnyMoved, nil, &some); err != nil || !some {
			return err
		}
	}
	return ledger.Carry(added, func(keys []int64) (found []campaign.Suppression, err error) {
		for _, key := range keys {
			if err := t.each(sqlCarried, args(key, recipients.Other(key)), list(&found, ledger.ScanCarried)); err != nil {
				return nil, err
			}
		}
		return found, nil
	}, func(found []campaign.Suppression) error {
		for _, s := range found {
			if err := t.optOut(s); err != nil {
				return err
			}
		}
		return nil
	})
}

const sqlResumedAt = `SELECT coalesce(max(at), 0) FROM opt_in WHERE key IN (?, ?) AND scope = ?`

// optOut writes the suppression of an event, unless its recipient has resumed since: then the event
// was delivered again.
func (t *tx) optOut(s campaign.Suppression) error {
	var resumed int64
	if err := t.row(sqlResumedAt, args(s.Key, recipients.Other(s.Key), s.ScopeText()), &resumed); err != nil {
		return err
	}
	if s.At = ledger.OrNow(s.At); resumed > ledger.Millis(s.At) || resumed == ledger.Millis(s.At) && s.Newest {
		if !s.Newest {
			return nil
		}
		s.At = ledger.TimeOf(resumed + 1)
	}
	_, err := t.suppress(s)
	return err
}

// Suppress implements campaign.SuppressionLedger.
func (l *Ledger) Suppress(ctx context.Context, s []campaign.Suppression) (added int, err error) {
	return ledger.InSteps(s, func(step []campaign.Suppression) (n int64, err error) {
		err = l.submit(ctx, &op{urgency: bulk, rows: len(step), run: func(t *tx) error {
			n = 0
			erased, err := erasedOf(t.row, l.key, ledger.KeysOfEvents(&campaign.Events{Suppressions: step}))
			if err != nil {
				return err
			}
			added := ledger.UnerasedOf(step, erased)
			for _, x := range added {
				ok, err := t.suppress(x)
				if err != nil {
					return err
				}
				if ok {
					n++
				}
			}
			return t.carry(added, nil)
		}})
		return n, err
	})
}

const (
	sqlRemoved    = ` FROM suppression WHERE key = ?1 AND (scope = ?2 OR ?3 AND substr(scope, 1, length(?2) + 1) = ?2 || '@')`
	sqlUnsuppress = `DELETE` + sqlRemoved
	sqlRemember   = ledger.RememberFrom + sqlRemoved + ledger.RememberWhere
)

// Unsuppress implements campaign.SuppressionLedger.
func (l *Ledger) Unsuppress(ctx context.Context, s []campaign.Suppression) (removed int, err error) {
	return ledger.InSteps(s, func(step []campaign.Suppression) (n int64, err error) {
		err = l.submit(ctx, &op{urgency: bulk, rows: len(step), run: func(t *tx) error {
			n = 0
			for _, x := range step {
				for _, r := range l.key.Removals(x) {
					if _, err := t.exec(sqlRemember, r.Key, r.Scope, r.Every); err != nil {
						return err
					}
					m, err := t.exec(sqlUnsuppress, r.Key, r.Scope, r.Every)
					if err != nil {
						return err
					}
					n += m
				}
			}
			return nil
		}})
		return n, err
	})
}

// keysWidth is how many keys one statement looks for. Fewer are filled up with 0, which no number
// has.
const keysWidth = 256

// nextKeys are the arguments for the first keysWidth of keys, and the keys behind them.
func nextKeys(keys []int64) (a []any, rest []int64) {
	a = make([]any, keysWidth, keysWidth+1)
	for i := range a {
		if a[i] = int64(0); i < len(keys) {
			a[i] = keys[i]
		}
	}
	return a, keys[min(len(keys), keysWidth):]
}

var sqlSuppressedKeys = `SELECT key, scope FROM suppression WHERE key IN ` + values(1, keysWidth) +
	` AND key <> 0 AND (until = 0 OR until > ?)`

// SuppressedKeys implements campaign.SuppressionLedger.
func (l *Ledger) SuppressedKeys(
	ctx context.Context, keys []int64, marketing bool, companies []string, now time.Time,
) (map[int64]campaign.SkipReason, error) {
	found := ledger.Stops{}
	erased, err := erasedOf(func(sql string, a []any, into ...any) error { return l.read().row(ctx, sql, a, into...) }, l.key, keys)
	if err != nil {
		return nil, err
	}
	for key := range erased {
		found.AddKey(key, string(campaign.ScopeAll), marketing)
	}
	keys = recipients.Spelled(keys)
	for len(keys) > 0 {
		var a []any
		a, keys = nextKeys(keys)
		a = append(a, ledger.Millis(now))
		if err := l.read().each(ctx, sqlSuppressedKeys, a, func(scan scanFunc) error {
			var key int64
			var scope string
			err := scan(&key, &scope)
			found.AddKey(key, scope, marketing, companies...)
			return err
		}); err != nil {
			return nil, err
		}
	}
	return found, nil
}
