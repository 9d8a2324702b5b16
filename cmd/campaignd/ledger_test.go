package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"campaignd/internal/command"
	"campaignd/internal/sandbox"
)

// sendUntil runs the campaign until the sandbox has accepted n messages, and interrupts it.
func (d *fixture) sendUntil(n int64) {
	d.t.Helper()
	ctx, stop := context.WithTimeout(d.t.Context(), longWait)
	defer stop()
	ended := make(chan result, 1)
	go func() { ended <- d.runIn(ctx, "run", d.path("c.yaml")) }()
	for d.accepted() < n {
		select {
		case r := <-ended:
			d.t.Fatalf("run ended: %d %s", r.code, r.stderr)
		case <-time.After(5 * time.Millisecond):
		}
	}
	stop()
	if r := <-ended; r.code != command.ExitInterrupted {
		d.t.Fatalf("interrupted: exit code %d, want %d\n%s", r.code, command.ExitInterrupted, r.stderr)
	}
}

// messages returns the number of messages that the sandbox accepted for each recipient.
func (d *fixture) messages() map[string]int {
	d.t.Helper()
	resp, err := http.Get(d.env["CAMPAIGND_SERVICE_BASE_URL"] + "/sandbox/truth")
	if err != nil {
		d.t.Fatal(err)
	}
	defer resp.Body.Close()
	var truth struct{ Messages []sandbox.Message }
	if err := json.NewDecoder(resp.Body).Decode(&truth); err != nil {
		d.t.Fatal(err)
	}
	to := map[string]int{}
	for _, m := range truth.Messages {
		to[m.To]++
	}
	return to
}

// backup copies the ledger of a process that ended. restore puts the copy back.
func (d *fixture) backup() (restore func()) {
	d.t.Helper()
	copied, err := os.ReadFile(d.path("campaignd.db"))
	if err != nil {
		d.t.Fatal(err)
	}
	return func() {
		d.t.Helper()
		for _, side := range []string{"-wal", "-shm"} {
			if err := os.Remove(d.path("campaignd.db" + side)); err != nil && !os.IsNotExist(err) {
				d.t.Fatal(err)
			}
		}
		d.write("campaignd.db", string(copied))
	}
}

// quarantinedFacts is the answer of ledger quarantine in JSON.
type quarantinedFacts struct {
	WentBack bool  `json:"went_back"`
	Done     bool  `json:"done"`
	Doubts   int64 `json:"put_in_doubt"`
	Ahead    int64
	Since    time.Time
	Runs     []struct {
		Run, State, Reason string
		InDoubt            int64 `json:"in_doubt"`
		Queued             int64
	}
}

func (d *fixture) quarantine(args ...string) (q quarantinedFacts) {
	d.t.Helper()
	r := d.want(0, append([]string{"ledger", "quarantine", "-o", "json"}, args...)...)
	if err := json.Unmarshal([]byte(r.stdout), &q); err != nil {
		d.t.Fatal(err)
	}
	return q
}

// refused wants that a command refuses the restored ledger in one line with the remedy.
func (d *fixture) refused(args ...string) {
	d.t.Helper()
	r := d.want(1, args...)
	wantIn(d.t, strings.Join(args, " ")+" over a restored ledger", r.stderr, "went back in time", "run `campaignd ledger quarantine`")
	if n := strings.Count(r.stderr, "\n"); n != 1 {
		d.t.Errorf("campaignd %s over a restored ledger: got %d lines, want 1:\n%s", strings.Join(args, " "), n, r.stderr)
	}
}

// The operator restores an old copy of the ledger. A recipient who was sent to after the copy was
// made is not sent to again, and has an outcome.
func TestARestoredLedgerSendsNobodyTwice(t *testing.T) {
	t.Parallel()
	const rows = 150
	d := newFixture(t, nil)
	d.env["CAMPAIGND_NUMBERS"] = "{conn_1: {rate: 40}}" // paced at 34.2 a second
	d.env["CAMPAIGND_SENDING_REPEATS"] = "[100ms]"
	d.write("list.csv", listOf(rows))
	d.write("c.yaml", campaignFile+"policies: {doubt_window: 1s}\n")
	d.sendUntil(10)
	restore := d.backup()
	d.sendUntil(40)
	restore()
	sent := d.accepted()

	d.refused("run", d.path("c.yaml"))
	d.refused("serve")
	wantIn(t, "a dry run", d.want(0, "ledger", "quarantine", "--dry-run", "--lost", "3s").stdout,
		"would be put in doubt", "Nothing was changed")
	d.refused("run", d.path("c.yaml"))

	q := d.quarantine("--lost", "3s")
	if !q.WentBack || !q.Done || q.Ahead != 103 || q.Doubts < 103 || len(q.Runs) != 1 {
		t.Fatalf("quarantine = %+v, want it done, for one run, with 103 or more in doubt", q)
	}
	if r := q.Runs[0]; r.State != "paused" || r.Reason != "ledger" || r.InDoubt != q.Doubts {
		t.Fatalf("quarantined run = %+v, want it paused by the ledger, with %d in doubt", r, q.Doubts)
	}
	if r := d.report("latest"); r.Totals["in_doubt"] != q.Doubts || r.Totals["queued"] != q.Runs[0].Queued || r.Rows != rows {
		t.Errorf("got the report %+v, want %d rows, with the counts of %+v", r, rows, q)
	}
	d.want(0, "audit", "latest")
	wantIn(t, "a second quarantine", d.want(0, "ledger", "quarantine").stdout, "did not go back in time: nothing is done")
	wantIn(t, "run before its resume", d.want(3, "run", d.path("c.yaml"), "--settle", "1s").stderr,
		"is paused (ledger)", "campaignd resume orders-1")
	wantIn(t, "why", d.want(0, "why", "latest").stdout, "paused (ledger): it went back in time", "replay lost webhooks first")
	if n := d.accepted(); n != sent {
		t.Fatalf("%d messages are accepted, want %d: none is sent while the run is paused", n, sent)
	}

	stop := d.serving("--role", "intake")
	resp, err := http.Post(d.env["CAMPAIGND_SERVICE_BASE_URL"]+"/sandbox/replay", "application/json", bytes.NewBufferString(`{"all": true}`))
	if err != nil {
		t.Fatal(err)
	}
	if err := resp.Body.Close(); err != nil {
		t.Error(err)
	}
	proven := func(r reportFacts) int64 {
		return r.Totals["accepted"] + r.Totals["sent"] + r.Totals["delivered"] + r.Totals["read"]
	}
	d.eventually("the replayed webhooks prove what was sent", func() bool { return proven(d.report("latest")) == sent })
	stop()
	d.want(0, "resume", "latest")
	d.eventually("the run ends", func() bool {
		d.run("run", d.path("c.yaml"), "--settle", "2s")
		return d.report("latest").Run.State == "finished"
	})
	r := d.report("latest")
	if accepted := d.accepted(); proven(r) != accepted || r.Totals["unknown"] != rows-accepted {
		t.Errorf("got totals %v, want %d proven and %d unknown", r.Totals, accepted, rows-accepted)
	}
	// The service posted old events again, and nobody has asked it for those of the lost time.
	since := q.Since.Format(time.RFC3339)
	wantIn(t, "resend before the replay", d.want(1, "resolve", "latest", "--unknown", "resend").stderr,
		"events since "+since+" were lost and not replayed: `campaignd webhooks replay --since "+since+"`")
	stop = d.serving("--role", "intake")
	d.want(0, "webhooks", "replay", "--since", "3s")
	d.want(1, "resolve", "latest", "--unknown", "resend")
	d.want(0, "webhooks", "replay", "--since", since)
	d.eventually("the lost events have come", func() bool { return d.run("resolve", "latest", "--unknown", "resend").code == 0 })
	stop()
	d.serveUntil(func() bool { return d.accepted() == rows })
	messages := d.messages()
	if int64(len(messages)) != d.accepted() {
		t.Errorf("%d recipients got %d messages, want one each", len(messages), d.accepted())
	}
	for to, n := range messages {
		if n != 1 {
			t.Errorf("%s got %d messages, want 1", to, n)
		}
	}
	d.want(0, "audit", "latest")
}

// The operator decides without the events that prove who got the message. The log of actions keeps
// that.
func TestSendingWithoutTheReplayIsStated(t *testing.T) {
	t.Parallel()
	d := newFixture(t, nil)
	d.env["CAMPAIGND_SENDING_REPEATS"] = "[100ms]"
	d.env["CAMPAIGND_NUMBERS"] = "{conn_1: {rate: 40}}"
	d.write("list.csv", listOf(100))
	d.write("c.yaml", campaignFile+"policies: {doubt_window: 1s}\n")
	d.sendUntil(5)
	d.want(0, "ledger", "quarantine", "--force", "--ahead", "3", "--lost", "2s")
	d.want(0, "resume", "latest")
	d.eventually("the run ends", func() bool {
		d.run("run", d.path("c.yaml"), "--settle", "1s")
		return d.report("latest").Run.State == "finished"
	})
	wantIn(t, "resolve", d.run("resolve", "orders-1").stderr, "have not arrived since: `campaignd webhooks replay --since 2")
	for _, again := range [][]string{{"resolve", "orders-1", "--unknown", "resend"}, {"follow-up", "orders-1", "--where", "unknown"},
		{"follow-up", "orders-1", "--where", "unknown=restored"}} {
		wantIn(t, strings.Join(again, " "), d.want(1, again...).stderr, "were lost and not replayed", "--not-replayed")
	}
	for _, none := range [][]string{{}, {"--unknown", "keep"}} {
		none = append([]string{"resolve", "orders-1", "--not-replayed"}, none...)
		wantIn(t, strings.Join(none, " "), d.want(2, none...).stderr, "--not-replayed needs --unknown resend")
	}
	d.want(0, "resolve", "orders-1", "--unknown", "resend", "--not-replayed")
	wantIn(t, "actions", d.want(0, "actions").stdout, "unknown; not replayed", "quarantine", "lost 2s since 2")
}

func TestACopiedLedgerIsAcceptedAsItIs(t *testing.T) {
	t.Parallel()
	d := newFixture(t, nil)
	d.want(0, "run", d.path("c.yaml"), "--settle", "1m")
	d.want(0, "run", d.path("c.yaml"))
	if err := os.Remove(d.path("campaignd.db.stamp")); err != nil {
		t.Fatal(err)
	}
	d.refused("run", d.path("c.yaml"))
	wantIn(t, "quarantine --lost 0s", d.want(0, "ledger", "quarantine", "--lost", "0s").stdout,
		"no delivery can be in doubt", "No run was paused")
	d.want(0, "run", d.path("c.yaml"))
	if d.accepted() != 40 {
		t.Errorf("%d accepted, want 40", d.accepted())
	}
}

func TestADryRunOfAQuarantineTellsWhatWouldBeDone(t *testing.T) {
	t.Parallel()
	d := newFixture(t, nil)
	d.want(0, "run", d.path("c.yaml"), "--settle", "0s")
	wantIn(t, "--dry-run", d.want(0, "ledger", "quarantine", "--dry-run").stdout,
		"did not go back in time: nothing would be done (--force quarantines it all the same)\n")
	wantIn(t, "--dry-run --force", d.want(0, "ledger", "quarantine", "--dry-run", "--force").stdout,
		" would be quarantined although it does not seem to have gone back in time; its newest record is of 2")
	wantIn(t, "quarantine", d.want(0, "ledger", "quarantine").stdout, "nothing is done")
}

func TestQuarantineNamesWhatPreventsIt(t *testing.T) {
	t.Parallel()
	d := newFixture(t, nil)
	wantIn(t, "without a ledger", d.want(2, "ledger", "quarantine").stderr, "there is no ledger")
	wantIn(t, "a negative time", d.want(2, "ledger", "quarantine", "--lost", "-1s").stderr, "--lost")
	wantIn(t, "a negative number", d.want(2, "ledger", "quarantine", "--ahead", "-1").stderr, "--ahead")
	stop := d.serving()
	wantIn(t, "beside a sender", d.want(1, "ledger", "quarantine", "--force").stderr, "in use by another campaignd", "stop it first")
	stop()
	d.want(0, "ledger", "quarantine", "--force", "--ahead", "3")
}

func TestMigrateMakesALedgerAndLeavesItAsItIs(t *testing.T) {
	d := newFixture(t, nil)
	for range 2 {
		r := d.want(command.ExitDone, "ledger", "migrate")
		if want := "campaignd.db is up to date\n"; !strings.HasSuffix(r.stdout, want) {
			t.Errorf("got %q, want %q at its end", r.stdout, want)
		}
	}
}

// A relative path of the ledger counts from the working directory: in the wrong folder nobody is
// known, so the path of a new ledger is told before and while it is made.
func TestANewLedgerIsToldWithItsPath(t *testing.T) {
	t.Parallel()
	d := newFixture(t, nil)
	path := d.path("campaignd.db")
	wantIn(t, "check", d.want(0, "check", d.path("c.yaml")).stdout,
		"launch: `run` launches a new run in a new ledger, ", path, "which knows of no earlier run")
	first := d.want(0, "run", d.path("c.yaml"), "--settle", "10s").stderr
	wantIn(t, "the first run", first, "the ledger "+path+" is new: it knows of no earlier run\n")
	if again := d.want(0, "run", d.path("c.yaml"), "--settle", "10s").stderr; strings.Contains(again, "is new") {
		t.Errorf("the second run: got %q, want nothing of a new ledger", again)
	}
}

// A ledger that is gone, empty or copied does not know whom `run` sent to: `check` says what `run`
// would say.
func TestACheckRefusesALedgerAsARunDoes(t *testing.T) {
	t.Parallel()
	d := newFixture(t, nil)
	d.want(0, "run", d.path("c.yaml"), "--settle", "10s")
	path := d.path("campaignd.db")
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name    string
		replace func() error
		want    string
	}{
		{"copied", func() error { return errors.Join(os.Remove(path), os.WriteFile(path, whole, 0o600)) }, "it is a copy"},
		{"empty", func() error { return os.Truncate(path, 0) }, "this file is new"},
		{"gone", func() error { return os.Remove(path) }, "is gone"},
	} {
		if err := tt.replace(); err != nil {
			t.Fatal(err)
		}
		for _, command := range []string{"check", "run"} {
			if got := d.want(1, command, d.path("c.yaml")).stderr; !strings.Contains(got, tt.want) {
				t.Errorf("%s of a ledger that is %s: got %q, want %q", command, tt.name, got, tt.want)
			}
			_ = os.Remove(path + "-wal")
			_ = os.Remove(path + "-shm")
		}
	}
}

// A page that is damaged does not keep a ledger from opening: the doctor reads the whole file.
func TestTheDoctorFindsADamagedPage(t *testing.T) {
	t.Parallel()
	d := newFixture(t, nil)
	d.want(0, "run", d.path("c.yaml"), "--settle", "10s")
	wantIn(t, "a whole file", d.run("doctor").stdout, "ok      ledger")
	whole, err := os.ReadFile(d.path("campaignd.db"))
	if err != nil {
		t.Fatal(err)
	}
	// The damage is in a page that opening the ledger does not read; which one that is depends on the
	// schema.
	var got result
	for last, page := len(whole)/4096, 1; page < 30 && !strings.Contains(got.stdout, "btreeInitPage"); page++ {
		damaged := bytes.Clone(whole)
		copy(damaged[(last-page)*4096:], bytes.Repeat([]byte{0xa5}, 4096))
		f, err := os.OpenFile(d.path("campaignd.db"), os.O_RDWR, 0)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.WriteAt(damaged, 0); err != nil {
			t.Fatal(err)
		}
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
		got = d.run("doctor")
	}
	if got.code != 1 {
		t.Errorf("doctor of a damaged file: got exit code %d, want 1", got.code)
	}
	wantIn(t, "a damaged page", got.stdout, "fail    ledger", "the file is damaged", "btreeInitPage", "Backup and restore")
}
