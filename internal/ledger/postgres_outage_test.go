package ledger

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"syscall"
	"testing"

	"campaignd/campaign"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// The codes are those of PostgreSQL's manual, appendix A.
func TestAnErrorOfTheServerIsTriedAgainOrNot(t *testing.T) {
	t.Parallel()
	code := func(c string) error { return fmt.Errorf("asked: %w", &pgconn.PgError{Code: c}) }
	for _, c := range []struct {
		err  error
		want advice
	}{
		{code("40001"), collided}, // serialization_failure
		{code("40P01"), collided}, // deadlock_detected
		{code("55P03"), collided}, // lock_not_available
		{code("40002"), final},    // transaction_integrity_constraint_violation
		{code("08006"), broken},   // connection_failure
		{code("57P01"), broken},   // admin_shutdown
		{code("57P03"), broken},   // cannot_connect_now
		{code("53300"), broken},   // too_many_connections
		{code("25P03"), broken},   // idle_in_transaction_session_timeout
		{code("25006"), broken},   // read_only_sql_transaction
		{code("57014"), final},    // query_canceled
		{code("53100"), final},    // disk_full
		{code("25P02"), final},    // in_failed_sql_transaction
		{code("23505"), final},    // unique_violation
		{io.EOF, broken},
		{io.ErrUnexpectedEOF, broken},
		{net.ErrClosed, broken},
		{&net.OpError{Op: "read", Err: syscall.ECONNRESET}, broken},
		{campaign.ErrUnknownCommit, broken},
		{errStandby, broken},
		{&awayError{errors.New("away")}, broken},
		{fmt.Errorf("%w: %w", errUnsafe, io.EOF), final},
		{fmt.Errorf("%w: %w", campaign.ErrFenced, io.EOF), final},
		{fmt.Errorf("%w: %w", campaign.ErrNoRun, io.EOF), final},
		{fmt.Errorf("%w: %w", campaign.ErrRunExists, io.EOF), final},
		{fmt.Errorf("%w: %w", pgx.ErrNoRows, io.EOF), final},
		{fmt.Errorf("%w: %w", ErrRestored, io.EOF), final},
		{fmt.Errorf("%w: %w", errClosed, io.EOF), final},
		{fmt.Errorf("%w: %w", context.Canceled, io.EOF), final},
		{fmt.Errorf("%w: %w", context.DeadlineExceeded, io.EOF), final},
		{errors.New("something else"), final},
	} {
		if got := classify(c.err); got != c.want {
			t.Errorf("%v: advice %d; want %d", c.err, got, c.want)
		}
	}
}

func TestWhatTheServerSaysComesWithWhatToDo(t *testing.T) {
	t.Parallel()
	l := &Postgres{name: "db.example.com/ledger"}
	for code, hint := range map[string]string{
		"28P01": "it refuses the user or password: check the address in `ledger`, and pg_hba.conf: ",
		"28000": "it refuses the user or password: check the address in `ledger`, and pg_hba.conf: ",
		"3D000": "the database does not exist: create it with `createdb`: ",
		"42501": "the role lacks a right: make it the owner of the database's schema: ",
		"42P07": "it holds another program's tables: give the ledger a database of its own, or a schema (search_path in the address): ",
		"53100": "its disk is full: nothing more can be recorded, so nothing more is sent: ",
		"53300": "it has no connection left: raise max_connections (12 a replica): ",
		"25006": "it is a read-only standby: name the primary, or several hosts with target_session_attrs=read-write: ",
		"57014": "a statement took too long: ",
		"22012": "",
	} {
		said := &pgconn.PgError{Severity: "ERROR", Code: code, Message: "words\n of the server"}
		err := l.explain(said)
		want := "ledger db.example.com/ledger: " + hint + "ERROR: words of the server (SQLSTATE " + code + ")"
		if err.Error() != want || !errors.Is(err, said) {
			t.Errorf("%s: %q; want %q, which is the server's error", code, err, want)
		}
		if again := l.explain(fmt.Errorf("once more: %w", err)); strings.Count(again.Error(), "ledger db") != 1 {
			t.Errorf("%s: explained twice: %q; want the ledger's name once", code, again)
		}
	}
	for _, own := range []error{nil, campaign.ErrFenced, campaign.ErrNoRun, campaign.ErrRunExists, errClosed, pgx.ErrNoRows} {
		if err := l.explain(own); err != own { //nolint:errorlint // the very same
			t.Errorf("%v: %v; want the same", own, err)
		}
	}
}
