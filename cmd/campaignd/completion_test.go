package main

import (
	"os"
	"strings"
	"testing"
)

func TestShellsCompleteRunsAndTheValuesOfFlags(t *testing.T) {
	t.Parallel()
	d := newFixture(t, nil)
	if r := d.want(0, "__complete", "report", ""); strings.HasPrefix(r.stdout, "latest") {
		t.Errorf("completion without a ledger: got %s, want no run", r.stdout)
	}
	if _, err := os.Stat(d.path("campaignd.db")); err == nil {
		t.Error("completion made a ledger, want none")
	}
	d.want(0, "run", d.path("c.yaml"), "--settle", "0s")
	for _, tt := range []struct {
		args []string
		want string
	}{
		{[]string{"report", ""}, "latest\norders-1\n"},
		{[]string{"report", "latest", "--format", ""}, "table\njson\ncsv\n"},
		{[]string{"why", "latest", "-o", ""}, "table\njson\n"},
		{[]string{"suppressions", "add", "--scope", ""}, "marketing\nall\nunreachable\n"},
		{[]string{"run", ""}, "yaml\nyml\n"},
	} {
		if r := d.want(0, append([]string{"__complete"}, tt.args...)...); !strings.HasPrefix(r.stdout, tt.want+":") {
			t.Errorf("completion of %q: got %q, want %q", tt.args, r.stdout, tt.want)
		}
	}
}

// A second argument completes to nothing, and so does a run of a ledger that cannot be read.
func TestShellsCompleteNothingWhereNothingFits(t *testing.T) {
	t.Parallel()
	d := newFixture(t, nil)
	d.want(0, "ledger", "migrate") // makes the ledger
	const noFiles, ordered, ext = ":4\n", ":36\n", ":8\n"
	for _, tt := range []struct {
		args []string
		want string
	}{
		{[]string{"report", ""}, "latest\n" + ordered},
		{[]string{"report", "latest", ""}, noFiles},
		{[]string{"check", ""}, "yaml\nyml\n" + ext},
		{[]string{"check", "c.yaml", ""}, noFiles},
		{[]string{"resolve", "latest", "--unknown", ""}, "resend\nkeep\n" + noFiles},
		{[]string{"serve", "--role", ""}, "all\nintake\nsender\n" + noFiles},
		{[]string{"keys", "create", "--scope", ""}, "read\noperate\nadmin\n" + noFiles},
		{[]string{"limits", "latest", "--class", ""}, "transactional\nbulk\n" + noFiles},
		{[]string{"notifications", "--state", ""}, "waiting\npending\nsent\ndead\n" + noFiles},
		{[]string{"runs", "--log-level", ""}, "debug\ninfo\nwarn\nerror\n" + noFiles},
	} {
		if got := d.want(0, append([]string{"__complete"}, tt.args...)...).stdout; got != tt.want {
			t.Errorf("completion of %q: got %q, want %q", tt.args, got, tt.want)
		}
	}
	d.env["CAMPAIGND_SERVER"], d.env["CAMPAIGND_KEY"] = "http://"+freePort(t), "x"
	if got := d.want(0, "__complete", "report", "").stdout; got != noFiles {
		t.Errorf("completion with another campaignd that does not answer: got %q, want none of this machine's runs", got)
	}
	delete(d.env, "CAMPAIGND_SERVER")
	d.spoil("ALTER TABLE run RENAME COLUMN state TO gone; INSERT INTO suppression VALUES (1, 'all', 0, 0, '', '', '')")
	if got := d.want(0, "__complete", "report", "").stdout; got != noFiles {
		t.Errorf("completion with a damaged ledger: got %q, want %q", got, noFiles)
	}
	d.env["CAMPAIGND_LEDGER"] = "sqlite:" + d.folder("folder.db")
	if got := d.want(0, "__complete", "report", "").stdout; got != noFiles {
		t.Errorf("completion with a folder for a ledger: got %q, want %q", got, noFiles)
	}
}
