package main

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"campaignd/internal/sandbox"
)

// sendUntil runs the campaign until the sandbox has accepted n messages, and interrupts it.
func (d *desk) sendUntil(n int64) {
	d.t.Helper()
	ctx, stop := context.WithTimeout(d.t.Context(), 30*time.Second)
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
	if r := <-ended; r.code != exitInterrupted {
		d.t.Fatalf("interrupted: exit code %d\n%s", r.code, r.stderr)
	}
}

// messages is what the sandbox accepted, counted by recipient.
func (d *desk) messages() map[string]int {
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

// serving runs serve until the returned function is called.
func (d *desk) serving(args ...string) (stop func()) {
	d.t.Helper()
	ctx, cancel := context.WithTimeout(d.t.Context(), time.Minute)
	ended := make(chan result, 1)
	go func() { ended <- d.runIn(ctx, append([]string{"serve"}, args...)...) }()
	for up := false; !up; {
		select {
		case r := <-ended:
			cancel()
			d.t.Fatalf("serve ended: %d %s", r.code, r.stderr)
		case <-time.After(10 * time.Millisecond):
			if resp, err := http.Get("http://" + d.public + "/healthz"); err == nil {
				up = true
				if err := resp.Body.Close(); err != nil {
					d.t.Error(err)
				}
			}
		}
	}
	return func() {
		cancel()
		if r := <-ended; r.code != 0 {
			d.t.Errorf("serve: exit code %d after its stop: %s", r.code, r.stderr)
		}
	}
}

// eventually waits until ok, or fails the test.
func (d *desk) eventually(what string, ok func() bool) {
	d.t.Helper()
	for end := time.Now().Add(20 * time.Second); !ok(); time.Sleep(50 * time.Millisecond) {
		if time.Now().After(end) {
			d.t.Fatalf("%s: not within 20 s", what)
		}
	}
}

// backup copies the ledger of a process that ended, and returns what puts the copy back.
func (d *desk) backup() (restore func()) {
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

func (d *desk) quarantine(args ...string) (q quarantinedFacts) {
	d.t.Helper()
	if err := json.Unmarshal([]byte(d.want(0, append([]string{"ledger", "quarantine", "-o", "json"}, args...)...).stdout), &q); err != nil {
		d.t.Fatal(err)
	}
	return q
}

// refused checks that a command refuses the ledger in one line with the remedy.
func (d *desk) refused(args ...string) {
	d.t.Helper()
	r := d.want(1, args...)
	if !strings.Contains(r.stderr, "went back in time") || !strings.Contains(r.stderr, "run `campaignd ledger quarantine`") || strings.Count(r.stderr, "\n") != 1 {
		d.t.Errorf("campaignd %s over a restored ledger: %s", strings.Join(args, " "), r.stderr)
	}
}

// An operator puts last night's copy back. Whoever was sent to since is not sent to again, and is accounted for.
func TestARestoredLedgerSendsNobodyTwice(t *testing.T) {
	t.Parallel()
	const rows = 150
	d := newDesk(t, nil)
	d.env["CAMPAIGND_NUMBERS"] = "{conn_1: {rate: 40}}" // paced at 34.2 a second
	d.write("list.csv", listOf(rows))
	d.write("c.yaml", campaignFile+"policies: {doubt_window: 1s}\n")
	d.sendUntil(10)
	restore := d.backup()
	d.sendUntil(40)
	restore()
	sent := d.accepted()

	d.refused("run", d.path("c.yaml"))
	d.refused("serve")
	if r := d.want(0, "ledger", "quarantine", "--dry-run", "--lost", "3s"); !strings.Contains(r.stdout, "would be put in doubt") || !strings.Contains(r.stdout, "Nothing was changed") {
		t.Errorf("a dry run: %s", r.stdout)
	}
	d.refused("run", d.path("c.yaml"))

	q := d.quarantine("--lost", "3s")
	if !q.WentBack || !q.Done || q.Ahead != 103 || q.Doubts < 103 || len(q.Runs) != 1 || q.Runs[0].State != "paused" || q.Runs[0].Reason != "ledger" || q.Runs[0].InDoubt != q.Doubts {
		t.Fatalf("quarantine = %+v, want one run paused by the ledger, with 103 or more in doubt", q)
	}
	if r := d.report("latest"); r.Totals["in_doubt"] != q.Doubts || r.Totals["queued"] != q.Runs[0].Queued || r.Rows != rows {
		t.Errorf("report %+v after %+v", r, q)
	}
	d.want(0, "audit", "latest")
	if again := d.want(0, "ledger", "quarantine").stdout; !strings.Contains(again, "did not go back in time: nothing is done") {
		t.Errorf("a second time: %s", again)
	}
	if r := d.want(3, "run", d.path("c.yaml"), "--settle", "1s"); !strings.Contains(r.stderr, "is paused (ledger)") || !strings.Contains(r.stderr, "campaignd resume orders-1") {
		t.Errorf("run before its resume: %s", r.stderr)
	}
	if got := d.want(0, "why", "latest").stdout; !strings.Contains(got, "paused (ledger)") || !strings.Contains(got, "replayed") {
		t.Errorf("why: %s", got)
	}
	if d.accepted() != sent {
		t.Fatalf("%d were sent while it was paused", d.accepted()-sent)
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
		t.Errorf("%v, and the service accepted %d", r.Totals, accepted)
	}
	messages := d.messages()
	if int64(len(messages)) != d.accepted() {
		t.Errorf("%d recipients got %d messages", len(messages), d.accepted())
	}
	for to, n := range messages {
		if n != 1 {
			t.Errorf("%s got %d messages", to, n)
		}
	}
	d.want(0, "audit", "latest")
}

func TestACopiedLedgerIsAcceptedAsItIs(t *testing.T) {
	t.Parallel()
	d := newDesk(t, nil)
	d.want(0, "run", d.path("c.yaml"), "--settle", "10s")
	d.want(0, "run", d.path("c.yaml"))
	if err := os.Remove(d.path("campaignd.db.stamp")); err != nil {
		t.Fatal(err)
	}
	d.refused("run", d.path("c.yaml"))
	if r := d.want(0, "ledger", "quarantine", "--lost", "0s"); !strings.Contains(r.stdout, "no delivery can be in doubt") || !strings.Contains(r.stdout, "No run was paused") {
		t.Errorf("quarantine --lost 0s: got %s, want that nothing is in doubt and no run was paused", r.stdout)
	}
	d.want(0, "run", d.path("c.yaml"))
	if d.accepted() != 40 {
		t.Errorf("%d accepted, want 40", d.accepted())
	}
}

func TestADryRunOfAQuarantineTellsWhatWouldBeDone(t *testing.T) {
	t.Parallel()
	d := newDesk(t, nil)
	d.want(0, "run", d.path("c.yaml"), "--settle", "0s")
	if r := d.want(0, "ledger", "quarantine", "--dry-run"); !strings.HasSuffix(r.stdout, "did not go back in time: nothing would be done (--force quarantines it all the same)\n") {
		t.Errorf("--dry-run: %s", r.stdout)
	}
	if r := d.want(0, "ledger", "quarantine", "--dry-run", "--force"); !strings.Contains(r.stdout, " would be quarantined although it does not seem to have gone back in time; its newest record is of 2") {
		t.Errorf("--dry-run --force: %s", r.stdout)
	}
	if r := d.want(0, "ledger", "quarantine"); !strings.Contains(r.stdout, "nothing is done") {
		t.Errorf("quarantine: %s", r.stdout)
	}
}

func TestQuarantineSaysWhatStandsInItsWay(t *testing.T) {
	t.Parallel()
	d := newDesk(t, nil)
	if r := d.want(2, "ledger", "quarantine"); !strings.Contains(r.stderr, "there is no ledger") {
		t.Errorf("without a ledger: %s", r.stderr)
	}
	if r := d.want(2, "ledger", "quarantine", "--lost", "-1s"); !strings.Contains(r.stderr, "--lost") {
		t.Errorf("a negative time: %s", r.stderr)
	}
	if r := d.want(2, "ledger", "quarantine", "--ahead", "-1"); !strings.Contains(r.stderr, "--ahead") {
		t.Errorf("a negative number: %s", r.stderr)
	}
	stop := d.serving()
	if r := d.want(1, "ledger", "quarantine", "--force"); !strings.Contains(r.stderr, "in use by another campaignd") || !strings.Contains(r.stderr, "stop it first") {
		t.Errorf("beside a sender: %s", r.stderr)
	}
	stop()
	d.want(0, "ledger", "quarantine", "--force", "--ahead", "3")
}
