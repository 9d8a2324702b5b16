package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// folder makes a folder instead of a file.
func (d *fixture) folder(name string) string {
	d.t.Helper()
	if err := os.Mkdir(d.path(name), 0o700); err != nil {
		d.t.Fatal(err)
	}
	return d.path(name)
}

// oneLineOf wants the exit code, nothing on standard output, and one line that contains each of
// names on standard error.
func (d *fixture) oneLineOf(code int, names []string, args ...string) {
	d.t.Helper()
	r := d.run(args...)
	ok := r.code == code && r.stdout == "" && strings.HasPrefix(r.stderr, "campaignd: ") && strings.Count(r.stderr, "\n") == 1
	for _, name := range names {
		ok = ok && strings.Contains(r.stderr, name)
	}
	if !ok {
		d.t.Errorf("campaignd %s: got %d, standard output %.80q, standard error %q, want %d and one line with %q",
			strings.Join(args, " "), r.code, r.stdout, r.stderr, code, names)
	}
}

func TestALedgerThatCannotBeOpenedIsOneLine(t *testing.T) {
	t.Parallel()
	d := newFixture(t, nil)
	c, list := d.path("c.yaml"), d.write("stop.csv", "to\n+2348031234567\n")
	looks := [][]string{
		{"runs"}, {"report", "1"}, {"audit", "1"}, {"why", "1"}, {"pause", "1"}, {"resume", "1"}, {"cancel", "1"}, {"approve", "1"},
		{"resolve", "1"},
		{"follow-up", "1", "--where", "failed"}, {"ledger", "quarantine"}, {"check", c}, {"test", c, "--to", "+2348031234567"},
		{"suppressions", "remove", "+2348031234567"}, {"suppressions", "export"},
	}
	makes := [][]string{
		{"run", c}, {"serve"}, {"suppressions", "add", "+2348031234567"}, {"suppressions", "import", list},
	}
	noise := d.write("noise.db", strings.Repeat("this is no database. ", 100))
	for _, ledger := range []string{d.folder("folder.db"), noise} {
		d.env["CAMPAIGND_LEDGER"] = "sqlite:" + ledger
		for _, args := range append(looks, makes...) {
			d.oneLineOf(1, []string{ledger}, args...)
		}
	}
	d.env["CAMPAIGND_LEDGER"] = "sqlite:" + d.path("none/c.db")
	for _, args := range makes {
		d.oneLineOf(1, []string{d.path("none/c.db")}, args...)
	}
	d.env["CAMPAIGND_REPLICAS"], d.env["CAMPAIGND_LEDGER"] = "1", "postgres://u:geheim@127.0.0.1:1/c?connect_timeout=1"
	for _, args := range [][]string{{"runs"}, {"check", c}, {"ledger", "quarantine"}, {"suppressions", "export"}} {
		d.oneLineOf(1, []string{"127.0.0.1:1"}, args...)
	}
}

// A configuration that cannot be read is invalid input for every command that loads one.
func TestAConfigurationThatCannotBeReadIsExitTwo(t *testing.T) {
	t.Parallel()
	d := newFixture(t, nil)
	c := d.path("c.yaml")
	none, folder, faulty := d.path("none.yaml"), d.folder("folder.yaml"), d.write("faulty.yaml", "ledgr: x\n")
	for _, args := range [][]string{
		{"run", c}, {"serve"}, {"check", c}, {"preview", c}, {"test", c, "--to", "+2348031234567"},
		{"runs"}, {"report", "1"}, {"audit", "1"}, {"why", "1"}, {"schedule"},
		{"pause", "1"}, {"resume", "1"}, {"cancel", "1"}, {"approve", "1"}, {"resolve", "1"}, {"follow-up", "1", "--where", "failed"},
		{"sandbox"}, {"ledger", "quarantine"}, {"config", "show"}, {"suppressions", "add", "+2348031234567"},
		{"suppressions", "remove", "+2348031234567"}, {"suppressions", "export"}, {"suppressions", "import", c},
	} {
		for _, file := range []string{none, folder, faulty} {
			d.oneLineOf(2, []string{file}, append(args, "--config", file)...)
		}
		d.oneLineOf(2, []string{"--log-level", "loud"}, append(args, "--log-level", "loud")...)
	}
	d.oneLineOf(2, []string{"--log-level", "loud"}, "demo", "--log-level", "loud")
	d.env["CAMPAIGND_SERVICE_API_KEY_FILE"] = d.path("none.key")
	delete(d.env, "CAMPAIGND_SERVICE_API_KEY")
	d.oneLineOf(2, []string{"CAMPAIGND_SERVICE_API_KEY_FILE", d.path("none.key")}, "run", c)
}

func TestAFileThatCannotBeReadOrWrittenIsNamed(t *testing.T) {
	t.Parallel()
	d := newFixture(t, nil)
	c, folder, none, under := d.path("c.yaml"), d.folder("folder"), d.path("none"), d.path("list.csv/x")
	faulty := d.write("faulty.yaml", "nme: x\n")
	d.want(0, "ledger", "migrate") // makes the ledger
	for _, command := range []string{"run", "check", "preview", "test"} {
		to := []string{}
		if command == "test" {
			to = []string{"--to", "+2348031234567"}
		}
		d.oneLineOf(2, []string{none}, append([]string{command, none}, to...)...)
		d.oneLineOf(2, []string{folder}, append([]string{command, folder}, to...)...)
		r := d.run(append([]string{command, faulty}, to...)...)
		if r.code != 2 || r.stdout != "" || !strings.Contains(r.stderr, faulty+":1:1: ") {
			t.Errorf("%s of a faulty file: got %d, %q and %q, want 2, nothing and the place of the fault", command, r.code, r.stdout, r.stderr)
		}
		for _, list := range []string{none, folder} {
			r := d.run(append([]string{command, c, "--recipients", list}, to...)...)
			printed, named := r.stdout != "", strings.HasPrefix(r.stderr, "campaignd: "+list+": ") && strings.Count(r.stderr, "\n") == 1
			if r.code != 2 || printed != (command == "check") || !named {
				t.Errorf("%s of the list %s: got %d, %q and %q, want 2 and one line that names it", command, list, r.code, r.stdout, r.stderr)
			}
		}
	}
	d.oneLineOf(2, []string{"--rejects", none, "name a file in a folder that exists"}, "check", c, "--rejects", filepath.Join(none, "r.csv"))
	d.oneLineOf(1, []string{"--rejects", folder}, "check", c, "--rejects", folder)
	d.oneLineOf(2, []string{none}, "suppressions", "import", none)
	d.oneLineOf(2, []string{folder}, "suppressions", "import", folder)
	d.oneLineOf(2, []string{"name a file in a folder that exists"}, "suppressions", "export", filepath.Join(none, "s.csv"))
	d.oneLineOf(1, []string{under}, "suppressions", "export", under)
	d.oneLineOf(2, []string{folder, "exists"}, "suppressions", "export", folder)
	d.oneLineOf(2, []string{none}, "sandbox", "--scenario", none)
	d.oneLineOf(2, []string{"faulty.yaml"}, "sandbox", "--scenario", faulty)
	d.oneLineOf(1, []string{"demo files", folder}, "demo", "--dir", d.demoTaken(folder))
	d.oneLineOf(1, []string{"--addr"}, "sandbox", "--addr", strings.TrimPrefix(d.env["CAMPAIGND_SERVICE_BASE_URL"], "http://"))
	d.env["CAMPAIGND_LISTEN_PUBLIC"] = strings.TrimPrefix(d.env["CAMPAIGND_SERVICE_BASE_URL"], "http://")
	d.oneLineOf(1, []string{"listen.public"}, "serve")
	d.oneLineOf(1, []string{"listen.public"}, "run", c)
	d.env["CAMPAIGND_LISTEN_ADMIN"] = d.env["CAMPAIGND_LISTEN_PUBLIC"]
	d.oneLineOf(1, []string{"listen.admin"}, "serve", "--role", "sender")
}

// demoTaken writes one of the demo's files into folder and returns folder.
func (d *fixture) demoTaken(folder string) string {
	d.t.Helper()
	d.write(filepath.Join(filepath.Base(folder), "list.csv"), "")
	return folder
}

func TestTimesOfRetriesArePositiveDurations(t *testing.T) {
	for text, want := range map[string][]time.Duration{
		"1s": {time.Second}, "1s,5m": {time.Second, 5 * time.Minute}, "1ns": {1}, "0s": nil, "-1s": nil, "x": nil, "1s,0s": nil,
	} {
		got, err := durations(strings.Split(text, ","))
		if (err == nil) != (want != nil) || !slices.Equal(got, want) {
			t.Errorf("durations(%s) = %v and %v, want %v", text, got, err, want)
		}
	}
}
