package main

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"strings"
	"testing"

	"campaignd/campaign"
	"campaignd/campaign/launch"
	"campaignd/internal/command"
	"campaignd/internal/daemon"
)

// Without a terminal, a thousand rows of each reason are listed and the others are counted.
func TestCheckListsAThousandBadRows(t *testing.T) {
	t.Parallel()
	d := newFixture(t, nil)
	var list strings.Builder
	list.WriteString(listOf(1))
	for i := range 1002 {
		fmt.Fprintf(&list, "080312%05d,X,A\n", i)
	}
	d.write("list.csv", list.String())
	var found launch.Preflight
	r := d.want(0, "check", d.path("c.yaml"), "-o", "json")
	if err := json.Unmarshal([]byte(r.stdout), &found); err != nil || len(found.Examples) != 1000 {
		t.Errorf("JSON: got %d rows (%v), want 1000", len(found.Examples), err)
	}
	text, more := d.want(0, "check", d.path("c.yaml")).stdout, "\nand 2 more: --rejects FILE writes those that a correction can help\n"
	if !strings.HasSuffix(text, more) {
		t.Errorf("a pipe: got an end of %q, want %q", text[max(0, len(text)-200):], more)
	}
}

// Only an interruption gets the text of an interruption.
func TestARunIsInterruptedOnlyByItsEndedContext(t *testing.T) {
	going := t.Context()
	ended, cancel := context.WithCancel(going)
	cancel()
	away := errors.New("disk full")
	for _, tt := range []struct {
		name string
		ctx  context.Context
		err  error
		code int
		want string
	}{
		{"interrupted", ended, fmt.Errorf("read: %w", context.Canceled), command.ExitInterrupted,
			"interrupted while the list was read; the same command goes on"},
		{"a failure while it is interrupted", ended, away, command.ExitFailed, "disk full"},
		{"an end without a signal", going, context.Canceled, command.ExitFailed, "context canceled"},
	} {
		err := beforeSending(tt.ctx, "the same command", tt.err)
		if code, _ := command.Classify(tt.ctx, err); fmt.Sprint(err) != tt.want || code != tt.code {
			t.Errorf("%s: got %v with exit code %d, want %s with %d", tt.name, err, code, tt.want, tt.code)
		}
	}
}

// The sandbox posts its events over http and https only.
func TestSandboxPostsToHttpAndHttpsOnly(t *testing.T) {
	t.Parallel()
	busy, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer busy.Close()
	d := &fixture{t: t, dir: t.TempDir(), env: map[string]string{}}
	for url, accepted := range map[string]bool{
		"http://127.0.0.1:1/x": true, "https://127.0.0.1:1/x": true,
		"ftp://127.0.0.1:1/x": false, "127.0.0.1:1/x": false, "http:///x": false, "//127.0.0.1:1/x": false,
	} {
		code, want := 2, "--webhook: "
		if accepted {
			code, want = 1, "--addr" // an accepted URL leaves the fault of --addr
		}
		if r := d.run("sandbox", "--webhook", url, "--addr", busy.Addr().String()); r.code != code || !strings.Contains(r.stderr, want) {
			t.Errorf("--webhook %s: got %d with %q, want %d with %q", url, r.code, r.stderr, code, want)
		}
	}
}

// drop removes tables from the ledger.
func (d *fixture) drop(tables ...string) {
	d.t.Helper()
	db, err := sql.Open("sqlite", d.path("campaignd.db"))
	if err != nil {
		d.t.Fatal(err)
	}
	defer db.Close()
	for _, table := range tables {
		if _, err := db.ExecContext(d.t.Context(), "DROP TABLE "+table); err != nil {
			d.t.Fatal(err)
		}
	}
}

// A test message is not sent while the suppression list cannot be read, because its number may be
// on the list.
func TestATestMessageNeedsTheSuppressionList(t *testing.T) {
	t.Parallel()
	d := newFixture(t, nil)
	d.want(0, "suppressions", "add", "+2348031234567")
	d.drop("suppression")
	r := d.run("test", d.path("c.yaml"), "--to", "+2348031234567")
	if r.code != 1 || r.stdout != "" || !strings.Contains(r.stderr, "no such table: suppression") {
		t.Errorf("got %+v, want exit code 1 and the name of the table", r)
	}
	if n := d.accepted(); n != 0 {
		t.Errorf("accepted by the service: %d, want 0", n)
	}
}

// The error of wrong arguments names the wanted ones, with an example of the command.
func TestWrongArgumentsAreNamedWithAnExample(t *testing.T) {
	t.Parallel()
	d := &fixture{t: t, dir: t.TempDir(), env: map[string]string{}}
	for want, commands := range map[string][]string{
		"want one campaign file; for example `campaignd %s spring.yaml`":     {"run", "check", "preview", "test"},
		"want one NUMBER or more; for example `campaignd %s +2348031234567`": {"suppressions add", "suppressions remove"},
		"want one FILE; for example `campaignd %s do-not-contact.csv`":       {"suppressions import"},
		"want one RUN or CONNECTION: a run as `campaignd runs` prints it, its number or latest, or a connection's id; " +
			"for example `campaignd %s latest`": {"why"},
		"want one RUN: an id as `campaignd runs` prints it, its number, or latest; for example `campaignd %s latest`": {
			"report", "audit", "history", "pause", "resume", "cancel", "approve", "resolve", "follow-up",
		},
	} {
		for _, command := range commands {
			d.says(2, "", "campaignd: "+fmt.Sprintf(want, command)+"\n", strings.Fields(command)...)
		}
	}
	for _, command := range []string{"serve", "runs", "schedule", "ledger quarantine", "config show", "version", "demo", "sandbox"} {
		d.says(2, "", "campaignd: `campaignd "+command+"` takes no argument, and \"x\" is one\n", append(strings.Fields(command), "x")...)
	}
	d.says(2, "", "campaignd: want one FILE or none; for example `campaignd suppressions export > suppressions.csv`\n",
		"suppressions", "export", "a", "b")
}

// The operator is asked for a second quarantine after an import only if deliveries ahead of the
// marks may have been sent.
func TestAnImportIsQuarantinedAgainIfAnythingWasSent(t *testing.T) {
	for ahead, want := range map[int64]bool{0: false, 1: true} {
		q := daemon.Quarantined{Done: true, Ahead: ahead, Runs: []daemon.QuarantinedRun{{Run: "spring-2", State: campaign.Importing}}}
		got := printed(t, func(p *program) error { return p.writeAfterQuarantine(q, 0) })
		if strings.Contains(got, "Its import ends in a pause") != want {
			t.Errorf("%d ahead: got %q, want the step of the import: %v", ahead, got, want)
		}
	}
}

// Fifty rows in doubt or unknown are listed. The others are counted, with the command that lists
// them all.
func TestResolveListsFiftyRows(t *testing.T) {
	t.Parallel()
	d := newFixture(t, nil)
	d.write("list.csv", listOf(52))
	d.want(0, "run", d.path("c.yaml"), "--settle", "1m")
	d.spoil("UPDATE outcome SET state = 4, rank = 0, sent_at = 0, delivered_at = 0, read_at = 0, mh = 0, message_id = ''")
	table := d.want(0, "resolve", "latest").stdout
	const more = "\nand 2 more: `campaignd report orders-1 --format csv` has them all\n"
	if n := strings.Count(table, "  unknown  "); n != 50 || !strings.Contains(table, more) {
		t.Errorf("got %d rows, want 50 and %q:\n%s", n, more, table)
	}
}
