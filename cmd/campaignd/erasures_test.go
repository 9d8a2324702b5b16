package main

import (
	"os"
	"strings"
	"testing"
)

// A backup is restored that has a person again who was erased since. What the quarantine prints,
// and the command that it names, lead to the same ledger as before.
func TestLostErasuresAreRepeated(t *testing.T) {
	t.Parallel()
	d := newFixture(t, nil)
	d.want(0, "run", d.path("c.yaml"), "--settle", "1m")
	file, number := d.path("b.db"), "+2348031200001"
	d.want(0, "backup", file)
	d.oneLineOf(2, []string{"the ledger was not quarantined", "--since"}, "ledger", "erasures")
	if got := d.want(0, "erase", number, "--yes").stdout; !strings.Contains(got, "erased from 1 row ") {
		t.Fatalf("erase: got %q, want one row erased", got)
	}
	want := d.want(0, "report", "latest", "-o", "csv").stdout
	for _, side := range []string{"", "-wal", "-shm"} {
		if err := os.Remove(d.path("campaignd.db" + side)); err != nil && !os.IsNotExist(err) {
			t.Fatal(err)
		}
	}
	if err := os.Rename(file, d.path("campaignd.db")); err != nil {
		t.Fatal(err)
	}
	if got := d.want(0, "report", "latest", "-o", "csv").stdout; got == want || !strings.Contains(got, number) {
		t.Fatalf("the restored ledger: got\n%s\nwant that it has %s again", got, number)
	}
	wantIn(t, "quarantine", d.want(0, "ledger", "quarantine", "--lost", "1m").stdout,
		"`campaignd ledger erasures` on each machine and in each pod that erased numbers in the lost time. 1 is noted here.\n",
		"The restored ledger has these people again.")
	said := d.want(0, "ledger", "erasures").stdout
	wantIn(t, "erasures", said, "1 erasure is noted in "+d.path("campaignd.db.erasures"), ": 1 row erased")
	if got := d.want(0, "report", "latest", "-o", "csv").stdout; got != want {
		t.Errorf("the report: got\n%s\nwant\n%s", got, want)
	}
	wantIn(t, "erasures again", d.want(0, "ledger", "erasures", "--file", d.path("campaignd.db.erasures"), "--since", "1h", "-o", "json").stdout,
		`"erasures": 1`, `"rows": 0`)
	wantIn(t, "no erasures", d.want(0, "ledger", "erasures", "--file", d.path("none")).stdout, "0 erasures are noted")
	d.oneLineOf(2, []string{"--since \"soon\""}, "ledger", "erasures", "--since", "soon")
	d.env["CAMPAIGND_DATA_DIR"] = t.TempDir()
	wantIn(t, "another folder", d.want(0, "ledger", "erasures").stdout, "0 erasures are noted")
}
