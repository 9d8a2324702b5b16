package postgres

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"syscall"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"
)

// A connection that could not be made is told with what to look at.
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
