package sqlite

import (
	"context"
	"fmt"

	"campaignd/campaign"
	"campaignd/internal/ledger"
	"campaignd/recipients"
)

const (
	sqlAnyErased    = `SELECT EXISTS (SELECT 1 FROM suppression WHERE key < 0)`
	sqlIsSuppressed = `SELECT EXISTS (SELECT 1 FROM suppression WHERE key = ?)`
)

// erasedOf returns which of the keys were erased. row reads one.
func erasedOf(row func(sql string, a []any, into ...any) error, hash ledger.HashKey, keys []int64) (ledger.Erased, error) {
	var some bool
	if len(keys) == 0 {
		return nil, nil
	}
	if err := row(sqlAnyErased, nil, &some); err != nil || !some {
		return nil, err
	}
	var found []int64
	pseudonyms, of := hash.Pseudonyms(recipients.Spelled(keys))
	for _, p := range pseudonyms {
		for _, key := range []int64{p, of[p]} {
			var is bool
			if err := row(sqlIsSuppressed, args(key), &is); err != nil {
				return nil, err
			}
			if is {
				found = append(found, key)
			}
		}
	}
	return ledger.NewErased(found, of), nil
}

// Erase implements campaign.ErasureLedger. From the first step on nothing is sent to the number. At
// the end no free space of the file, and nothing of its log, has what was erased.
func (l *Ledger) Erase(ctx context.Context, key int64) (done campaign.Erased, err error) {
	if key <= 0 {
		return done, fmt.Errorf("erase: %d is no key of a number", key)
	}
	keys := recipients.Spelled([]int64{key})
	if err := l.submit(ctx, &op{urgency: results, rows: 2, run: func(t *tx) error {
		for _, s := range l.key.Erasures(keys) {
			if _, err := t.suppress(s); err != nil {
				return err
			}
		}
		return nil
	}}); err != nil {
		return done, err
	}
	if done, err = l.EraseSpellings(ctx, keys); err != nil {
		return done, err
	}
	return done, l.scrub(ctx)
}
