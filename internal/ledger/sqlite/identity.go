package sqlite

import (
	"context"
	"crypto/rand"
	"database/sql"
	"encoding/hex"
	"errors"

	"campaignd/internal/ledger"
	"campaignd/internal/ledger/sqlite/dbfile"
)

// readIdentity reads the id of the ledger and the key of the message hash.
func (l *Ledger) readIdentity(ctx context.Context) (err error) {
	var key []byte
	if err = l.reads.QueryRowContext(ctx, sqlHashKey).Scan(&l.id, &key); err == nil {
		l.key, err = ledger.NewHashKey(key)
	}
	return err
}

const (
	sqlHashKey        = `SELECT id, hash_key FROM ledger`
	sqlInsertIdentity = `INSERT INTO ledger (one, id, opens, hash_key) VALUES (1, ?, 0, ?) ON CONFLICT DO NOTHING`
	sqlIdentity       = `SELECT id, opens, files, hash_key FROM ledger`
	sqlSetNumber      = `UPDATE ledger SET opens = ?1, counted = ?1, files = ?2 WHERE opens = ?3`
	// sqlDistrust has each segment counted again if an older program, which does not add to the table
	// changed, was the last to send from the ledger.
	sqlDistrust = `INSERT INTO changed (segment, at) SELECT id, 0 FROM segment
		WHERE (SELECT opens <> counted FROM ledger) ON CONFLICT (segment) DO NOTHING`
)

// endLeases ends the leases of earlier senders: the lock proves that none of them still runs.
var endLeases = [...]string{`UPDATE segment SET lease_until = 0 WHERE lease_until <> 0 AND done = 0`,
	`UPDATE job SET lease_until = 0 WHERE lease_until <> 0`, `DELETE FROM lane`}

// identify gives a new ledger its identity. For a sender it also checks whether the ledger went
// back in time (docs/protocol.md#when-the-ledger-goes-back-in-time), and ends the leases of earlier
// senders.
func (l *Ledger) identify(ctx context.Context, o ledger.Options) error {
	if !o.Sender { // beside a sender that writes all the time, it must not wait for its turn to write
		if err := l.readIdentity(ctx); !errors.Is(err, sql.ErrNoRows) {
			return err
		}
	}
	tx, err := l.writes.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback() //nolint:errcheck // after Commit it is a no-op
	id, key := make([]byte, 8), make([]byte, 16)
	_, _ = rand.Read(id) // crypto/rand never fails
	_, _ = rand.Read(key)
	if _, err := tx.ExecContext(ctx, sqlInsertIdentity, hex.EncodeToString(id), key); err != nil {
		return err
	}
	s, was := dbfile.Stamp{}, ""
	if err := tx.QueryRowContext(ctx, sqlIdentity).Scan(&s.ID, &s.Number, &was, &key); err != nil {
		return err
	}
	if l.key, err = ledger.NewHashKey(key); err != nil {
		return err
	}
	l.id = s.ID
	if !o.Sender {
		return tx.Commit()
	}
	if err := s.Compare(l.path, dbfile.ParseFiles(was), l.file); err != nil {
		if !o.AcceptRestored {
			return err
		}
		err = explain(l.path, err)
		l.restored.Store(&err) // it sends nothing until its Quarantine
		return tx.Commit()
	}
	r, err := s.Prepare(l.path, l.file)
	if err != nil {
		return err
	}
	if _, err := tx.ExecContext(ctx, sqlDistrust); err != nil {
		return err
	}
	if _, err := tx.ExecContext(ctx, sqlSetNumber, r.Stamp.Number, r.Files.String(), s.Number); err != nil {
		return err
	}
	for _, end := range endLeases {
		if _, err := tx.ExecContext(ctx, end); err != nil {
			return err
		}
	}
	if err := tx.Commit(); err != nil {
		return err
	}
	l.stamp = r.Stamp
	if s.Number == 0 { // from now on a copy of the file alone, without its log, has a number too
		if _, err := l.writes.ExecContext(ctx, sqlCheckpoint); err != nil {
			return err
		}
	}
	return r.Done()
}
