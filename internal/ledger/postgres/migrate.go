package postgres

import (
	"context"
	"database/sql"
	"embed"
	"io/fs"
	"log/slog"
	"math/rand/v2"
	"time"

	"campaignd/internal/ledger"
	"campaignd/internal/ledger/postgres/connect"

	"github.com/jackc/pgx/v5"
	"github.com/pressly/goose/v3"
	"github.com/pressly/goose/v3/lock"
)

//go:embed migrations/*.sql
var migrationFiles embed.FS

// migrations returns the folder of this program's schema.
func migrations() (fs.FS, error) { return fs.Sub(migrationFiles, "migrations") }

// migrate upgrades the schema to the newest version in dir. It takes goose's advisory lock: when
// several replicas start together, one migrates and the others wait. A migration removes nothing
// that an older program of the same generation uses (ledger.CheckSchema).
func (l *Ledger) migrate(ctx context.Context, dir fs.FS) error {
	db := sql.OpenDB(connect.Migrations(l.reports, func(ctx context.Context, c *pgx.Conn) error { return set(ctx, c, migrating) }))
	defer db.Close()
	locker, err := lock.NewPostgresSessionLocker(lock.WithLockTimeout(1, 300))
	if err != nil {
		return err
	}
	list, err := ledger.Migrations(dir)
	if err != nil {
		return err
	}
	p, err := goose.NewProvider(goose.DialectPostgres, db, nil, goose.WithGoMigrations(list...), goose.WithDisableGlobalRegistry(true),
		goose.WithSessionLocker(locker), goose.WithSlog(slog.New(slog.DiscardHandler)))
	if err != nil {
		return err
	}
	applied, err := l.schema(ctx)
	if err != nil {
		return err
	}
	have, want, err := ledger.Newest(applied, p.ListSources())
	if err != nil {
		return err
	}
	if older, err := ledger.CheckSchema(have, want, l.readOnly, "name another database"); err != nil || !older {
		return err
	}
	for n := 0; ; n++ {
		_, err := p.Up(ctx)
		if err == nil || connect.Classify(err) != connect.Collided || n == migrateTries {
			return err
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(50*time.Millisecond + rand.N(200*time.Millisecond)):
		}
	}
}

// migrateTries is how often a migration is tried again while an older program has a lock that it
// needs: about half a minute, at 300 ms for the lock and up to 250 ms between two tries.
const migrateTries = 60

const (
	sqlHasSchema = `SELECT to_regclass('goose_db_version') IS NOT NULL`
	sqlSchema    = `SELECT version_id FROM goose_db_version WHERE is_applied`
)

// schema reads which migrations the database has.
func (l *Ledger) schema(ctx context.Context) (applied []int64, err error) {
	var there bool
	if err := l.read(ctx, l.reports, row(&there, sqlHasSchema)); err != nil || !there {
		return nil, err
	}
	err = l.read(ctx, l.reports, list(&applied, scanID, sqlSchema))
	return applied, err
}

// migrating are the connection's settings for a migration, in milliseconds. While a migration waits
// for a table lock, all senders wait behind it, so it gives up soon and tries again.
var migrating = map[string]string{"lock_timeout": "300", "statement_timeout": "0"}
