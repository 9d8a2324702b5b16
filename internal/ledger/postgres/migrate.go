package postgres

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"embed"
	"errors"
	"io"
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
	db := sql.OpenDB(gooseConnector{l.reports.Config})
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

// gooseConnector lets goose, which uses database/sql, run statements one after the other on a
// connection of pgx. It implements only what migrations need.
type gooseConnector struct{ config *pgx.ConnConfig }

// migrating are the connection's settings for a migration, in milliseconds. While a migration waits
// for a table lock, all senders wait behind it, so it gives up soon and tries again.
var migrating = map[string]string{"lock_timeout": "300", "statement_timeout": "0"}

func (g gooseConnector) Connect(ctx context.Context) (driver.Conn, error) {
	c, err := pgx.ConnectConfig(ctx, g.config.Copy())
	if err != nil {
		return nil, err
	}
	if err := set(ctx, c, migrating); err != nil {
		(&connect.Conn{Conn: c}).End()
		return nil, err
	}
	return gooseConn{c}, nil
}

func (g gooseConnector) Driver() driver.Driver { return gooseDriver{} }

type gooseDriver struct{}

func (gooseDriver) Open(string) (driver.Conn, error) {
	return nil, errors.New("open it by its connector")
}

type gooseConn struct{ conn *pgx.Conn }

func (c gooseConn) Close() error { return c.conn.Close(context.Background()) }

func (c gooseConn) Prepare(string) (driver.Stmt, error) {
	return nil, errors.New("migrations are not prepared")
}

func (c gooseConn) Begin() (driver.Tx, error) {
	return c.BeginTx(context.Background(), driver.TxOptions{})
}

func (c gooseConn) BeginTx(ctx context.Context, _ driver.TxOptions) (driver.Tx, error) {
	t, err := c.conn.Begin(ctx)
	return gooseTx{t}, err
}

// ExecContext uses the simple protocol when there are no arguments: the query may then be a whole
// file of statements, which the extended protocol refuses.
func (c gooseConn) ExecContext(ctx context.Context, query string, a []driver.NamedValue) (driver.Result, error) {
	args := plain(a)
	if len(args) == 0 {
		args = []any{pgx.QueryExecModeSimpleProtocol}
	}
	tag, err := c.conn.Exec(ctx, query, args...)
	return driver.RowsAffected(tag.RowsAffected()), err
}

func (c gooseConn) QueryContext(ctx context.Context, query string, a []driver.NamedValue) (driver.Rows, error) {
	rows, err := c.conn.Query(ctx, query, plain(a)...)
	if err != nil {
		return nil, err
	}
	return gooseRows{rows}, nil
}

func plain(named []driver.NamedValue) []any {
	a := make([]any, len(named))
	for i, v := range named {
		a[i] = v.Value
	}
	return a
}

type gooseTx struct{ tx pgx.Tx }

func (t gooseTx) Commit() error { return t.tx.Commit(context.Background()) }

func (t gooseTx) Rollback() error { return t.tx.Rollback(context.Background()) }

type gooseRows struct{ rows pgx.Rows }

func (r gooseRows) Columns() []string {
	var names []string
	for _, f := range r.rows.FieldDescriptions() {
		names = append(names, f.Name)
	}
	return names
}

func (r gooseRows) Close() error {
	r.rows.Close()
	return r.rows.Err()
}

func (r gooseRows) Next(into []driver.Value) error {
	if !r.rows.Next() {
		if err := r.rows.Err(); err != nil {
			return err
		}
		return io.EOF
	}
	vs, err := r.rows.Values()
	for i := range vs {
		into[i] = vs[i]
	}
	return err
}
