//go:build unix

package postgres

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"

	"campaignd/campaign"
	"campaignd/internal/ledger"
	"campaignd/internal/ledger/ledgertest"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// faultyWire is a wire to the server on which the n-th statement fails: the server is asked to run a portal that it does not
// have, or a division by zero. So its transaction is as broken as by any error of its own.
type faultyWire struct {
	net.Listener
	to    string
	ended sync.WaitGroup

	mu     sync.Mutex
	left   int // statements until the one that fails; 0: none does
	failed string
}

func newFaultyWire(t *testing.T) *faultyWire {
	t.Helper()
	w := &faultyWire{to: server(t).Addr}
	w.Listener = relay(t, &w.ended, w.carry)
	return w
}

// fail lets the n-th statement from now on fail, and no other; 0 none.
func (w *faultyWire) fail(n int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.left, w.failed = n, ""
}

// said is the statement that failed, "" when none did.
func (w *faultyWire) said() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.failed
}

// fails reports whether a message runs the statement that fails.
func (w *faultyWire) fails(kind byte, query string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.left == 0 || kind != 'E' && kind != 'Q' || query == "rollback" || strings.HasPrefix(query, "SELECT pg_advisory_unlock") {
		return false
	}
	if w.left--; w.left > 0 {
		return false
	}
	w.failed = query
	return true
}

func (w *faultyWire) carry(client net.Conn) {
	defer client.Close()
	server, err := net.Dial("tcp", w.to)
	if err != nil {
		return
	}
	w.ended.Go(func() {
		_, _ = io.Copy(client, server)
		client.Close()
	})
	defer server.Close()
	hear(client, func(kind byte, query string, message []byte) bool {
		if w.fails(kind, query) {
			switch kind {
			case 'E':
				message = slices.Concat(message[:5], []byte("nowhere"), message[5:])
			case 'Q':
				message = append(message[:5], "SELECT 1/0\x00"...)
			}
			binary.BigEndian.PutUint32(message[1:], uint32(len(message)-1))
		}
		_, err := server.Write(message)
		return err == nil
	})
}

// hear reads the messages of a client, until it ends or take returns false. query is the statement that a message is about.
func hear(client io.Reader, take func(kind byte, query string, message []byte) bool) {
	prepared, bound := map[string]string{}, ""
	for first := true; ; first = false {
		head := make([]byte, 5)
		if first { // it has no kind
			head = head[1:]
		}
		if _, err := io.ReadFull(client, head); err != nil {
			return
		}
		body := make([]byte, binary.BigEndian.Uint32(head[len(head)-4:])-4)
		if _, err := io.ReadFull(client, body); err != nil {
			return
		}
		kind, query := byte(0), ""
		if !first {
			kind = head[0]
		}
		texts := bytes.SplitN(body, []byte{0}, 3)
		switch kind {
		case 'P': // Parse: the statement's name, the query
			query = string(texts[1])
			prepared[string(texts[0])] = query
		case 'B': // Bind: the portal, the statement's name
			bound = prepared[string(texts[1])]
			query = bound
		case 'E': // Execute: the portal
			query = bound
		case 'Q':
			query = string(texts[0])
		}
		if !take(kind, query, append(head, body...)) {
			return
		}
	}
}

// isFault reports whether an error is that of the statement which failed.
func isFault(err error) bool {
	var said *pgconn.PgError
	return errors.As(err, &said) && (said.Code == "34000" || said.Code == "22012")
}

// through is an address by way of the wire.
func (w *faultyWire) through(url string) string {
	return strings.Replace(url, w.to, w.Addr().String(), 1)
}

// beside is a connection to a database beside its ledger.
func beside(t *testing.T, url string) *pgx.Conn {
	t.Helper()
	c, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatalf("connecting: %v; want no error", err)
	}
	t.Cleanup(func() { c.Close(context.Background()) })
	return c
}

// tablesOf is every row of every table, as text.
func tablesOf(t *testing.T, c *pgx.Conn) string {
	t.Helper()
	var query, held string
	err := c.QueryRow(t.Context(), `SELECT string_agg(format('SELECT %L || t::text AS row FROM %I t', tablename || ' ', tablename), ' UNION ALL ')
		FROM pg_tables WHERE schemaname = 'public'`).Scan(&query)
	if err == nil {
		err = c.QueryRow(t.Context(), `SELECT string_agg(row, E'\n' ORDER BY row) FROM (`+query+`) x`).Scan(&held)
	}
	if err != nil {
		t.Fatalf("reading all rows: %v; want no error", err)
	}
	return held
}

func TestPostgresTakesNoFailedStatementForSuccess(t *testing.T) {
	t.Parallel()
	ledgertest.RunFaults(t, func(t *testing.T) (campaign.Ledger, ledgertest.Faults) {
		url, wire := migrated(t), newFaultyWire(t)
		l := openAt(t, wire.through(url), ledger.Options{Sender: true})
		beside := beside(t, url)
		for _, p := range []*pool{l.sender, l.hooks, l.reports} { // a connection each, so that none is greeted later
			if err := l.read(t.Context(), p, stmt(nil, `SELECT 1`)); err != nil {
				t.Fatalf("connecting for %s: %v; want no error", p.name, err)
			}
		}
		return l, ledgertest.Faults{
			Fail: wire.fail, Failed: wire.said, Is: isFault,
			Rows: func(t *testing.T) string { return tablesOf(t, beside) },
			Exec: func(t *testing.T, query string) {
				t.Helper()
				if _, err := beside.Exec(t.Context(), query); err != nil {
					t.Fatalf("%s: %v; want no error", query, err)
				}
			},
		}
	})
}

// A statement that fails while a ledger is opened leaves it as it was, and the next opening does it all.
func TestPostgresOpensWholeOrNotAtAll(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		o       ledger.Options
		before  string // a statement
		changes bool
	}{
		"Migrate":  {ledger.Options{Sender: true}, `DROP TABLE job; DROP INDEX run_firing; DELETE FROM goose_db_version WHERE version_id = 2`, true},
		"Identify": {ledger.Options{Sender: true}, `DELETE FROM ledger`, true},
		"ReadOnly": {ledger.Options{ReadOnly: true}, ``, false},
		"Restored": {ledger.Options{Sender: true, AcceptRestored: true}, `UPDATE ledger SET system = system - 1`, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			url, wire := migrated(t), newFaultyWire(t)
			beside := beside(t, url)
			if _, err := beside.Exec(t.Context(), c.before); err != nil {
				t.Fatalf("%s: %v; want no error", c.before, err)
			}
			before := tablesOf(t, beside)
			for n := 1; n < 200; n++ {
				wire.fail(n)
				l, err := Open(t.Context(), wire.through(url), c.o)
				failed := wire.said()
				wire.fail(0)
				if err == nil {
					if err := l.Close(); err != nil {
						t.Fatalf("closing: %v; want no error", err)
					}
				}
				if failed == "" {
					if err != nil || n == 1 {
						t.Errorf("opened after %d faults with %v; want some faults, and no error then", n-1, err)
					}
					break
				}
				if !isFault(err) {
					t.Errorf("%q failed: opened with %v; want its error", failed, err)
				}
				if name == "Migrate" {
					var whole bool
					if err := beside.QueryRow(t.Context(), `SELECT (SELECT count(*) FROM pg_class WHERE relname IN ('job', 'run_firing'))
						= 2 * (SELECT count(*) FROM goose_db_version WHERE version_id = 2)`).Scan(&whole); err != nil || !whole {
						t.Fatalf("%q failed, and the migration is whole or absent: %v, %v; want true", failed, whole, err)
					}
				} else if d := cmp.Diff(before, tablesOf(t, beside)); d != "" {
					t.Fatalf("%q failed, and the ledger changed (-before +after):\n%s", failed, d)
				}
			}
			if changed := tablesOf(t, beside) != before; changed != c.changes {
				t.Errorf("opening changed the ledger: %v; want %v", changed, c.changes)
			}
		})
	}
}
