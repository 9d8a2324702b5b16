//go:build unix

package postgres

import (
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
	"campaignd/internal/ledger/postgres/connect"

	"github.com/jackc/pgx/v5/pgconn"
)

// faultyWire is a wire to the server that makes the n-th statement fail: it replaces the statement
// by a portal that does not exist, or by a division by zero. That breaks the transaction like any
// other error of the server.
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

// fail makes the n-th statement from now on fail, and no other; 0 makes none fail.
func (w *faultyWire) fail(n int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.left, w.failed = n, ""
}

// said returns the statement that failed, or "".
func (w *faultyWire) said() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.failed
}

// fails reports whether a message runs the statement that fails.
func (w *faultyWire) fails(kind byte, query string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.left == 0 || kind != 'E' && kind != 'Q' || query == sqlRollback || strings.HasPrefix(query, "SELECT pg_advisory_unlock") {
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

// isFault reports whether an error is the one that faultyWire causes.
func isFault(err error) bool {
	var said *pgconn.PgError
	return errors.As(err, &said) && (said.Code == "34000" || said.Code == "22012")
}

// through returns the address of a database by way of the wire.
func (w *faultyWire) through(url string) string {
	return strings.Replace(url, w.to, w.Addr().String(), 1)
}

func TestPostgresTakesNoFailedStatementForSuccess(t *testing.T) {
	t.Parallel()
	ledgertest.RunFaults(t, func(t *testing.T) (campaign.Ledger, ledgertest.Faults) {
		url, wire := migrated(t), newFaultyWire(t)
		l := openAt(t, wire.through(url), ledger.Options{Sender: true})
		beside := beside(t, url)
		for _, p := range []*connect.Pool{l.sender, l.hooks, l.reports} { // opens a connection each, so that no check comes later
			if err := l.read(t.Context(), p, stmt(nil, `SELECT 1`)); err != nil {
				t.Fatalf("connecting for %s: %v; want no error", p.Name, err)
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
