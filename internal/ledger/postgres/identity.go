package postgres

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"

	"campaignd/internal/ledger"
	"campaignd/internal/ledger/postgres/connect"

	"github.com/jackc/pgx/v5"
)

// errIdentityChanged says that a new connection found another server or timeline. The caller must
// call checkIdentity before anything is sent.
var errIdentityChanged = errors.New("the ledger may be on another server")

// serverIdentity is the server of the ledger, and its timeline, which every promotion
// increases.
type serverIdentity struct{ system, timeline int64 }

const (
	sqlSettings = `SELECT current_setting('synchronous_commit'), current_setting('fsync'),
		current_setting('full_page_writes'), pg_is_in_recovery(), current_setting('server_version_num')::int`
	// For a while after a promotion the last checkpoint still has the old timeline. The name of the
	// WAL file that is being written has the new one.
	sqlServer = `SELECT (SELECT system_identifier FROM pg_control_system()), CASE WHEN pg_is_in_recovery() THEN 0 ELSE
		greatest((SELECT timeline_id FROM pg_control_checkpoint())::bigint,
			('x' || left(pg_walfile_name(pg_current_wal_lsn()), 8))::bit(32)::bigint) END`
)

// checkServer checks each new connection: its commits must be durable, and it must lead to the
// ledger that was opened.
func (l *Ledger) checkServer(ctx context.Context, c *pgx.Conn) error {
	var set settings
	var here serverIdentity
	if err := send(ctx, &connect.Conn{Conn: c}, set.query(), rowOf([]any{&here.system, &here.timeline}, sqlServer)); err != nil {
		return err
	}
	if l.readOnly {
		return nil
	}
	if err := set.unsafe(); err != nil {
		return err
	}

	if known := l.identity.Load(); known != nil && *known != here {
		l.identityChanged.Store(true)
	}
	return nil
}

const (
	sqlInsertIdentity = `INSERT INTO ledger (one, id, hash_key, system, timeline) VALUES (1, $1, $2, $3, $4) ON CONFLICT DO NOTHING`
	sqlIdentity       = `SELECT id, hash_key, system, timeline FROM ledger WHERE one = 1`
	sqlKnownServer    = `SELECT system, timeline FROM ledger WHERE one = 1`
)

// identify gives a new ledger its identity. For a sender it also checks whether the ledger went
// back in time (docs/protocol.md#when-the-ledger-goes-back-in-time).
func (l *Ledger) identify(ctx context.Context, o ledger.Options) error {
	var key []byte
	var here, known serverIdentity
	read := rowOf([]any{&l.id, &key, &known.system, &known.timeline}, sqlIdentity)
	if o.ReadOnly {
		if err := l.read(ctx, l.reports, read); err != nil {
			return err
		}
	} else if err := l.change(ctx, l.sender, "", func(t *tx) error {
		id, secret := make([]byte, 8), make([]byte, 16)
		_, _ = rand.Read(id) // crypto/rand never fails
		_, _ = rand.Read(secret)
		if err := t.do(rowOf([]any{&here.system, &here.timeline}, sqlServer)); err != nil {
			return err
		}
		return t.do(stmt(nil, sqlInsertIdentity, hex.EncodeToString(id), secret, here.system, here.timeline), read)
	}); err != nil {
		return err
	}
	var err error
	if l.key, err = ledger.NewHashKey(key); err != nil {
		return err
	}
	l.identity.Store(&known)
	if !o.Sender || known == here {
		return nil
	}
	if !o.AcceptRestored {
		return restored(known, here)
	}
	l.identityChanged.Store(true) // it sends nothing until its Quarantine
	return nil
}

func restored(known, here serverIdentity) error {
	if known.system != here.system {
		return fmt.Errorf("%w: it was written on server %d and is on server %d now, as after a restored dump; "+
			"run `campaignd ledger quarantine`", ledger.ErrRestored, known.system, here.system)
	}
	return fmt.Errorf("%w: its server was on timeline %d and is on %d now: a backup was restored, or a standby promoted; "+
		"run `campaignd ledger quarantine`, with --lost 0s only if the standby was synchronous to the end",
		ledger.ErrRestored, known.timeline, here.timeline)
}

// checkIdentity returns ledger.ErrRestored after a connection found the ledger on another server or
// timeline, until the ledger is quarantined. Nothing is claimed or intended in that time, but
// results and events are recorded.
func (l *Ledger) checkIdentity(ctx context.Context) error {
	if !l.identityChanged.Load() {
		return nil
	}
	var here, known serverIdentity
	if err := l.read(ctx, l.sender, rowOf([]any{&here.system, &here.timeline}, sqlServer),
		rowOf([]any{&known.system, &known.timeline}, sqlKnownServer)); err != nil {
		return err
	}
	l.identity.Store(&known)
	if known != here {
		return l.explain(restored(known, here))
	}
	l.identityChanged.Store(false)
	return nil
}
