package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The copy is made beside serve, and is quarantined before anything is sent from it.
func TestABackupIsRestoredThroughTheQuarantine(t *testing.T) {
	t.Parallel()
	d := newFixture(t, nil)
	d.says(2, "", "campaignd: there is no ledger "+d.path("campaignd.db")+": nothing has run here yet; "+
		"go to its folder, or name it with --config or CAMPAIGND_LEDGER\n", "backup", d.path("b.db"))
	d.want(0, "run", d.path("c.yaml"), "--settle", "1m")
	want := d.want(0, "report", "latest", "-o", "csv").stdout
	stop := d.serving()
	file := d.path("b.db")
	d.says(0, file+" is a copy of "+d.path("campaignd.db")+"\n", "", "backup", file)
	var copied, errs bytes.Buffer
	code := run(t.Context(), []string{"backup", "-"}, strings.NewReader(""), &copied, &errs, d.env)
	streamed := copied.String()
	stop()
	if code != 0 || errs.Len() > 0 {
		t.Errorf("backup -: got exit code %d and %q, want 0 and nothing", code, errs.String())
	}
	if _, err := os.Stat("-"); err == nil || !strings.HasPrefix(streamed, "SQLite format 3\x00") {
		t.Errorf("backup -: got %.20q and a file named - (%v); want a whole ledger on standard output", streamed, err)
	}
	if err := os.WriteFile(d.path("streamed.db"), []byte(streamed), 0o600); err != nil {
		t.Fatal(err)
	}
	d.env["CAMPAIGND_LEDGER"] = "sqlite:" + d.path("streamed.db")
	got := d.want(0, "report", "latest", "-o", "csv").stdout
	d.env["CAMPAIGND_LEDGER"] = "sqlite:" + d.path("campaignd.db")
	if got != want {
		t.Errorf("the report of the streamed copy: got\n%s\nwant\n%s", got, want)
	}
	wantIn(t, "actions", d.want(0, "actions").stdout, "  backup  ", file)
	if left, err := filepath.Glob(file + "*"); err != nil || len(left) != 1 {
		t.Errorf("the copy: got the files %v, %v; want %s alone", left, err, file)
	}
	d.says(2, "", "campaignd: "+file+" exists; name another file\n", "backup", file)
	d.oneLineOf(2, []string{"name a file in a folder that exists"}, "backup", d.path("none/b.db"))
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the copy: got mode %v (%v), want 0600", info.Mode(), err)
	}
	// The companion file agrees with the copy: no sender has opened the ledger since.
	for _, side := range []string{"", "-wal", "-shm"} {
		if err := os.Remove(d.path("campaignd.db" + side)); err != nil && !os.IsNotExist(err) {
			t.Fatal(err)
		}
	}
	if err := os.Rename(file, d.path("campaignd.db")); err != nil {
		t.Fatal(err)
	}
	if got := d.want(0, "report", "latest", "-o", "csv").stdout; got != want {
		t.Errorf("the report of the copy: got\n%s\nwant\n%s", got, want)
	}
	d.oneLineOf(1, []string{"went back in time", "campaignd ledger quarantine"}, "serve")
	d.want(0, "ledger", "quarantine", "--lost", "0s")
	d.serving()()

	// On another machine there is no companion file.
	d.want(0, "backup", file)
	for _, side := range []string{"", "-wal", "-shm", ".stamp"} {
		if err := os.Remove(d.path("campaignd.db" + side)); err != nil && !os.IsNotExist(err) {
			t.Fatal(err)
		}
	}
	if err := os.Rename(file, d.path("campaignd.db")); err != nil {
		t.Fatal(err)
	}
	d.oneLineOf(1, []string{"went back in time", "campaignd ledger quarantine"}, "serve")
	d.want(0, "ledger", "quarantine", "--lost", "0s")
	d.serving()()
}
