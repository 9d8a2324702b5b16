package main

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"campaignd/internal/daemon"
	"campaignd/internal/ledger"
	"campaignd/internal/ledger/sqlite"
)

// A run that another process may be sending is marked as cancelled here, and ended there.
func TestCancelLeavesTheEndToTheSender(t *testing.T) {
	t.Parallel()
	d := newDesk(t, nil)
	d.want(0, "run", d.path("c.yaml"), "--settle", "10s")
	d.spoil("UPDATE run SET state = 'paused', reason = 'operator', ended_at = 0")
	sender, err := sqlite.Open(t.Context(), d.path("campaignd.db"), ledger.Options{Sender: true})
	if err != nil {
		t.Fatal(err)
	}
	r := d.want(0, "cancel", "latest")
	if !strings.Contains(r.stdout, "orders-1") || strings.Contains(r.stdout, "orders-1 is cancelled") || r.stderr != "" {
		t.Errorf("while another process sends: got %q and %q, want one line that leaves the end to it", r.stdout, r.stderr)
	}
	if err := sender.Close(); err != nil {
		t.Fatal(err)
	}
	if got := d.report("latest").Run.State; got != "ready" {
		t.Errorf("the run is %s, want ready: its sender ends it", got)
	}
	if r := d.want(0, "cancel", "latest"); r.stdout != "orders-1 is cancelled; `campaignd report orders-1` tells who got it\n" {
		t.Errorf("when nobody sends: got %q, want it cancelled", r.stdout)
	}
}

// Scripts read what follow-up and resolve did from JSON.
func TestAFollowUpIsToldAsJSON(t *testing.T) {
	t.Parallel()
	d := newDesk(t, nil)
	d.want(0, "run", d.path("c.yaml"), "--settle", "10s")
	d.spoil("UPDATE outcome SET state = 4, rank = 0, sent_at = 0, delivered_at = 0, read_at = 0, mh = 0, message_id = ''")
	type facts struct {
		Run  struct{ ID, State string }
		Rows int64
	}
	var f facts
	var r struct {
		Unknown  int64
		FollowUp facts `json:"follow_up"`
	}
	if err := json.Unmarshal([]byte(d.want(0, "resolve", "latest", "--unknown", "resend", "-o", "json").stdout), &r); err != nil || r.FollowUp.Run.ID != "orders-2" || r.FollowUp.Rows != 40 {
		t.Errorf("resolve: got %+v, %v, want 40 rows in orders-2", r, err)
	}
	if err := json.Unmarshal([]byte(d.want(0, "follow-up", "orders-1", "--where", "unknown", "-o", "json").stdout), &f); err != nil || f.Run.ID != "orders-2" || f.Rows != 40 || f.Run.State != "ready" {
		t.Errorf("follow-up: got %+v, %v, want the same run again, ready", f, err)
	}
}

// Without a secret no event can be verified: a run says so, and sends all the same.
func TestARunWithoutASecretSaysWhatItMisses(t *testing.T) {
	t.Parallel()
	d := newDesk(t, nil)
	d.env["CAMPAIGND_WEBHOOKS_SECRETS"] = ""
	r := d.want(0, "run", d.path("c.yaml"), "--settle", "0s")
	const want = "warning: webhooks.secrets is empty, so no event of the service could be verified: set CAMPAIGND_WEBHOOKS_SECRETS"
	if !strings.Contains(r.stderr, want) || !strings.Contains(r.stderr, "; statuses and opt-outs are not seen\n") {
		t.Errorf("got %q, want %q", r.stderr, want)
	}
	if n := d.accepted(); n != 40 {
		t.Errorf("accepted by the service: %d, want 40", n)
	}
}

// A check that cannot read its list leaves a rejects file of an earlier check as it was.
func TestRejectsAreKeptWhenTheListCannotBeRead(t *testing.T) {
	t.Parallel()
	d := newDesk(t, nil)
	rejects := d.write("rejects.csv", "of the day before\n")
	for _, list := range []string{"absent.csv", filepath.Base(d.write("empty.csv", "")), filepath.Base(d.write("headless.csv", "phone,first_name\n"))} {
		d.want(2, "check", d.path("c.yaml"), "--recipients", d.path(list), "--rejects", rejects)
		if got, err := os.ReadFile(rejects); err != nil || string(got) != "of the day before\n" {
			t.Errorf("%s: rejects are %q, %v, want them as they were", list, got, err)
		}
	}
}

// A command that only has subcommands prints what they are.
func TestACommandOfCommandsPrintsItsHelp(t *testing.T) {
	t.Parallel()
	d := &desk{t: t, dir: t.TempDir(), env: map[string]string{}}
	for _, command := range []string{"config", "ledger", "suppressions", "completion"} {
		bare, help := d.want(0, command), d.want(0, command, "--help")
		if bare != help || !strings.Contains(bare.stdout, "Usage:") {
			t.Errorf("campaignd %s: got %+v, want its help", command, bare)
		}
	}
}

// What a quarantine did is an error as soon as one write of it fails.
func TestAQuarantineThatIsCutOffIsAnError(t *testing.T) {
	run := daemon.QuarantinedRun{Run: "spring-2", State: "paused", Reason: "ledger", InDoubt: 3, Queued: 4}
	q := daemon.Quarantined{WentBack: true, Done: true, Ahead: 3, Runs: []daemon.QuarantinedRun{run}}
	for n := 0; ; n++ {
		disk := &fills{left: n}
		err := (&program{stdout: disk}).writeQuarantined(q, daemon.QuarantineOptions{Lost: 1})
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
