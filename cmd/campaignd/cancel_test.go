package main

import (
	"encoding/json"
	"errors"
	"os"
	"strings"
	"testing"

	"campaignd/internal/command"
	"campaignd/internal/daemon"
	"campaignd/internal/ledger"
	"campaignd/internal/ledger/sqlite"
)

// cancel only records its request for a run that another process may be sending. That process ends
// the run.
func TestCancelLeavesTheEndToTheSender(t *testing.T) {
	t.Parallel()
	d := newFixture(t, nil)
	d.want(0, "run", d.path("c.yaml"), "--settle", "1m")
	d.spoil("UPDATE run SET state = 'paused', reason = 'operator', ended_at = 0")
	sender, err := sqlite.Open(t.Context(), d.path("campaignd.db"), ledger.Options{Sender: true})
	if err != nil {
		t.Fatal(err)
	}
	r := d.want(0, "cancel", "latest")
	if !strings.Contains(r.stdout, "orders-1") || strings.Contains(r.stdout, "orders-1 is cancelled") || r.stderr != "" {
		t.Errorf("beside a sender: got %q and %q, want one line without the end of the run", r.stdout, r.stderr)
	}
	if err := sender.Close(); err != nil {
		t.Fatal(err)
	}
	if got := d.report("latest").Run.State; got != "ready" {
		t.Errorf("state of the run: got %s, want ready until its sender ends it", got)
	}
	const want = "orders-1 is cancelled; `campaignd report orders-1` tells who got it\n"
	if r := d.want(0, "cancel", "latest"); r.stdout != want {
		t.Errorf("without a sender: got %q, want %q", r.stdout, want)
	}
}

// follow-up and resolve print their results as JSON for scripts.
func TestAFollowUpIsPrintedAsJSON(t *testing.T) {
	t.Parallel()
	d := newFixture(t, nil)
	d.want(0, "run", d.path("c.yaml"), "--settle", "1m")
	d.spoil(`UPDATE outcome SET state = 4 /* unknown */, rank = 0, sent_at = 0, delivered_at = 0, read_at = 0, mh = 0, message_id = ''`)
	type facts struct {
		Run  struct{ ID, State string }
		Rows int64
	}
	var f facts
	var r struct {
		Unknown  int64
		FollowUp facts `json:"follow_up"`
	}
	dry := d.want(0, "follow-up", "latest", "--where", "unknown", "--dry-run").stdout
	if want := "a dry run: 40 rows would be sent to again; nothing was changed\n"; dry != want || len(d.runs()) != 1 {
		t.Errorf("a dry run: got %q and %d runs, want %q and one run", dry, len(d.runs()), want)
	}
	err := json.Unmarshal([]byte(d.want(0, "resolve", "latest", "--unknown", "resend", "-o", "json").stdout), &r)
	if err != nil || r.FollowUp.Run.ID != "orders-2" || r.FollowUp.Rows != 40 {
		t.Errorf("resolve: got %+v (%v), want 40 rows in orders-2", r, err)
	}
	err = json.Unmarshal([]byte(d.want(0, "follow-up", "orders-1", "--where", "unknown", "-o", "json").stdout), &f)
	if err != nil || f.Run.ID != "orders-2" || f.Rows != 40 || f.Run.State != "ready" {
		t.Errorf("follow-up: got %+v (%v), want the same run again, ready", f, err)
	}
}

// Without a secret no event can be verified. A run warns of that and sends.
func TestARunWithoutASecretWarnsOfMissingEvents(t *testing.T) {
	t.Parallel()
	d := newFixture(t, nil)
	d.env["CAMPAIGND_WEBHOOKS_SECRETS"] = ""
	r := d.want(0, "run", d.path("c.yaml"), "--settle", "0s")
	const want = "warning: webhooks.secrets is empty, so no event of the service could be verified: set CAMPAIGND_WEBHOOKS_SECRETS"
	if !strings.Contains(r.stderr, want) || !strings.Contains(r.stderr, "warning: statuses and opt-outs are not seen\n") {
		t.Errorf("got %q, want %q", r.stderr, want)
	}
	if n := d.accepted(); n != 40 {
		t.Errorf("accepted by the service: %d, want 40", n)
	}
}

// A check that cannot read its list leaves a rejects file of an earlier check as it was.
func TestRejectsAreKeptWhenTheListCannotBeRead(t *testing.T) {
	t.Parallel()
	d := newFixture(t, nil)
	rejects := d.write("rejects.csv", "of the day before\n")
	d.write("empty.csv", "")
	d.write("headless.csv", "phone,first_name\n")
	for _, list := range []string{"absent.csv", "empty.csv", "headless.csv"} {
		d.want(2, "check", d.path("c.yaml"), "--recipients", d.path(list), "--rejects", rejects)
		if got, err := os.ReadFile(rejects); err != nil || string(got) != "of the day before\n" {
			t.Errorf("%s: got the rejects %q (%v), want those of the day before", list, got, err)
		}
	}
}

// A command that has only subcommands lists them.
func TestACommandOfCommandsPrintsItsHelp(t *testing.T) {
	t.Parallel()
	d := &fixture{t: t, dir: t.TempDir(), env: map[string]string{}}
	for _, command := range []string{"config", "ledger", "suppressions", "completion"} {
		bare, help := d.want(0, command), d.want(0, command, "--help")
		if bare != help || !strings.Contains(bare.stdout, "Usage:") {
			t.Errorf("campaignd %s: got %+v, want its help", command, bare)
		}
	}
}

// Printing the result of a quarantine returns an error when one of its writes fails.
func TestAQuarantineWhoseOutputIsCutIsAnError(t *testing.T) {
	run := daemon.QuarantinedRun{Run: "spring-2", State: "paused", Reason: "ledger", InDoubt: 3, Queued: 4}
	q := daemon.Quarantined{WentBack: true, Done: true, Ahead: 3, Runs: []daemon.QuarantinedRun{run}}
	for n := 0; ; n++ {
		disk := &fills{left: n}
		err := (&program{Program: command.Program{Stdout: disk}}).writeQuarantined(q, daemon.QuarantineOptions{Lost: 1})
		if disk.left >= 0 {
			if err != nil || n < 5 {
				t.Errorf("got %v after %d writes, want no error after some", err, n)
			}
			return
		}
		if !errors.Is(err, errFull) {
			t.Errorf("got %v when write %d failed, want %v", err, n+1, errFull)
		}
	}
}
