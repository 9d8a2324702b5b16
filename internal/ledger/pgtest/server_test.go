//go:build unix

package pgtest_test

import (
	"context"
	"errors"
	"testing"

	"campaignd/internal/ledger/pgtest"

	"github.com/jackc/pgx/v5"
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

// Each test changes what the next one must not see, and the last of them also the schema.
func TestAReusedDatabaseIsLikeANewOne(t *testing.T) {
	s, err := pgtest.Start()
	pgtest.Require(t, err)
	defer s.Stop()
	at := func(url string, statements ...string) error {
		c, err := pgx.Connect(context.Background(), url)
		if err != nil {
			return err
		}
		defer c.Close(context.Background())
		for _, x := range statements {
			if _, err := c.Exec(context.Background(), x); err != nil {
				return err
			}
		}
		return nil
	}
	fill := func(url string) error {
		return at(url, `CREATE TABLE "Some" (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, word text)`,
			`INSERT INTO "Some" (word) VALUES ('it''s'), (NULL)`, `CREATE TABLE none (n bigint GENERATED ALWAYS AS IDENTITY)`)
	}
	const fresh = `DO $$ BEGIN
		ASSERT (SELECT string_agg(t::text, ';' ORDER BY id) FROM "Some" t) = '(1,it''s);(2,)';
		ASSERT (SELECT count(*) FROM none) = 0;
		ASSERT nextval('"Some_id_seq"') = 3;
		ASSERT nextval('none_n_seq') = 1;
		ASSERT to_regclass('more') IS NULL;
	END $$`
	seen := map[string]int{}
	for _, change := range []string{`DELETE FROM "Some" WHERE id = 1; UPDATE "Some" SET word = 'changed'`,
		`INSERT INTO none SELECT FROM generate_series(1, 100); TRUNCATE "Some"`, `CREATE TABLE more ()`, `SELECT 1`} {
		t.Run("", func(t *testing.T) {
			url := s.Reused(t, fill)
			if seen[url]++; seen[url] > 3 {
				t.Errorf("%s came again after its schema changed; want another one", url)
			}
			if err := at(url, fresh, change); err != nil {
				t.Errorf("as new, before %s: %v; want no error", change, err)
			}
		})
	}
	if len(seen) != 2 {
		t.Errorf("got %d databases; want 2", len(seen))
	}
}
