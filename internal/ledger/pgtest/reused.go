//go:build unix

package pgtest

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// reused are the databases that Reused gives to one test after the other.
type reused struct {
	once  sync.Once
	err   error
	shape string // of the schema: what sqlShape says
	rows  string // the statements that write the rows and sequences again
	mu    sync.Mutex
	free  []*copied // databases that are as Filled makes them
}

// copied is a database and a connection to it, since a new connection takes longer than what empty
// does with it.
type copied struct {
	name string
	conn *pgx.Conn
	kept bool // Kept gives it, Reused does not
}

// Reused is Filled for the many tests that change rows only: a copy of a database takes longer than
// most of them. An earlier test may have used the database. When a test ends, its database gets
// the rows and sequences that fill wrote, and is given to the next test. The database of a test
// that changed the schema is dropped.
func (s *Server) Reused(t testing.TB, fill func(url string) error) string {
	t.Helper()
	return s.reuse(t, fill, false)
}

// KeptName is the application_name of the connections that stay when a test of Kept ends.
const KeptName = "kept"

// Kept is Reused for tests that leave their connections to the next test with the same address: a
// new one reads the catalogs and plans each statement again, which takes longer than most tests.
// A connection stays if it has the name KeptName and is idle. The caller keeps them by address.
func (s *Server) Kept(t testing.TB, fill func(url string) error) string {
	t.Helper()
	return s.reuse(t, fill, true)
}

func (s *Server) reuse(t testing.TB, fill func(url string) error, kept bool) string {
	t.Helper()
	s.fill(t, fill)
	r := &s.reused
	r.once.Do(func() { r.err = s.remember() })
	if r.err != nil {
		t.Fatalf("reading the filled database: %v; want no error", r.err)
	}
	r.mu.Lock()
	var c *copied
	if i := slices.IndexFunc(r.free, func(c *copied) bool { return c.kept == kept }); i >= 0 {
		c = r.free[i]
		r.free = slices.Delete(r.free, i, i+1)
	}
	r.mu.Unlock()
	if c == nil {
		c = &copied{name: s.create(t, " TEMPLATE "+filled), kept: kept}
	}
	t.Cleanup(func() {
		same, err := s.empty(c)
		if err != nil {
			t.Errorf("emptying database %s: %v; want no error", c.name, err)
		}
		if !same {
			s.drop(t, c.name)
			return
		}
		r.mu.Lock()
		defer r.mu.Unlock()
		r.free = append(r.free, c)
	})
	return s.URL(c.name)
}

const (
	// Each copy of a database has the object identifiers of its template.
	sqlShape = `SELECT md5(concat(
		(SELECT string_agg(row(oid, relname, relnamespace, relkind, relchecks, relhastriggers, reloptions)::text, ',' ORDER BY oid)
			FROM pg_class WHERE oid >= 16384 AND relnamespace <> 'pg_toast'::regnamespace),
		(SELECT string_agg(row(attrelid, attnum, attname, atttypid, attnotnull, atthasdef, attisdropped)::text, ','
			ORDER BY attrelid, attnum) FROM pg_attribute WHERE attrelid >= 16384 AND attnum > 0),
		(SELECT string_agg(row(oid, pg_get_constraintdef(oid))::text, ',' ORDER BY oid) FROM pg_constraint WHERE oid >= 16384),
		(SELECT string_agg(row(oid, tgenabled)::text, ',' ORDER BY oid) FROM pg_trigger WHERE oid >= 16384),
		(SELECT string_agg(row(oid, nspname, nspacl)::text, ',' ORDER BY oid) FROM pg_namespace),
		(SELECT string_agg(row(oid, proname, prosrc, proconfig)::text, ',' ORDER BY oid) FROM pg_proc WHERE oid >= 16384),
		(SELECT string_agg(row(c.oid, c.relacl)::text, ',' ORDER BY c.oid) FROM pg_class c WHERE c.relacl IS NOT NULL)))`
	sqlTables = `SELECT tablename FROM pg_tables WHERE schemaname = 'public'`
	// sqlRows writes the statement that writes the rows of a table.
	sqlRows = `SELECT format('INSERT INTO %%1$s OVERRIDING SYSTEM VALUE SELECT * FROM unnest(%%2$L::%%1$s[]);', '%[1]s', array_agg(t)::text)
		FROM %[1]s t HAVING count(*) > 0`
	sqlSequences = `SELECT format('SELECT setval(%L, %s, %L);', quote_ident(sequencename), coalesce(last_value, start_value),
		last_value IS NOT NULL) FROM pg_sequences WHERE schemaname = 'public'`
	sqlEndOthers = `SELECT count(pg_terminate_backend(pid, 60000)) FROM pg_stat_activity
		WHERE datname = current_database() AND pid <> pg_backend_pid() AND backend_type = 'client backend'
		AND NOT (application_name = '` + KeptName + `' AND state = 'idle')`
	// Triggers do not fire. TRUNCATE makes new files of a table and its indexes, which takes longer
	// than to delete some rows. A new database has no statistics either.
	sqlEmpty = `SET session_replication_role = replica; BEGIN; DO $$ DECLARE used record; BEGIN
		FOR used IN SELECT format('%I', relname) AS name, pg_relation_size(oid) > 65536 AS large FROM pg_class
			WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace AND pg_relation_size(oid) > 0
		LOOP
			IF used.large THEN EXECUTE 'TRUNCATE ' || used.name; ELSE EXECUTE 'DELETE FROM ' || used.name; END IF;
		END LOOP;
	END $$; DELETE FROM pg_statistic WHERE starelid >= 16384; `
)

// remember reads the filled database.
func (s *Server) remember() error {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	c, err := pgx.Connect(ctx, s.URL(filled))
	if err != nil {
		return err
	}
	defer c.Close(ctx)
	if err := c.QueryRow(ctx, sqlShape).Scan(&s.reused.shape); err != nil {
		return err
	}
	tables, err := texts(ctx, c, sqlTables)
	if err != nil {
		return err
	}
	queries := []string{sqlSequences}
	for _, table := range tables {
		queries = append(queries, fmt.Sprintf(sqlRows, pgx.Identifier{table}.Sanitize()))
	}
	for _, q := range queries {
		statements, err := texts(ctx, c, q)
		if err != nil {
			return err
		}
		s.reused.rows += strings.Join(statements, "")
	}
	return nil
}

func texts(ctx context.Context, c *pgx.Conn, query string) ([]string, error) {
	rows, err := c.Query(ctx, query)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowTo[string])
}

// empty makes a database as Filled makes it, and reports whether it could: it leaves one whose
// schema has changed, and closes its connection.
func (s *Server) empty(d *copied) (same bool, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	if d.conn == nil {
		if d.conn, err = pgx.Connect(ctx, s.URL(d.name)); err != nil {
			return false, err
		}
	}
	defer func() {
		if !same {
			_ = d.conn.Close(ctx)
		}
	}()
	if _, err := d.conn.Exec(ctx, sqlEndOthers); err != nil {
		return false, err
	}
	var shape string
	if err := d.conn.QueryRow(ctx, sqlShape).Scan(&shape); err != nil || shape != s.reused.shape {
		return false, err
	}
	_, err = d.conn.Exec(ctx, sqlEmpty+s.reused.rows+"COMMIT", pgx.QueryExecModeSimpleProtocol)
	return err == nil, err
}

// forget closes the connections to the databases that are free.
func (r *reused) forget() {
	for _, d := range r.free {
		_ = d.conn.Close(context.Background())
	}
	r.free = nil
}
