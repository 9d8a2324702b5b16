//go:build unix

package pgtest_test

import (
	"errors"
	"testing"

	"campaignd/internal/ledger/pgtest"
)

// The tests of a package share one server, which TestMain ends. Each test has a database of its
// own.
func Example() {
	server, err := pgtest.Start("synchronous_commit=on")
	if errors.Is(err, pgtest.ErrMissing) {
		return // a test says so with pgtest.Require
	}
	if err != nil {
		panic(err)
	}
	defer server.Stop()
	// Output:
}

func TestACrashedServerKeepsWhatItCommitted(t *testing.T) {
	s, err := pgtest.Start()
	pgtest.Require(t, err)
	defer s.Stop()
	if err := s.Exec("CREATE TABLE kept (n int)", "INSERT INTO kept VALUES (1)"); err != nil {
		t.Fatal(err)
	}
	addr := s.Addr
	if err := s.Restart(); err != nil {
		t.Fatal(err)
	}
	if err := s.Exec("SELECT 1 / count(*) FROM kept"); err != nil || s.Addr != addr {
		t.Errorf("after a crash at %s: %v at %s; want no error, Addr %+v", addr, err, s.Addr, addr)
	}
	if _, err := s.PID(); err != nil {
		t.Error(err)
	}
}
