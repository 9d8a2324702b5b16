package connect

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"syscall"
	"testing"

	"campaignd/campaign"
	"campaignd/internal/ledger"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// Codes: https://www.postgresql.org/docs/current/errcodes-appendix.html
func TestEachErrorSaysWhetherToTryAgain(t *testing.T) {
	code := func(c string) error { return fmt.Errorf("claiming: %w", &pgconn.PgError{Code: c}) }
	for _, c := range []struct {
		err  error
		want Advice
	}{
		{code("40001"), Collided}, // serialization_failure
		{code("40P01"), Collided}, // deadlock_detected
		{code("55P03"), Collided}, // lock_not_available
		{code("40002"), Final},    // transaction_integrity_constraint_violation
		{code("08000"), Broken},   // connection_exception
		{code("08006"), Broken},   // connection_failure
		{code("57P01"), Broken},   // admin_shutdown
		{code("57P03"), Broken},   // cannot_connect_now
		{code("57014"), Final},    // query_canceled
		{code("53300"), Broken},   // too_many_connections
		{code("53100"), Final},    // disk_full
		{code("25P03"), Broken},   // idle_in_transaction_session_timeout
		{code("25P02"), Final},    // in_failed_sql_transaction
		{code("25006"), Broken},   // read_only_sql_transaction
		{code("23505"), Final},    // unique_violation
		{code("42501"), Final},    // insufficient_privilege
		{campaign.ErrFenced, Final},
		{campaign.ErrNoRun, Final},
		{campaign.ErrRunExists, Final},
		{pgx.ErrNoRows, Final},
		{ledger.ErrRestored, Final},
		{ledger.ErrClosed, Final},
		{ErrUnsafe, Final},
		{context.Canceled, Final},
		{context.DeadlineExceeded, Final},
		{ErrStandby, Broken},
		{campaign.ErrUnknownCommit, Broken},
		{io.EOF, Broken},
		{io.ErrUnexpectedEOF, Broken},
		{net.ErrClosed, Broken},
		{&net.OpError{Op: "read", Err: errors.New("reset")}, Broken},
		{errors.New("another"), Final},
		{fmt.Errorf("%w: %w", campaign.ErrFenced, io.EOF), Final}, // the ledger's own errors come first
	} {
		if got := Classify(c.err); got != c.want {
			t.Errorf("%v: advice %d, want %d", c.err, got, c.want)
		}
	}
}

func TestEachCodeOfPostgresHasItsHint(t *testing.T) {
	for code, want := range map[string]string{
		"28P01": "check the address", "28000": "pg_hba.conf", "3D000": "createdb", "42501": "make it the owner", "42P07": "its own database",
		"53100": "its disk is full", "53300": "max_connections", "25006": "read-only standby", "57014": "took too long",
	} {
		err := Explain("db", &pgconn.PgError{Code: code, Message: "said\n by it"})
		if !strings.HasPrefix(err.Error(), "ledger db: ") || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %q, want a line of the ledger db with %q", code, err, want)
		}
		if again := Explain("db", err); again != err {
			t.Errorf("%s explained again: %v, want %v", code, again, err)
		}
	}
	for _, own := range []error{nil, campaign.ErrFenced, campaign.ErrNoRun, campaign.ErrRunExists, ledger.ErrClosed, pgx.ErrNoRows} {
		if got := Explain("db", own); got != own {
			t.Errorf("the ledger's own error %v is explained as %v, want it as it is", own, got)
		}
	}
}

// The error of a failed connection attempt names what to check.
func TestAFailedConnectionIsToldWithItsRemedy(t *testing.T) {
	for _, c := range []struct {
		err  error
		want string
	}{
		{&net.DNSError{Err: "no such host", Name: "db"}, "its host is not found: check the address in `ledger`"},
		{&net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}, "nothing answers there: check that PostgreSQL runs, and the address in `ledger`"},
		{&tls.CertificateVerificationError{Err: x509.UnknownAuthorityError{}},
			"its certificate is not trusted: give sslrootcert=FILE in the address, and the host name that it is made out for"},
		{&pgconn.PgError{Code: "42704"}, "it does not know a parameter of the address in `ledger`"},
		{&pgconn.PgError{Code: "42703"}, ""}, {syscall.ECONNRESET, ""}, {errors.New("another"), ""},
	} {
		if got := unconnected(fmt.Errorf("connect: %w", c.err)); got != c.want {
			t.Errorf("%v: got %q, want %q", c.err, got, c.want)
		}
	}
}
