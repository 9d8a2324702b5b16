package postgres

import (
	"context"
	"fmt"
	"slices"

	"campaignd/campaign"
	"campaignd/internal/ledger"
	"campaignd/recipients"
)

const (
	sqlAnyErased      = `SELECT EXISTS (SELECT 1 FROM suppression WHERE key < 0)`
	sqlSuppressedOnes = `SELECT DISTINCT key FROM suppression WHERE key = ANY($1)`
	// Chunks of an import, events and suppressions that were read before an erasure began are stored
	// before it too, so that Erase finds them. A lock of a table would wait for its vacuum.
	sqlLockNumbers = `SELECT pg_advisory_xact_lock_shared(7163384726178411)`
	sqlLockErasure = `SELECT pg_advisory_xact_lock(7163384726178411)`
)

// erasedOf returns which of the keys were erased. An erasure that begins later
// erases what the transaction then stores of the others.
func (l *Ledger) erasedOf(t *tx, keys []int64) (ledger.Erased, error) {
	if !slices.ContainsFunc(keys, func(key int64) bool { return key > 0 }) {
		return nil, nil
	}
	return l.erasures(t.do, keys, stmt(nil, sqlLockNumbers))
}

// erasures returns which of the keys were erased. ask runs queries, first those of first.
func (l *Ledger) erasures(ask func(...*query) error, keys []int64, first ...*query) (ledger.Erased, error) {
	var some bool
	if err := ask(append(first, row(&some, sqlAnyErased))...); err != nil || !some {
		return nil, err
	}
	keys = recipients.Spelled(keys)
	pseudonyms, of := l.key.Pseudonyms(keys)
	var found []int64
	if err := ask(list(&found, scanID, sqlSuppressedOnes, append(pseudonyms, keys...))); err != nil {
		return nil, err
	}
	return ledger.NewErased(found, of), nil
}

// Erase implements campaign.ErasureLedger. From the first step on nothing is sent to the number.
// The server's files keep the old rows until autovacuum has passed.
func (l *Ledger) Erase(ctx context.Context, key int64) (done campaign.Erased, err error) {
	if key <= 0 {
		return done, fmt.Errorf("erase: %d is no key of a number", key)
	}
	keys := recipients.Spelled([]int64{key})
	if err := l.change(ctx, l.reports, "", func(t *tx) error {
		if err := t.do(stmt(nil, sqlLockErasure)); err != nil {
			return err
		}
		t.last(suppress(nil, l.key.Erasures(keys))...)
		return nil
	}); err != nil {
		return done, err
	}
	return l.EraseSpellings(ctx, keys)
}
