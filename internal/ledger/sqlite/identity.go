package sqlite

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"

	"campaignd/internal/ledger"
)

// readIdentity reads the secret of the message hash.
func (l *Ledger) readIdentity(ctx context.Context) error {
	var key []byte
	if err := l.reads.QueryRowContext(ctx, `SELECT hash_key FROM ledger`).Scan(&key); err != nil {
		return err
	}
	if len(key) != 16 {
		return errors.New("its message hash key is damaged: restore a backup")
	}
	l.key = ledger.NewHashKey(key)
	return nil
}

// endLeases end what earlier senders held: the lock proves that none of them lives.
var endLeases = []string{
	`UPDATE segment SET lease_until = 0 WHERE lease_until <> 0 AND done = 0`,
	`UPDATE job SET lease_until = 0 WHERE lease_until <> 0`,
	`DELETE FROM lane`,
}

// identify makes the ledger's identity when it is new, finds out whether a sender's
// ledger went back in time, and ends the leases of earlier senders.
func (l *Ledger) identify(ctx context.Context, o ledger.Options) error {
	tx, err := l.writes.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback() //nolint:errcheck // after Commit it is a no-op
	id, key := make([]byte, 8), make([]byte, 16)
	_, _ = rand.Read(id) // never fails (crypto/rand)
	_, _ = rand.Read(key)
	if _, err := tx.ExecContext(ctx, `INSERT INTO ledger (one, id, opens, hash_key) VALUES (1, ?, 0, ?) ON CONFLICT DO NOTHING`,
		hex.EncodeToString(id), key); err != nil {
		return err
	}
	s := stamp{}
	if err := tx.QueryRowContext(ctx, `SELECT id, opens, hash_key FROM ledger`).Scan(&s.id, &s.opens, &key); err != nil {
		return err
	}
	if len(key) != 16 {
		return errors.New("its message hash key is damaged: restore a backup")
	}
	l.key = ledger.NewHashKey(key)
	if !o.Sender {
		return tx.Commit()
	}
	if err := s.compare(stampPath(l.path)); err != nil {
		if !o.AcceptRestored {
			return err
		}
		err = explain(l.path, err)
		l.restored.Store(&err) // Quarantine makes it the ledger to go on from; until then it sends nothing
		return tx.Commit()
	}
	s.opens++
	if _, err := tx.ExecContext(ctx, `UPDATE ledger SET opens = ?`, s.opens); err != nil {
		return err
	}
	for _, query := range endLeases {
		if _, err := tx.ExecContext(ctx, query); err != nil {
			return err
		}
	}
	if err := tx.Commit(); err != nil {
		return err
	}
	// After the commit: a crash in between leaves a side file that is one behind, which is no regression.
	return s.write(stampPath(l.path))
}
