//go:build long

package main

import (
	"database/sql"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// tables returns the tables of the ledger that a command may read.
func (d *fixture) tables() (names []string) {
	d.t.Helper()
	db, err := sql.Open("sqlite", d.path("campaignd.db"))
	if err != nil {
		d.t.Fatal(err)
	}
	defer db.Close()
	rows, err := db.QueryContext(d.t.Context(), `SELECT name FROM sqlite_master
		WHERE type = 'table' AND name NOT IN ('sqlite_sequence', 'goose_db_version', 'ledger', 'job', 'orphan')`)
	if err != nil {
		d.t.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		var name string
		if err := rows.Scan(&name); err != nil {
			d.t.Fatal(err)
		}
		names = append(names, name)
	}
	if err := rows.Err(); err != nil {
		d.t.Fatal(err)
	}
	return names
}

// noTable finds the missing table that a command's only line names. SQLite names one that a trigger
// needs with its schema.
var noTable = regexp.MustCompile(`^[^\n]*no such table: (?:main\.)?(\w+) \(1\)[^\n]*\n$`)

// without runs a command on a ledger that lacks tables. It returns the one that the command misses,
// or "" if the command works as on a whole ledger.
func (d *fixture) without(args []string, want result, tables ...string) string {
	d.t.Helper()
	d.drop(tables...)
	got := d.run(args...)
	if got == want {
		return ""
	}
	named := noTable.FindStringSubmatch(got.stderr)
	if got.code != 1 || got.stdout != "" && args[0] != "report" || named == nil || !slices.Contains(tables, named[1]) {
		d.t.Fatalf("campaignd %s without the tables %v: got %+v, want %+v or one line that names one of the tables",
			strings.Join(args, " "), tables, got, want)
	}
	return named[1]
}

// A command that needs a missing table fails and names the table. It does not answer from the other
// tables. A command that does not need the table works as before.
func TestADamagedLedgerIsNeverTakenForAnEmptyOne(t *testing.T) {
	t.Parallel()
	d := newFixture(t, nil)
	c := d.path("c.yaml")
	d.want(0, "suppressions", "add", "+2348031234567")
	d.write("list.csv", listOf(3))
	d.want(0, "run", c, "--settle", "1m")
	d.want(0, "run", c, "--settle", "1m", "--new")
	d.spoil("UPDATE run SET created_at = created_at - 12600000") // 3 hours ago, however long the test takes
	d.spoil("UPDATE run SET state = 'paused', reason = 'operator', ended_at = 0 WHERE no = 2")
	d.spoil(`UPDATE outcome SET state = 4 /* unknown */, rank = 0, sent_at = 0, delivered_at = 0, read_at = 0, mh = 0, message_id = ''
		WHERE rid >> 32 = 1`)
	d.spoil("UPDATE summary_state SET trusted = 0") // a slow machine may have counted the rows already
	// Webhooks are taken all the time, so that no answer depends on how long the test takes.
	d.spoil("DELETE FROM listening")
	d.spoil("INSERT INTO listening (since, until) VALUES (0, 4102444800000 /* 2100 */)")
	whole, err := os.ReadFile(d.path("campaignd.db"))
	if err != nil {
		t.Fatal(err)
	}
	tables := d.tables()
	for _, args := range [][]string{
		{"runs"}, {"report", "1"}, {"report", "1", "--format", "csv"}, {"audit", "1"}, {"audit", "2", "-o", "json"}, {"why", "2"},
		{"resolve", "1"}, {"resolve", "1", "--unknown", "resend"}, {"follow-up", "1", "--where", "unknown"},
		{"pause", "2"}, {"resume", "2"}, {"cancel", "2"}, {"check", c}, {"suppressions", "export"},
		{"suppressions", "remove", "+2348031234567"}, {"suppressions", "import", d.write("stop.csv", "to\n+2348031234568\n")},
	} {
		restore := func() {
			d.write("campaignd.db", string(whole))
			if args[0] == "cancel" || args[0] == "check" { // for sending, for which a ledger must not look restored
				d.want(0, "ledger", "quarantine", "--lost", "0s")
			}
		}
		restore()
		want := d.want(0, args...)
		var needed []string
		for rest := slices.Clone(tables); ; {
			restore()
			missed := d.without(args, want, rest...)
			if missed == "" {
				break
			}
			needed = append(needed, missed)
			rest = slices.DeleteFunc(rest, func(table string) bool { return table == missed })
		}
		for _, table := range needed { // the others may hold what looks like an answer
			restore()
			if d.without(args, want, table) == "" {
				t.Errorf("campaignd %s without the table %s: got the answer of a whole ledger, want a line that names the table",
					strings.Join(args, " "), table)
			}
		}
		if len(needed) == 0 {
			t.Errorf("campaignd %s needs no table, want one or more of %v", strings.Join(args, " "), tables)
		}
	}
}
