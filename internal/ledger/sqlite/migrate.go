package sqlite

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"io/fs"
	"log/slog"
	"time"

	"campaignd/internal/ledger"

	"github.com/pressly/goose/v3"
	"modernc.org/sqlite"
	sqlitelib "modernc.org/sqlite/lib"
)

//go:embed migrations/*.sql
var migrationFiles embed.FS

// provider runs the migrations on the connection that writes, or only lists them for a reader.
func (l *Ledger) provider() (*goose.Provider, error) {
	dir, err := fs.Sub(migrationFiles, "migrations")
	if err != nil {
		return nil, err
	}
	list, err := ledger.Migrations(dir)
	if err != nil {
		return nil, err
	}
	db := l.writes
	if db == nil {
		db = l.reads
	}
	return goose.NewProvider(goose.DialectSQLite3, db, nil, goose.WithGoMigrations(list...),
		goose.WithDisableGlobalRegistry(true), goose.WithSlog(slog.New(slog.DiscardHandler)))
}

// sqlForeignTables counts the tables of another program's database: one without a table ledger, and
// with tables besides those that a first migration which died leaves behind.
const sqlForeignTables = `SELECT count(*) FROM sqlite_master WHERE type = 'table' AND name NOT IN ('goose_db_version', 'sqlite_sequence')
	AND NOT EXISTS (SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = 'ledger')`

// Limits of migrateBeside: SQLite's own time-out for a lock, and 50 times 20 ms for another
// process's migration, which takes some 10 ms.
const (
	migrateBusy  = 5 * time.Second
	migrateAgain = 50
	migratePause = 20 * time.Millisecond
)

// migrateBeside is migrate while other processes may open the same file for the first time, such as
// a `why` beside the first `run`. One of them makes it. The others find it locked, because a change
// of the journal mode does not wait, or find tables that were not there a statement before.
func (l *Ledger) migrateBeside(ctx context.Context) error {
	began := time.Now()
	for n := 0; ; n++ {
		err := l.migrate(ctx)
		var se *sqlite.Error
		if !errors.As(err, &se) {
			return err
		}
		switch code := se.Code() & 0xff; {
		case (code == sqlitelib.SQLITE_BUSY || code == sqlitelib.SQLITE_LOCKED) && time.Since(began) < migrateBusy:
		case (code == sqlitelib.SQLITE_ERROR || code == sqlitelib.SQLITE_CONSTRAINT) && n < migrateAgain:
		default:
			return err
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(migratePause):
		}
	}
}

// migrate brings the schema up to date. It refuses another program's database.
func (l *Ledger) migrate(ctx context.Context) error {
	var foreign int
	if err := l.writes.QueryRowContext(ctx, sqlForeignTables).Scan(&foreign); err != nil {
		return err
	}
	if foreign > 0 {
		return errors.New("it is not a campaignd ledger (an SQLite file of another program): name another path")
	}
	p, err := l.provider()
	if err != nil {
		return err
	}
	if _, err := p.GetDBVersion(ctx); err != nil { // it makes goose's table
		return err
	}
	have, want, err := newest(ctx, l.writes, p)
	if err != nil {
		return err
	}
	older, err := ledger.CheckSchema(have, want, false, newerRemedy)
	if older {
		_, err = p.Up(ctx)
	}
	return err
}

// newerRemedy is what to do about a ledger of a newer program.
const newerRemedy = "open another file"

const sqlSchema = `SELECT version_id FROM goose_db_version WHERE is_applied`

// newest is ledger.Newest of a ledger.
func newest(ctx context.Context, db *sql.DB, p *goose.Provider) (have, want int64, err error) {
	rows, err := db.QueryContext(ctx, sqlSchema)
	if err != nil {
		return 0, 0, err
	}
	var applied []int64
	if err := drain(rows, func(scan scanFunc) error {
		applied = append(applied, 0)
		return scan(&applied[len(applied)-1])
	}); err != nil {
		return 0, 0, err
	}
	return ledger.Newest(applied, p.ListSources())
}

// checkSchema refuses a schema of another version, and changes nothing.
func (l *Ledger) checkSchema(ctx context.Context) error {
	p, err := l.provider()
	if err != nil {
		return err
	}
	have, want, err := newest(ctx, l.reads, p)
	if err != nil {
		return err
	}
	_, err = ledger.CheckSchema(have, want, true, newerRemedy)
	return err
}
