package ledger

import (
	"cmp"
	"context"
	"crypto/rand"
	"database/sql"
	"embed"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"sync"
	"sync/atomic"

	"campaignd/campaign"

	"github.com/pressly/goose/v3"
	_ "modernc.org/sqlite" // the driver "sqlite"
)

//go:embed migrations/sqlite/*.sql
var sqliteMigrations embed.FS

// readers is how many connections read at once: reports, why, the sweeper and lanes.
const readers = 4

// SQLite is a ledger in one file. See the package comment.
type SQLite struct {
	path     string
	log      *slog.Logger
	readOnly bool
	lock     *fileLock // nil unless opened as sender

	reads   *sql.DB
	writes  *sql.DB  // one connection, held by the writer
	checks  *sql.DB  // one connection, for checkpoints
	writer  *writer  // nil when read-only
	key     hashKey  // of message ids
	sweepAt sweepPos // where the next sweep goes on

	restored atomic.Pointer[error] // why it waits for its quarantine; nil: it does not

	prepared sync.Map // query -> *sql.Stmt on reads
	closing  sync.Once
	closeErr error
	closed   atomic.Bool
}

var _ campaign.Ledger = (*SQLite)(nil)

// OpenSQLite opens the ledger in the file path and brings its schema up to date; a file
// that does not exist is made (its folder must exist). Close ends it.
//
// Errors: campaign.ErrLocked when another sender holds it, campaign.ErrNewer when a
// newer campaignd wrote it, ErrRestored when a sender finds that it went back in time;
// otherwise a sentence that names the file and the remedy.
func OpenSQLite(ctx context.Context, path string, o Options) (_ *SQLite, err error) {
	if o.Sender && o.ReadOnly {
		return nil, errors.New("ledger: a sender cannot be read-only")
	}
	l := &SQLite{path: path, log: o.Log, readOnly: o.ReadOnly}
	if l.log == nil {
		l.log = slog.New(slog.DiscardHandler)
	}
	if err := checkPlace(path, o); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			_ = l.Close()
		}
	}()
	if o.Sender {
		if l.lock, err = lockFile(path + ".lock"); err != nil {
			return nil, err
		}
	}
	if l.reads, err = sql.Open(cmp.Or(o.driver, "sqlite"), dsn(path, "mode="+readMode(o), "_pragma=query_only(1)")); err != nil {
		return nil, explain(path, err)
	}
	l.reads.SetMaxOpenConns(readers)
	l.reads.SetMaxIdleConns(readers)
	if o.ReadOnly {
		if err := l.checkSchema(ctx); err != nil {
			return nil, explain(path, err)
		}
		return l, explain(path, l.readIdentity(ctx))
	}
	if l.writes, err = sql.Open(cmp.Or(o.driver, "sqlite"), dsn(path, "_txlock=immediate")); err != nil {
		return nil, explain(path, err)
	}
	l.writes.SetMaxOpenConns(1)
	if err := l.migrate(ctx); err != nil {
		return nil, explain(path, err)
	}
	if err := l.identify(ctx, o); err != nil {
		return nil, explain(path, err)
	}
	if l.checks, err = sql.Open(cmp.Or(o.driver, "sqlite"), dsn(path)); err != nil {
		return nil, explain(path, err)
	}
	l.checks.SetMaxOpenConns(1)
	if l.writer, err = startWriter(ctx, l); err != nil {
		return nil, explain(path, err)
	}
	return l, nil
}

func readMode(o Options) string {
	if o.ReadOnly {
		return "ro"
	}
	return "rw"
}

// Close lets what waits be written, moves the write-ahead log into the file and gives
// the lock back. Calls that come later fail.
func (l *SQLite) Close() error {
	l.closing.Do(func() {
		l.closed.Store(true)
		var errs []error
		if l.writer != nil {
			errs = append(errs, l.writer.stop())
		}
		l.prepared.Range(func(_, s any) bool {
			errs = append(errs, s.(*sql.Stmt).Close())
			return true
		})
		for _, db := range []*sql.DB{l.reads, l.checks, l.writes} {
			if db != nil {
				errs = append(errs, db.Close())
			}
		}
		if l.lock != nil {
			errs = append(errs, l.lock.release())
		}
		l.closeErr = errors.Join(errs...)
	})
	return l.closeErr
}

func (l *SQLite) provider() (*goose.Provider, error) {
	dir, err := fs.Sub(sqliteMigrations, "migrations/sqlite")
	if err != nil {
		return nil, err
	}
	db := l.writes
	if db == nil {
		db = l.reads
	}
	return goose.NewProvider(goose.DialectSQLite3, db, dir, goose.WithDisableGlobalRegistry(true), goose.WithSlog(slog.New(slog.DiscardHandler)))
}

// sqliteForeign counts the tables of a database that is somebody else's: it has no table ledger, and tables that goose
// did not make before it died.
const sqliteForeign = `SELECT count(*) FROM sqlite_master WHERE type = 'table' AND name NOT IN ('goose_db_version', 'sqlite_sequence')
AND NOT EXISTS (SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = 'ledger')`

// migrate brings the schema up to date. It adds nothing to another program's database.
func (l *SQLite) migrate(ctx context.Context) error {
	var foreign int
	if err := l.writes.QueryRowContext(ctx, sqliteForeign).Scan(&foreign); err != nil {
		return err
	}
	if foreign > 0 {
		return errors.New("it is not a campaignd ledger (an SQLite file of another program): name another path")
	}
	p, err := l.provider()
	if err != nil {
		return err
	}
	have, want, err := p.GetVersions(ctx)
	if err != nil {
		return err
	}
	if have > want {
		return fmt.Errorf("%w (schema %d, this program knows %d): install that version, or open another file", campaign.ErrNewer, have, want)
	}
	if have < want {
		_, err = p.Up(ctx)
	}
	return err
}

// checkSchema is migrate for a reader: it changes nothing.
func (l *SQLite) checkSchema(ctx context.Context) error {
	p, err := l.provider()
	if err != nil {
		return err
	}
	var have, want int64
	if err := l.reads.QueryRowContext(ctx, `SELECT coalesce(max(version_id), 0) FROM goose_db_version WHERE is_applied`).Scan(&have); err != nil {
		return err
	}
	for _, s := range p.ListSources() {
		want = max(want, s.Version)
	}
	switch {
	case have > want:
		return fmt.Errorf("%w (schema %d, this program knows %d): install that version, or open another file", campaign.ErrNewer, have, want)
	case have < want:
		return fmt.Errorf("its schema (%d) is older than this program's (%d): open it once with `campaignd serve` or `run`", have, want)
	}
	return nil
}

// readIdentity reads the secret of the message hash.
func (l *SQLite) readIdentity(ctx context.Context) error {
	var key []byte
	if err := l.reads.QueryRowContext(ctx, `SELECT hash_key FROM ledger`).Scan(&key); err != nil {
		return err
	}
	if len(key) != 16 {
		return errors.New("its message hash key is damaged: restore a backup")
	}
	l.key = newHashKey(key)
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
func (l *SQLite) identify(ctx context.Context, o Options) error {
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
	l.key = newHashKey(key)
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

// Path is the ledger's file.
func (l *SQLite) Path() string { return l.path }

// exists reports whether a file is there at all, whatever its kind.
func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}
