package connect

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// errShared says that a pooler chooses a session for each transaction, as PgBouncer does with
// pool_mode = transaction and statement. Settings and prepared statements of one connection then
// reach those of others (https://www.pgbouncer.org/features.html).
var errShared = fmt.Errorf("%w: a pooler shares its sessions among clients: set pool_mode = session for this database in PgBouncer, "+
	"or name PostgreSQL itself", ErrUnsafe)

const (
	// poolerTime is the time limit of the check for a pooler in transaction mode. Such a pooler, and
	// one in session mode with a free connection, answer at once.
	poolerTime = 3 * time.Second
	// poolerRounds is how often the check asks: clients of other programs may take turns with it.
	poolerRounds = 4
)

// CheckSession refuses a connection whose session another client can get between two transactions.
// It is the first use of a connection, and it sets and prepares nothing. A direct connection is
// recognised by the process id that the server told at its beginning. Behind a pooler, a second
// connection takes a session away, if it can: then both had the same one, or the first gets
// another. own then becomes true, and no later check asks that again.
func CheckSession(ctx context.Context, c *pgx.Conn, config *pgx.ConnConfig, login *Login, own *atomic.Bool) (err error) {
	first, err := backend(ctx, c, "")
	if err != nil || first == int64(c.PgConn().PID()) || own.Load() {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, poolerTime)
	defer cancel()
	other, err := login.Connect(ctx, config)
	if err != nil {
		return fmt.Errorf("look for a pooler in transaction mode: %w", err)
	}
	defer (&Conn{Conn: other}).End()
	for range poolerRounds {
		taken, err := backend(ctx, other, "BEGIN;")
		switch {
		case refusesTransactions(err), err == nil && taken == first:
			return errShared
		case err != nil:
			return fmt.Errorf("look for a pooler in transaction mode, with a second connection that it may lack "+
				"(`ledger_connections` of each process: 12 by default): %w", err)
		}
		again, err := backend(ctx, c, "")
		if err == nil && again != first {
			return errShared
		}
		if err == nil {
			_, err = backend(ctx, other, "ROLLBACK;")
		}
		if err != nil {
			return fmt.Errorf("look for a pooler in transaction mode: %w", err)
		}
	}
	own.Store(true)
	return nil
}

// backend runs statements in one message, and returns the process id of the server's process that
// ran them. It prepares none.
func backend(ctx context.Context, c *pgx.Conn, statements string) (pid int64, err error) {
	results, err := c.PgConn().Exec(ctx, statements+"SELECT pg_backend_pid()").ReadAll()
	if err != nil {
		return 0, err
	}
	last := results[len(results)-1]
	if len(last.Rows) != 1 || len(last.Rows[0]) != 1 {
		return 0, errors.New("pg_backend_pid answered no row")
	}
	return strconv.ParseInt(string(last.Rows[0][0]), 10, 64)
}

// refusesTransactions reports whether a pooler in statement mode refused a transaction.
func refusesTransactions(err error) bool {
	var said *pgconn.PgError
	return errors.As(err, &said) && said.Code == "08P01" // protocol_violation
}
