package connect

import (
	"context"
	"database/sql/driver"
	"errors"
	"io"

	"github.com/jackc/pgx/v5"
)

// gooseConnector lets goose, which uses database/sql, run statements one after the other on a
// connection of pgx. It implements only what migrations need.
type gooseConnector struct {
	config *pgx.ConnConfig
	login  *Login
	set    func(context.Context, *pgx.Conn) error
}

// Migrations makes connections for goose with the settings and the login of the pool. Each begins
// with set.
func Migrations(p *Pool, set func(context.Context, *pgx.Conn) error) driver.Connector {
	return gooseConnector{p.Config, p.Login, set}
}

func (g gooseConnector) Connect(ctx context.Context) (driver.Conn, error) {
	c, err := g.login.Connect(ctx, g.config)
	if err != nil {
		return nil, err
	}
	if err := g.set(ctx, c); err != nil {
		(&Conn{Conn: c}).End()
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
