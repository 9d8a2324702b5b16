//go:build unix

package pgtest

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// URL returns the address of one of the server's databases, as ledger.Open takes it.
func (s *Server) URL(database string) string {
	return fmt.Sprintf("postgres://postgres@%s/%s?sslmode=disable", s.Addr, database)
}

// Exec runs statements as the superuser, outside any test's database.
func (s *Server) Exec(statements ...string) error {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	c, err := pgx.Connect(ctx, s.URL("postgres"))
	if err != nil {
		return err
	}
	defer c.Close(ctx)
	for _, x := range statements {
		if _, err := c.Exec(ctx, x); err != nil {
			return err
		}
	}
	return nil
}

// Database makes an empty database that ends with the test, and returns its address.
func (s *Server) Database(t testing.TB) string {
	t.Helper()
	return s.database(t, "")
}

// Filled makes a database that fill has filled. It calls fill once and copies that database for
// every later call, so fill must always be the same function, and it must close its connections.
func (s *Server) Filled(t testing.TB, fill func(url string) error) string {
	t.Helper()
	s.fill(t, fill)
	return s.database(t, " TEMPLATE "+filled)
}

const filled = "filled"

func (s *Server) fill(t testing.TB, fill func(url string) error) {
	t.Helper()
	s.filled.Do(func() {
		if s.fillErr = s.Exec("CREATE DATABASE " + filled); s.fillErr == nil {
			s.fillErr = fill(s.URL(filled))
		}
	})
	if s.fillErr != nil {
		t.Fatalf("filling a database to copy: %v; want fillErr nil", s.fillErr)
	}
}

func (s *Server) database(t testing.TB, how string) string {
	t.Helper()
	name := s.create(t, how)
	t.Cleanup(func() { s.drop(t, name) })
	return s.URL(name)
}

func (s *Server) create(t testing.TB, how string) (name string) {
	t.Helper()
	name = fmt.Sprintf("test_%d", s.names.Add(1))
	if err := s.Exec("CREATE DATABASE " + name + how); err != nil {
		t.Fatalf("making database %s: %v; want no error", name, err)
	}
	return name
}

func (s *Server) drop(t testing.TB, name string) {
	t.Helper()
	if err := s.Exec("DROP DATABASE " + name + " WITH (FORCE)"); err != nil {
		t.Errorf("dropping database %s: %v; want no error", name, err)
	}
}
