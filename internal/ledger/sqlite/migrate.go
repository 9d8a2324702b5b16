package sqlite

import (
	"context"
	"embed"
	"errors"
	"io/fs"
	"log/slog"

	"campaignd/internal/ledger"

	"github.com/pressly/goose/v3"
)

//go:embed migrations/*.sql
var migrationFiles embed.FS

// provider runs the migrations on the connection that writes, or only lists them for a reader.
func (l *Ledger) provider() (*goose.Provider, error) {
	dir, err := fs.Sub(migrationFiles, "migrations")
	if err != nil {
		return nil, err
	}
	db := l.writes
	if db == nil {
		db = l.reads
	}
	return goose.NewProvider(goose.DialectSQLite3, db, dir,
		goose.WithDisableGlobalRegistry(true), goose.WithSlog(slog.New(slog.DiscardHandler)))
}

// sqlForeignTables counts the tables of another program's database: one without a table ledger, and
// with tables besides those that a first migration which died leaves behind.
const sqlForeignTables = `SELECT count(*) FROM sqlite_master WHERE type = 'table' AND name NOT IN ('goose_db_version', 'sqlite_sequence')
	AND NOT EXISTS (SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = 'ledger')`

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
	have, want, err := p.GetVersions(ctx)
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

const sqlSchemaVersion = `SELECT coalesce(max(version_id), 0) FROM goose_db_version WHERE is_applied`

// checkSchema refuses a schema of another version, and changes nothing.
func (l *Ledger) checkSchema(ctx context.Context) error {
	p, err := l.provider()
	if err != nil {
		return err
	}
	var have, want int64
	if err := l.reads.QueryRowContext(ctx, sqlSchemaVersion).Scan(&have); err != nil {
		return err
	}
	for _, s := range p.ListSources() {
		want = max(want, s.Version)
	}
	_, err = ledger.CheckSchema(have, want, true, newerRemedy)
	return err
}
