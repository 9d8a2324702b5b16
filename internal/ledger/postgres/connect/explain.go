package connect

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"syscall"

	"campaignd/campaign"
	"campaignd/internal/ledger"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// ErrStandby says that the server is not the primary, or not yet. The ledger tries it again.
var ErrStandby = errors.New("it is a read-only standby: name the primary, or several hosts with target_session_attrs=read-write")

// ErrUnsafe marks settings that can lose a committed transaction.
var ErrUnsafe = errors.New("unsafe")

// Advice is what an error tells about another try.
type Advice int

const (
	Final    Advice = iota // another try would fail too
	Collided               // another transaction had a lock, or changed the same rows
	Broken                 // the connection broke, or cannot be made
)

// Classify tells whether an error is worth another try. The codes are those of
// https://www.postgresql.org/docs/current/errcodes-appendix.html.
func Classify(err error) Advice {
	var said *pgconn.PgError
	switch {
	case ledger.Promised(err), errors.Is(err, pgx.ErrNoRows), errors.Is(err, ledger.ErrRestored), errors.Is(err, ledger.ErrClosed),
		errors.Is(err, ErrUnsafe), errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return Final
	case isAway(err), errors.Is(err, ErrStandby):
		return Broken
	case errors.As(err, &said):
		switch {
		case said.Code == "40001", said.Code == "40P01", said.Code == "55P03": // serialization, deadlock, lock_timeout
			return Collided
		case strings.HasPrefix(said.Code, "08"), strings.HasPrefix(said.Code, "57P"), said.Code == "53300", said.Code == "25P03":
			return Broken // connection, shutdown, too many connections, idle in transaction
		case said.Code == "25006": // read-only: the primary became a standby
			return Broken
		}
		return Final
	}
	var cannot *pgconn.ConnectError
	var network net.Error
	if errors.As(err, &cannot) || errors.As(err, &network) || pgconn.SafeToRetry(err) || errors.Is(err, campaign.ErrUnknownCommit) ||
		errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, net.ErrClosed) {
		return Broken
	}
	return Final
}

// TakesNoWrites reports whether err is that of a disk that is full or fails.
func TakesNoWrites(err error) bool {
	var said *pgconn.PgError
	return errors.As(err, &said) && (said.Code == "53100" || said.Code == "58030") // disk_full, io_error
}

// Explain turns an error of PostgreSQL into one line that names the ledger and says what the error
// means and what to do.
func Explain(name string, err error) error {
	if err == nil || ledger.Promised(err) || errors.Is(err, ledger.ErrClosed) || errors.Is(err, pgx.ErrNoRows) || errors.Is(err, errSaid) {
		return err
	}
	hint, text := "", OneLine(err.Error())
	var said *pgconn.PgError
	if errors.As(err, &said) {
		switch said.Code {
		case "28P01", "28000":
			hint = "it refuses the user or password: check the address in `ledger`, and pg_hba.conf"
		case "3D000":
			hint = "the database does not exist: create it with `createdb`"
		case "42501":
			hint = "the role lacks a right: make it the owner of the database's schema"
		case "42P07":
			hint = "it holds another program's tables: give the ledger its own database, or a schema (search_path in the address)"
		case "53100":
			hint = "its disk is full: nothing more can be recorded, so nothing more is sent"
			err = fmt.Errorf("%w: %w", campaign.ErrFull, err)
		case "58030":
			hint = "its disk fails"
		case "53300":
			hint = "it has no connection left: raise max_connections (`ledger_connections` of each process: 12 by default)"
		case "25006":
			hint = "it is a read-only standby: name the primary, or several hosts with target_session_attrs=read-write"
		case "42P05", "26000": // of a pooler whose mode changed while this process ran
			hint = "a pooler shares its sessions among clients: set pool_mode = session for this database in PgBouncer"
		case "57014":
			hint = "a statement took too long"
		}
	}
	var cannot *pgconn.ConnectError
	if errors.As(err, &cannot) {
		hint, text = cmp.Or(hint, unconnected(err)), attempts(err.Error())
	}
	if hint != "" {
		text = hint + ": " + text
	}
	return &saidError{fmt.Sprintf("ledger %s: %s", name, text), err}
}

// unconnected says what to do about a failed connection attempt; "" when that is not known.
func unconnected(err error) string {
	var name *net.DNSError
	var certificate *tls.CertificateVerificationError
	var said *pgconn.PgError
	switch {
	case errors.As(err, &said) && said.Code == "42704":
		return "it does not know a parameter of the address in `ledger`"
	case errors.As(err, &name):
		return "its host is not found: check the address in `ledger`"
	case errors.Is(err, syscall.ECONNREFUSED):
		return "nothing answers there: check that PostgreSQL runs, and the address in `ledger`"
	case errors.As(err, &certificate):
		return "its certificate is not trusted: give sslrootcert=FILE in the address, and the host name that it is made out for"
	}
	return ""
}

// refusedTLS ends the error of an attempt over TLS at a server without TLS. With sslmode=prefer an
// attempt without TLS follows, whose error names the cause.
const refusedTLS = "server refused TLS connection"

// attempts puts the errors of all attempts to connect into one line, each once.
func attempts(text string) string {
	lines := strings.Split(text, "\n")
	var said, refused []string
	for _, line := range lines[1:] { // the first line names the user and the database
		switch line = OneLine(line); {
		case strings.HasSuffix(line, refusedTLS):
			refused = []string{line}
		case !slices.Contains(said, line):
			said = append(said, line)
		}
	}
	if len(said) == 0 {
		said = refused
	}
	text = OneLine(lines[0] + " " + strings.Join(said, " "))
	if strings.HasSuffix(text, refusedTLS) {
		text += "; sslmode=disable goes without TLS"
	}
	return text
}

// errSaid marks errors that explain returned.
var errSaid = errors.New("explained")

// saidError is an explained error in one line.
type saidError struct {
	text string
	err  error
}

func (e *saidError) Error() string { return e.text }

func (e *saidError) Unwrap() []error { return []error{errSaid, e.err} }

// OneLine joins the lines and words of s by single spaces.
func OneLine(s string) string { return strings.Join(strings.Fields(s), " ") }
