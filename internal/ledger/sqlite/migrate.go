package sqlite

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"

	"campaignd/campaign"

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
	if have > want {
		return newerSchema(have, want)
	}
	if have < want {
		_, err = p.Up(ctx)
	}
	return err
}

func newerSchema(have, want int64) error {
	return fmt.Errorf("%w (schema %d, this program knows %d): install that version, or open another file", campaign.ErrNewer, have, want)
}

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
	switch {
	case have > want:
		return newerSchema(have, want)
	case have < want:
		return fmt.Errorf("its schema (%d) is older than this program's (%d): open it once with `campaignd serve` or `run`", have, want)
	}
	return nil
}
