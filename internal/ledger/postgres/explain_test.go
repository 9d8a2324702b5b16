package postgres

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
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
		want advice
	}{
		{code("40001"), collided}, // serialization_failure
		{code("40P01"), collided}, // deadlock_detected
		{code("55P03"), collided}, // lock_not_available
		{code("40002"), final},    // transaction_integrity_constraint_violation
		{code("08000"), broken},   // connection_exception
		{code("08006"), broken},   // connection_failure
		{code("57P01"), broken},   // admin_shutdown
		{code("57P03"), broken},   // cannot_connect_now
		{code("57014"), final},    // query_canceled
		{code("53300"), broken},   // too_many_connections
		{code("53100"), final},    // disk_full
		{code("25P03"), broken},   // idle_in_transaction_session_timeout
		{code("25P02"), final},    // in_failed_sql_transaction
		{code("25006"), broken},   // read_only_sql_transaction
		{code("23505"), final},    // unique_violation
		{code("42501"), final},    // insufficient_privilege
		{campaign.ErrFenced, final},
		{campaign.ErrNoRun, final},
		{campaign.ErrRunExists, final},
		{pgx.ErrNoRows, final},
		{ledger.ErrRestored, final},
		{ledger.ErrClosed, final},
		{errUnsafe, final},
		{context.Canceled, final},
		{context.DeadlineExceeded, final},
		{errStandby, broken},
		{campaign.ErrUnknownCommit, broken},
		{io.EOF, broken},
		{io.ErrUnexpectedEOF, broken},
		{net.ErrClosed, broken},
		{&net.OpError{Op: "read", Err: errors.New("reset")}, broken},
		{errors.New("another"), final},
		{fmt.Errorf("%w: %w", campaign.ErrFenced, io.EOF), final}, // what the ledger itself says comes first
	} {
		if got := classify(c.err); got != c.want {
			t.Errorf("%v: advice %d, want %d", c.err, got, c.want)
		}
	}
}

func TestEachCodeOfPostgresHasItsHint(t *testing.T) {
	l := &Ledger{name: "db"}
	for code, want := range map[string]string{
		"28P01": "check the address", "28000": "pg_hba.conf", "3D000": "createdb", "42501": "make it the owner", "42P07": "a database of its own",
		"53100": "its disk is full", "53300": "max_connections", "25006": "read-only standby", "57014": "took too long",
	} {
		err := l.explain(&pgconn.PgError{Code: code, Message: "said\n by it"})
		if !strings.HasPrefix(err.Error(), "ledger db: ") || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %q, want a line of the ledger db with %q", code, err, want)
		}
		if again := l.explain(err); again != err {
			t.Errorf("%s explained again: %v, want %v", code, again, err)
		}
	}
	for _, own := range []error{nil, campaign.ErrFenced, campaign.ErrNoRun, campaign.ErrRunExists, ledger.ErrClosed, pgx.ErrNoRows} {
		if got := l.explain(own); got != own {
			t.Errorf("the ledger's own error %v is explained as %v, want it as it is", own, got)
		}
	}
}

func TestOnlyAMarkThatWentBackIsBehind(t *testing.T) {
	var m markMemory
	if a, lost := m.behind(1, 0); lost {
		t.Errorf("an unknown segment is behind %+v, want not", a)
	}
	m.keep(1, 8, 100)
	m.keep(1, 5, 200) // an answer that came late
	m.keep(2, 3, 300)
	for _, c := range []struct {
		id, mark int64
		lost     bool
		want     acknowledged
	}{
		{1, 9, false, acknowledged{8, 100}},
		{1, 8, false, acknowledged{8, 100}},
		{1, 7, true, acknowledged{8, 100}},
		{2, 2, true, acknowledged{3, 300}},
		{3, 0, false, acknowledged{}},
	} {
		if got, lost := m.behind(c.id, c.mark); lost != c.lost || got != c.want {
			t.Errorf("mark %d of segment %d: %+v, behind %v; want %+v, %v", c.mark, c.id, got, lost, c.want, c.lost)
		}
	}
	m.forget(1)
	if a, lost := m.behind(1, 0); lost {
		t.Errorf("a segment that is done is behind %+v, want it forgotten", a)
	}
}

func TestTextsOfStrangersAreMadeStorable(t *testing.T) {
	for text, want := range map[string]string{"": "", "plain é": "plain é", "a\x00b": "a\uFFFDb", "\x00": "\uFFFD", "a\xffb": "a\uFFFDb", "\xff\x00": "\uFFFD\uFFFD"} {
		if got := plainText(text); got != want {
			t.Errorf("%q becomes %q, want %q", text, got, want)
		}
	}
}
