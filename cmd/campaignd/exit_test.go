package main

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"os"
	"strings"
	"testing"

	"campaignd/campaign"
	"campaignd/internal/command"
	"campaignd/internal/daemon"
	"campaignd/reporting"
)

// ended returns the result of a run of three rows with these totals.
func ended(state campaign.State, totals reporting.Totals) daemon.RunResult {
	return daemon.RunResult{Report: &reporting.Report{Run: reporting.RunFacts{ID: "orders-1", State: state}, Rows: 3, Totals: totals}}
}

func TestRunIsUnsureOfOpenAndUnknownRowsOnly(t *testing.T) {
	unsure := map[campaign.Status]bool{campaign.Queued: true, campaign.Sending: true, campaign.InDoubt: true, campaign.Unknown: true}
	for _, s := range campaign.Statuses {
		want := 0
		if unsure[s] {
			want = 3
		}
		p := &program{Program: command.Program{Stdout: &bytes.Buffer{}, Stderr: &bytes.Buffer{}}}
		err := p.finish(t.Context(), ended(campaign.Finished, reporting.Totals{s: 3}), "the same command", false)
		if code, _ := command.Classify(t.Context(), err); err != nil && code != want || err == nil && want != 0 {
			t.Errorf("3 rows %s: exit code %d (%v), want %d", s, code, err, want)
		}
	}
}

func TestRunSaysAtItsEndWhatToDo(t *testing.T) {
	paused := ended(campaign.Paused, reporting.Totals{campaign.Queued: 3})
	paused.Report.Run.Reason, paused.Report.Run.Detail = campaign.PausedByBreaker, "it is\x1b refused"
	before := ended(campaign.Finished, reporting.Totals{campaign.Read: 1, campaign.Unknown: 2})
	before.Ended = true
	interrupted, cancel := context.WithCancel(t.Context())
	cancel()
	const (
		had   = "campaignd: orders-1 had ended before, so nothing was sent; --new launches another run of this list\n"
		doubt = "campaignd: 2 rows are in doubt until a webhook proves them or their window (policies.doubt_window) is over: " +
			"give the same command again then, or leave orders-1 to `campaignd serve`\n"
		unknown = "campaignd: 2 rows may or may not have been sent: `campaignd resolve orders-1` shows them\n"
		breaker = "campaignd: orders-1 is paused (breaker): it is\uFFFD refused; `campaignd resume orders-1` resumes it\n"
		again   = "campaignd: interrupted; the same command goes on with orders-1\n"
		sent    = "campaignd: interrupted; orders-1 is finished, and nothing of it is left to send\n"
	)
	for _, tt := range []struct {
		name   string
		ctx    context.Context
		result daemon.RunResult
		code   int
		stderr string
	}{
		{"sent", t.Context(), ended(campaign.Finished, reporting.Totals{campaign.Read: 3}), 0, ""},
		{"in doubt", t.Context(), ended(campaign.Running, reporting.Totals{campaign.InDoubt: 2, campaign.Read: 1}), 3, doubt},
		{"one in doubt", t.Context(), ended(campaign.Running, reporting.Totals{campaign.InDoubt: 1}), 3,
			"campaignd: 1 row is in doubt until a webhook proves it or its window (policies.doubt_window) is over: " +
				"give the same command again then, or leave orders-1 to `campaignd serve`\n"},
		{"unknown", t.Context(), ended(campaign.Finished, reporting.Totals{campaign.Unknown: 2, campaign.Read: 1}), 3, unknown},
		{"both", t.Context(), ended(campaign.Running, reporting.Totals{campaign.InDoubt: 2, campaign.Unknown: 2}), 3, doubt + unknown},
		{"queued", t.Context(), ended(campaign.Running, reporting.Totals{campaign.Queued: 3}), 3, ""},
		{"paused", t.Context(), paused, 3, breaker},
		{"ended before", t.Context(), before, 3, had + unknown},
		{"interrupted", interrupted, paused, 130, again},
		{"interrupted when all was sent", interrupted, ended(campaign.Finished, reporting.Totals{campaign.Read: 3}), 130, sent},
	} {
		var stdout, stderr bytes.Buffer
		err := (&program{Program: command.Program{Stdout: &stdout, Stderr: &stderr}}).finish(tt.ctx, tt.result, "the same command", false)
		if code := command.Conclude(tt.ctx, err, &stderr, false); code != tt.code || stderr.String() != tt.stderr {
			t.Errorf("%s: got %d with\n%swant %d with\n%s", tt.name, code, stderr.String(), tt.code, tt.stderr)
		}
		if !strings.HasPrefix(stdout.String(), "orders-1  ") {
			t.Errorf("%s: standard output begins with %.30q, want the report", tt.name, stdout.String())
		}
	}
}

func TestAuditOfAFalseSumIsExitOne(t *testing.T) {
	t.Parallel()
	d := newFixture(t, nil)
	d.write("list.csv", listOf(3))
	d.want(0, "run", d.path("c.yaml"), "--settle", "1m")
	d.says(0, "orders-1: the sum balances: 3 rows = 3 read\n", "", "audit", "latest")
	if got := d.want(0, "audit", "latest", "-o", "json").stdout; !strings.Contains(got, `"balanced": true`) {
		t.Errorf("audit -o json: got %s, want it balanced", got)
	}
	d.spoil("DELETE FROM delivery WHERE row = 2")
	r := d.want(1, "audit", "latest")
	const head, row = "orders-1: the sum does not balance: 3 rows, ", "\n  row 2: this row has no delivery\n"
	if !strings.HasPrefix(r.stdout, head) || !strings.Contains(r.stdout, row) || r.stderr != "" {
		t.Errorf("audit: got %q and standard error %q, want %q with %q and none", r.stdout, r.stderr, head, row)
	}
	r = d.want(1, "audit", "latest", "-o", "json")
	if !strings.Contains(r.stdout, `"balanced": false`) || r.stderr != "" {
		t.Errorf("audit -o json: got %q and standard error %q, want it not balanced", r.stdout, r.stderr)
	}
}

// A ledger that cannot be read is a failure, exit code 1, and no wrong usage. Scripts try again on
// 1.
func TestAnUnreadableLedgerIsExitOne(t *testing.T) {
	t.Parallel()
	d := newFixture(t, nil)
	d.want(0, "ledger", "migrate") // makes the ledger
	d.write("stop.csv", "to\n+2348031234567\n")
	d.spoil("ALTER TABLE run RENAME COLUMN state TO gone; INSERT INTO suppression VALUES (1, 'all', 0, 0, '', '', '')")
	d.spoil("DELETE FROM suppression")
	for _, args := range [][]string{
		{"report", "latest"}, {"report", "1"}, {"audit", "latest"}, {"why", "latest"}, {"history", "latest"}, {"runs"},
		{"pause", "1"}, {"resume", "1"}, {"cancel", "1"}, {"approve", "1"}, {"resolve", "1"}, {"follow-up", "1", "--where", "failed"},
	} {
		if r := d.want(1, args...); !strings.Contains(r.stderr, "no such column") || r.stdout != "" {
			t.Errorf("%s: got %q and standard error %q, want what SQLite said", args[0], r.stdout, r.stderr)
		}
	}
	d.spoil("INSERT INTO suppression VALUES (1, 'all', 0, 0, '', '', '')")
	d.spoil("ALTER TABLE suppression RENAME COLUMN dest TO gone; DELETE FROM suppression")
	list := d.path("suppressions.csv")
	for _, args := range [][]string{{"import", d.path("stop.csv")}, {"export"}, {"export", list}, {"add", "+2348031234567"}} {
		if r := d.want(1, append([]string{"suppressions"}, args...)...); !strings.Contains(r.stderr, "column") {
			t.Errorf("suppressions %s: standard error %q, want what SQLite said", args[0], r.stderr)
		}
	}
	if _, err := os.Stat(list); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the file of a failed export: got %v, want that it is not there", err)
	}
}

func TestAnInterruptedReadingCommandIsExit130(t *testing.T) {
	t.Parallel()
	d := newFixture(t, nil)
	d.want(0, "ledger", "migrate") // makes the ledger
	d.write("stop.csv", "to\n+2348031234567\n")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, args := range [][]string{
		{"report", "latest"}, {"audit", "1"}, {"runs"}, {"pause", "1"},
		{"suppressions", "import", d.path("stop.csv")}, {"check", d.path("c.yaml")},
	} {
		if r := d.runIn(ctx, args...); r.code != 130 || r.stderr != "campaignd: interrupted\n" || r.stdout != "" {
			t.Errorf("%s: got %d, %q and standard error %q, want 130, nothing and one line", args[0], r.code, r.stdout, r.stderr)
		}
	}
}

// ofARun are the commands on a run, without the name of the run.
var ofARun = [][]string{
	{"report"}, {"audit"}, {"why"}, {"history"}, {"limits"}, {"limits", "--weight", "2"}, {"pause"}, {"resume"}, {"cancel"}, {"approve"},
	{"resolve"},
	{"resolve", "--unknown", "keep"}, {"resolve", "--unknown", "resend"}, {"follow-up", "--where", "unknown"},
}

func TestARunThatIsNotThereIsExitTwo(t *testing.T) {
	t.Parallel()
	d := newFixture(t, nil)
	for _, command := range ofARun {
		const want = "campaignd: there is no ledger "
		if r := d.want(2, append(command, "latest")...); !strings.HasPrefix(r.stderr, want) || r.stdout != "" {
			t.Errorf("%s: got %q and standard error %q, want nothing and %q", command[0], r.stdout, r.stderr, want)
		}
	}
	d.want(0, "ledger", "migrate") // makes the ledger
	for _, command := range ofARun {
		d.says(2, "", "campaignd: no such run: this ledger has none yet\n", append(command, "latest")...)
		d.says(2, "", "campaignd: no such run: orders-7; `campaignd runs` lists them\n", append(command, "orders-7")...)
		d.says(2, "", "campaignd: no such run: 7; `campaignd runs` lists them\n", append(command, "7")...)
		if command[0] == "why" { // it takes a connection too
			continue
		}
		d.says(2, "", "campaignd: run \"last\": want an id as `campaignd runs` prints it (for example spring-sale-3), its number, or latest\n",
			append(command, "last")...)
	}
	d.says(0, "RUN  STATE  ROWS  LAUNCHED  ENDED  LIST\n", "", "runs")
	d.says(0, "[]\n", "", "runs", "-o", "json")
}

func TestARequestThatDoesNotFitTheStateIsExitOne(t *testing.T) {
	t.Parallel()
	d := newFixture(t, nil)
	d.write("list.csv", listOf(3))
	d.want(0, "run", d.path("c.yaml"), "--settle", "1m")
	d.says(1, "", "campaignd: not possible now: orders-1 is finished, there is nothing to pause\n", "pause", "latest")
	d.says(1, "", "campaignd: not possible now: orders-1 is finished; nothing of it is left to send "+
		"(`campaignd run --new` sends to its whole list again)\n", "resume", "1")
	d.says(1, "", "campaignd: not possible now: orders-1 is already finished\n", "cancel", "orders-1")
	d.says(1, "", "campaignd: not possible now: orders-1 is finished, it does not wait for approval\n", "approve", "latest")
	d.says(0, "orders-1: 0 rows unknown, 0 still in doubt\n", "", "resolve", "latest")
	d.says(0, "orders-1: 0 rows unknown, 0 still in doubt\n\nKept as they are. A late webhook still moves them to what it proves.\n", "",
		"resolve", "latest", "--unknown", "keep")
	const nobody = "campaignd: no row is chosen: orders-1 has no row that is unknown; see `campaignd report orders-1`\n"
	d.says(1, "", nobody, "resolve", "latest", "--unknown", "resend")
	d.says(1, "", nobody, "follow-up", "latest", "--where", "unknown")
	d.says(0, "orders-1: it waits for nothing: it is finished\n", "", "why", "latest")
	d.spoil("UPDATE run SET state = 'waiting_approval', ended_at = 0")
	d.says(1, "", "campaignd: not possible now: orders-1 waits for approval; `campaignd approve orders-1` releases it\n", "resume", "latest")
	d.says(1, "", "campaignd: not possible now: orders-1 is waiting_approval, so its rows may still change; "+
		"wait until it has ended, or `campaignd cancel orders-1`\n", "follow-up", "1", "--where", "failed")
	d.says(0, "orders-1 is approved; it is sent as soon as a sender (`campaignd serve` or `run`) has it\n", "", "approve", "latest")
	d.says(1, "", "campaignd: not possible now: orders-1 is ready, it does not wait for approval\n", "approve", "latest")
	d.says(0, "orders-1 will not send from the next intent on; `campaignd resume orders-1` resumes it\n", "", "pause", "latest")
	d.says(0, "orders-1 goes on as soon as a sender (`campaignd serve` or `run`) has it\n", "", "resume", "latest")
	d.says(0, "orders-1 is cancelled; `campaignd report orders-1` tells who got it\n", "", "cancel", "latest")
	d.spoil("UPDATE run SET state = 'ready', wanted = 'cancel', ended_at = 0")
	d.says(1, "", "campaignd: not possible now: orders-1 is being cancelled, which cannot be taken back; "+
		"`campaignd follow-up orders-1 --where skipped=cancelled` sends to those who are left\n", "resume", "latest")
	d.spoil("UPDATE run SET state = 'cancelled', ended_at = 1")
	d.says(1, "", "campaignd: not possible now: orders-1 is cancelled; "+
		"`campaignd follow-up orders-1 --where skipped=cancelled` sends to those who are left\n", "resume", "latest")
}
