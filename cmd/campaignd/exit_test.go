package main

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"testing"
	"time"

	"campaignd/campaign"
	"campaignd/internal/daemon"
	"campaignd/recipients"
	"campaignd/reporting"
)

func TestEveryErrorHasItsExitCode(t *testing.T) {
	going := t.Context()
	ended, cancel := context.WithCancel(going)
	cancel()
	two := &campaign.FileError{Name: "c.yaml", Findings: []campaign.Finding{
		{Level: campaign.LevelError, Where: "c.yaml:2:3", What: "no", Excerpt: "    2 | x"}, {Level: campaign.LevelError, Where: "c.yaml:4:1", What: "nor this"},
	}}
	for _, tt := range []struct {
		name     string
		ctx      context.Context
		err      error
		terminal bool
		code     int
		stderr   string
	}{
		{"nothing", ended, nil, false, 0, ""},
		{"a failure", going, errors.New("disk full"), false, 1, "campaignd: disk full\n"},
		{"a failure of several lines", going, errors.New("disk\n\tfull\r\n"), false, 1, "campaignd: disk full\n"},
		{"a failure while it is interrupted", ended, errors.New("disk full"), false, 1, "campaignd: disk full\n"},
		{"a time that ran out", ended, context.DeadlineExceeded, false, 1, "campaignd: context deadline exceeded\n"},
		{"an interruption", ended, fmt.Errorf("read: %w", context.Canceled), false, 130, "campaignd: interrupted\n"},
		{"an end that nobody asked for", going, fmt.Errorf("read: %w", context.Canceled), false, 1, "campaignd: read: context canceled\n"},
		{"an interruption with its own words", ended, &exitError{exitInterrupted, errors.New("the same command goes on")}, false, 130, "campaignd: the same command goes on\n"},
		{"an interruption that was told", ended, silent(exitInterrupted), false, 130, ""},
		{"wrong usage", going, fmt.Errorf("x: %w", usage(errors.New("no such flag"))), false, 2, "campaignd: x: no such flag\n"},
		{"invalid input", going, invalid(errors.New("no list")), false, 2, "campaignd: no list\n"},
		{"uncertain rows", going, silent(exitUnsure), true, 3, ""},
		{"a sum that does not balance", going, silent(exitFailed), false, 1, ""},
		{"a campaign file", going, fmt.Errorf("x: %w", two), false, 2, "campaignd: x: c.yaml:2:3: no\ncampaignd: c.yaml:4:1: nor this\n"},
		{"a campaign file on a terminal", going, two, true, 2, "campaignd: c.yaml:2:3: no\n    2 | x\nc.yaml:4:1: nor this\n"},
		{"a preflight", going, &campaign.PreflightError{Preflight: &campaign.Preflight{}}, false, 2, "campaignd: the list has no row that can be sent; see `campaignd check`\n"},
		{"a changed file", going, &campaign.ChangedError{Run: campaign.Run{No: 3, Campaign: "a"}, Differences: []string{"name"}}, false, 2,
			"campaignd: a-3 is unfinished and was launched with another campaign file: name; restore the file to resume it, `campaignd cancel a-3` to end it, or pass --new for another run\n"},
		{"a list", going, &recipients.FileError{File: "l.csv", Line: 2, Message: "bad"}, false, 2, "campaignd: l.csv:2: bad\n"},
		{"no run", going, fmt.Errorf("%w: a-3", campaign.ErrNoRun), false, 2, "campaignd: " + campaign.ErrNoRun.Error() + ": a-3\n"},
		{"no row", going, campaign.ErrNoRow, false, 2, "campaignd: " + campaign.ErrNoRow.Error() + "\n"},
		{"no number", going, campaign.ErrNoNumber, false, 2, "campaignd: " + campaign.ErrNoNumber.Error() + "\n"},
		{"no file", going, fmt.Errorf("open: %w", fs.ErrNotExist), false, 2, "campaignd: open: file does not exist\n"},
		{"not now", going, campaign.ErrNotNow, false, 1, "campaignd: " + campaign.ErrNotNow.Error() + "\n"},
		{"a ledger in use", going, campaign.ErrLocked, false, 1, "campaignd: " + campaign.ErrLocked.Error() + "\n"},
	} {
		var stderr bytes.Buffer
		if code := conclude(tt.ctx, tt.err, &stderr, tt.terminal); code != tt.code || stderr.String() != tt.stderr {
			t.Errorf("%s: got %d with %q, want %d with %q", tt.name, code, stderr.String(), tt.code, tt.stderr)
		}
	}
}

type closer struct{ err error }

func (c closer) Close() error { return c.err }

func TestAFailedCloseFailsTheCommand(t *testing.T) {
	first, last := errors.New("first"), errors.New("last")
	for _, tt := range []struct{ before, closed, want error }{{nil, nil, nil}, {nil, last, last}, {first, last, first}, {first, nil, first}} {
		got := tt.before
		if closing(closer{tt.closed}, &got); got != tt.want {
			t.Errorf("%v, then closed with %v: got %v, want %v", tt.before, tt.closed, got, tt.want)
		}
	}
}

// ended is a run of three rows with these totals, as a command ends with it.
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
		p := &program{stdout: &bytes.Buffer{}, stderr: &bytes.Buffer{}}
		err := p.finish(t.Context(), ended(campaign.Finished, reporting.Totals{s: 3}), false)
		if code, _ := classify(t.Context(), err); err != nil && code != want || err == nil && want != 0 {
			t.Errorf("3 rows %s: exit code %d (%v), want %d", s, code, err, want)
		}
	}
}

func TestRunSaysAtItsEndWhatToDo(t *testing.T) {
	paused := ended(campaign.Paused, reporting.Totals{campaign.Queued: 3})
	paused.Report.Run.Reason, paused.Report.Run.Detail = campaign.PausedByAccount, "it is\x1b refused"
	before := ended(campaign.Finished, reporting.Totals{campaign.Read: 1, campaign.Unknown: 2})
	before.Ended = true
	interrupted, cancel := context.WithCancel(t.Context())
	cancel()
	const (
		had     = "campaignd: orders-1 had ended before, so nothing was sent; --new launches another run of this list\n"
		doubt   = "campaignd: 2 rows are in doubt until a webhook proves them or their window (policies.doubt_window) is over: give the same command again then, or leave orders-1 to `campaignd serve`\n"
		unknown = "campaignd: 2 rows may or may not have been sent: `campaignd resolve orders-1` shows them\n"
		account = "campaignd: orders-1 is paused (account): it is\uFFFD refused; `campaignd resume orders-1` lets it go on\n"
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
		{"unknown", t.Context(), ended(campaign.Finished, reporting.Totals{campaign.Unknown: 2, campaign.Read: 1}), 3, unknown},
		{"both", t.Context(), ended(campaign.Running, reporting.Totals{campaign.InDoubt: 2, campaign.Unknown: 2}), 3, doubt + unknown},
		{"queued", t.Context(), ended(campaign.Running, reporting.Totals{campaign.Queued: 3}), 3, ""},
		{"paused", t.Context(), paused, 3, account},
		{"ended before", t.Context(), before, 3, had + unknown},
		{"interrupted", interrupted, paused, 130, "campaignd: interrupted; the same command goes on with orders-1\n"},
		{"interrupted when all was sent", interrupted, ended(campaign.Finished, reporting.Totals{campaign.Read: 3}), 130, "campaignd: interrupted; the same command goes on with orders-1\n"},
	} {
		var stdout, stderr bytes.Buffer
		err := (&program{stdout: &stdout, stderr: &stderr}).finish(tt.ctx, tt.result, false)
		if code := conclude(tt.ctx, err, &stderr, false); code != tt.code || stderr.String() != tt.stderr {
			t.Errorf("%s: got %d with\n%swant %d with\n%s", tt.name, code, stderr.String(), tt.code, tt.stderr)
		}
		if !strings.HasPrefix(stdout.String(), "orders-1  ") {
			t.Errorf("%s: standard output begins with %.30q, want the report", tt.name, stdout.String())
		}
	}
}

// says runs a command and compares its exit code and both streams with what is promised.
func (d *desk) says(code int, stdout, stderr string, args ...string) {
	d.t.Helper()
	r := d.run(args...)
	if r.code != code || r.stdout != stdout || r.stderr != stderr {
		d.t.Errorf("campaignd %s:\ngot  %d, standard output %q, standard error %q\nwant %d, standard output %q, standard error %q",
			strings.Join(args, " "), r.code, r.stdout, r.stderr, code, stdout, stderr)
	}
}

// spoil changes the ledger behind campaignd's back.
func (d *desk) spoil(statement string) {
	d.t.Helper()
	db, err := sql.Open("sqlite", d.path("campaignd.db"))
	if err != nil {
		d.t.Fatal(err)
	}
	defer db.Close()
	result, err := db.ExecContext(d.t.Context(), statement)
	if err != nil {
		d.t.Fatal(err)
	}
	if n, err := result.RowsAffected(); err != nil || n == 0 {
		d.t.Fatalf("%s changed %d rows (%v), want one or more", statement, n, err)
	}
}

func TestAuditOfAFalseSumIsExitOne(t *testing.T) {
	t.Parallel()
	d := newDesk(t, nil)
	d.write("list.csv", listOf(3))
	d.want(0, "run", d.path("c.yaml"), "--settle", "10s")
	d.says(0, "orders-1: the sum balances: 3 rows = 3 read\n", "", "audit", "latest")
	if got := d.want(0, "audit", "latest", "-o", "json").stdout; !strings.Contains(got, `"balanced": true`) {
		t.Errorf("audit -o json: got %s, want it balanced", got)
	}
	d.spoil("DELETE FROM delivery WHERE row = 2")
	r := d.want(1, "audit", "latest")
	if want := "orders-1: the sum does not balance: 3 rows, "; !strings.HasPrefix(r.stdout, want) || !strings.Contains(r.stdout, "\n  row 2: this row has no delivery\n") || r.stderr != "" {
		t.Errorf("audit: got %q and standard error %q, want %q with row 2", r.stdout, r.stderr, want)
	}
	r = d.want(1, "audit", "latest", "-o", "json")
	if !strings.Contains(r.stdout, `"balanced": false`) || r.stderr != "" {
		t.Errorf("audit -o json: got %q and standard error %q, want it not balanced", r.stdout, r.stderr)
	}
}

// A ledger that cannot be read is no wrong usage: a script that tries again on 1 must do so.
func TestAnUnreadableLedgerIsExitOne(t *testing.T) {
	t.Parallel()
	d := newDesk(t, nil)
	d.want(0, "suppressions", "export")
	d.write("stop.csv", "to\n+2348031234567\n")
	d.spoil("ALTER TABLE run RENAME COLUMN state TO gone; INSERT INTO suppression VALUES (1, 'all', 0, 0, '', '')")
	d.spoil("DELETE FROM suppression")
	for _, args := range [][]string{
		{"report", "latest"}, {"report", "1"}, {"audit", "latest"}, {"why", "latest"}, {"runs"},
		{"pause", "1"}, {"resume", "1"}, {"cancel", "1"}, {"approve", "1"}, {"resolve", "1"}, {"follow-up", "1", "--where", "failed"},
	} {
		if r := d.want(1, args...); !strings.Contains(r.stderr, "no such column") || r.stdout != "" {
			t.Errorf("%s: got %q and standard error %q, want what SQLite said", args[0], r.stdout, r.stderr)
		}
	}
	d.spoil("INSERT INTO suppression VALUES (1, 'all', 0, 0, '', '')")
	d.spoil("ALTER TABLE suppression RENAME COLUMN dest TO gone; DELETE FROM suppression")
	for _, args := range [][]string{{"import", d.path("stop.csv")}, {"export"}, {"add", "+2348031234567"}} {
		if r := d.want(1, append([]string{"suppressions"}, args...)...); !strings.Contains(r.stderr, "column") {
			t.Errorf("suppressions %s: standard error %q, want what SQLite said", args[0], r.stderr)
		}
	}
}

func TestAnInterruptedLookIsExit130(t *testing.T) {
	t.Parallel()
	d := newDesk(t, nil)
	d.want(0, "suppressions", "export")
	d.write("stop.csv", "to\n+2348031234567\n")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, args := range [][]string{{"report", "latest"}, {"audit", "1"}, {"runs"}, {"pause", "1"}, {"suppressions", "import", d.path("stop.csv")}, {"check", d.path("c.yaml")}} {
		if r := d.runIn(ctx, args...); r.code != 130 || r.stderr != "campaignd: interrupted\n" || r.stdout != "" {
			t.Errorf("%s: got %d, %q and standard error %q, want 130 and the one line", args[0], r.code, r.stdout, r.stderr)
		}
	}
}

// Commands that name a run, without what the table adds.
var ofARun = [][]string{
	{"report"}, {"audit"}, {"why"}, {"pause"}, {"resume"}, {"cancel"}, {"approve"}, {"resolve"}, {"resolve", "--unknown", "keep"},
	{"resolve", "--unknown", "resend"}, {"follow-up", "--where", "unknown"},
}

func TestARunThatIsNotThereIsExitTwo(t *testing.T) {
	t.Parallel()
	d := newDesk(t, nil)
	for _, command := range ofARun {
		if r := d.want(2, append(command, "latest")...); !strings.HasPrefix(r.stderr, "campaignd: there is no ledger ") || r.stdout != "" {
			t.Errorf("%s: got %q and standard error %q", command[0], r.stdout, r.stderr)
		}
	}
	d.want(0, "suppressions", "export") // makes the ledger
	for _, command := range ofARun {
		d.says(2, "", "campaignd: no such run: this ledger has none yet\n", append(command, "latest")...)
		d.says(2, "", "campaignd: no such run: orders-7; `campaignd runs` lists them\n", append(command, "orders-7")...)
		d.says(2, "", "campaignd: no such run: 7; `campaignd runs` lists them\n", append(command, "7")...)
		d.says(2, "", "campaignd: run \"last\": want an id as `campaignd runs` prints it (for example spring-sale-3), its number, or latest\n", append(command, "last")...)
	}
	d.says(0, "RUN  STATE  ROWS  LAUNCHED  ENDED  LIST\n", "", "runs")
	d.says(0, "[]\n", "", "runs", "-o", "json")
}

func TestAWishThatDoesNotFitTheStateIsExitOne(t *testing.T) {
	t.Parallel()
	d := newDesk(t, nil)
	d.write("list.csv", listOf(3))
	d.want(0, "run", d.path("c.yaml"), "--settle", "10s")
	d.says(1, "", "campaignd: not possible now: orders-1 is finished, there is nothing to pause\n", "pause", "latest")
	d.says(1, "", "campaignd: not possible now: orders-1 is finished; `campaignd run --new` launches another\n", "resume", "1")
	d.says(1, "", "campaignd: not possible now: orders-1 is already finished\n", "cancel", "orders-1")
	d.says(1, "", "campaignd: not possible now: orders-1 is finished, it does not wait for approval\n", "approve", "latest")
	d.says(0, "orders-1: 0 rows unknown, 0 still in doubt\n", "", "resolve", "latest")
	d.says(0, "orders-1: 0 rows unknown, 0 still in doubt\n\nKept as they are. A late webhook still moves them to what it proves.\n", "", "resolve", "latest", "--unknown", "keep")
	const nobody = "campaignd: no row is chosen: orders-1 has no row that is unknown; see `campaignd report orders-1`\n"
	d.says(1, "", nobody, "resolve", "latest", "--unknown", "resend")
	d.says(1, "", nobody, "follow-up", "latest", "--where", "unknown")
	d.says(0, "orders-1: it waits for nothing: it is finished\n", "", "why", "latest")
	d.spoil("UPDATE run SET state = 'waiting_approval', ended_at = 0")
	d.says(1, "", "campaignd: not possible now: orders-1 waits for approval; `campaignd approve orders-1` releases it\n", "resume", "latest")
	d.says(1, "", "campaignd: not possible now: orders-1 is waiting_approval, so its rows may still change; wait until it has ended, or `campaignd cancel orders-1`\n", "follow-up", "1", "--where", "failed")
	d.says(0, "orders-1 is approved; it is sent as soon as a sender (`campaignd serve` or `run`) has it\n", "", "approve", "latest")
	d.says(1, "", "campaignd: not possible now: orders-1 is ready, it does not wait for approval\n", "approve", "latest")
	d.says(0, "orders-1 will not send from the next intent on; `campaignd resume orders-1` lets it go on\n", "", "pause", "latest")
	d.says(0, "orders-1 goes on as soon as a sender (`campaignd serve` or `run`) has it\n", "", "resume", "latest")
	d.says(0, "orders-1 is cancelled; `campaignd report orders-1` tells who got it\n", "", "cancel", "latest")
	d.spoil("UPDATE run SET state = 'ready', wanted = 'cancel', ended_at = 0")
	d.says(1, "", "campaignd: not possible now: orders-1 is being cancelled, which cannot be taken back; `campaignd run --new` launches another\n", "resume", "latest")
}

func TestCheckFailsBadRowsWhenStrictOnly(t *testing.T) {
	t.Parallel()
	d := newDesk(t, nil)
	for _, tt := range []struct {
		list   string
		flags  []string
		code   int
		stderr string
	}{
		{listOf(3), nil, 0, ""},
		{listOf(3), []string{"--strict"}, 0, ""},
		{listOf(3) + "0803,X,A\n", nil, 0, ""},
		{listOf(3) + "0803,X,A\n", []string{"--strict"}, 2, "campaignd: 1 rows of " + d.path("list.csv") + " are at fault (--strict)\n"},
		{listOf(3) + "0803,X,A\n", []string{"--strict", "--offline", "-o", "json"}, 2, "campaignd: 1 rows of " + d.path("list.csv") + " are at fault (--strict)\n"},
		{"phone,first_name,order\n0803,X,A\n", nil, 2, "campaignd: " + d.path("list.csv") + ": none of the 1 rows can be sent; see the reasons of the rows\n"},
	} {
		d.write("list.csv", tt.list)
		r := d.run(append([]string{"check", d.path("c.yaml")}, tt.flags...)...)
		if r.code != tt.code || r.stderr != tt.stderr || r.stdout == "" {
			t.Errorf("check %v of %q: got %d with %q, want %d with %q and a result", tt.flags, tt.list, r.code, r.stderr, tt.code, tt.stderr)
		}
	}
	d.write("empty.yaml", strings.Replace(campaignFile, "file: list.csv, ", "", 1))
	d.says(2, "", "campaignd: "+d.path("empty.yaml")+" names no list: set recipients.file, or pass --recipients FILE\n", "check", d.path("empty.yaml"))
}

func TestSuppressionsSayHowManyAndFailWholly(t *testing.T) {
	t.Parallel()
	d := newDesk(t, nil)
	const bad = "campaignd: not a phone number: \"0803\" has no + and country code; write it in international form, such as +2348031234567\n"
	d.says(2, "", bad, "suppressions", "add", "+2348031234567", "0803")
	d.says(2, "", bad, "suppressions", "remove", "0803")
	d.says(2, "", "campaignd: scope \"some\" is unknown; give marketing, all or unreachable\n", "suppressions", "remove", "+2348031234567", "--scope", "some")
	d.says(2, "", "campaignd: scope \"some\" is unknown; give marketing, all or unreachable\n", "suppressions", "import", d.write("s.csv", "to\n"), "--scope", "some")
	d.says(2, "", "campaignd: --default-region: \"XX\" is not a region with telephone numbers; use the two letters of ISO 3166, such as NG or DE\n",
		"suppressions", "import", d.path("s.csv"), "--default-region", "XX")
	d.says(2, "", "campaignd: there is no ledger "+d.path("campaignd.db")+": nothing has run here yet; go to its folder, or name it with --config or CAMPAIGND_LEDGER\n", "runs")
	d.says(0, "0 removed, 1 were not there\n", "", "suppressions", "remove", "+2348031234567")
	d.says(0, "2 added, 0 already there\n", "", "suppressions", "add", "+2348031234567", "+2348031234568")
	d.says(0, "1 removed, 1 were not there\n", "", "suppressions", "remove", "+2348031234567", "+2348031234569")
	d.says(0, "0 removed, 1 were not there\n", "", "suppressions", "remove", "+2348031234568", "--scope", "all")
	d.says(0, "1 rows: 1 added, 0 already there, 0 not read\n", "", "suppressions", "import", d.write("s.csv", "to\n+2348031234567\n"))
	file := d.path("out.csv")
	d.says(0, "", "", "suppressions", "export", file)
	printed := d.want(0, "suppressions", "export").stdout
	if text, err := os.ReadFile(file); err != nil || string(text) != printed || strings.Count(printed, "\n") != 3 {
		t.Errorf("the exported file: got %q (%v), want what is printed, a header and two numbers: %q", text, err, printed)
	}
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the exported file: got mode %v (%v), want it readable by its owner alone", info.Mode(), err)
	}
	d.says(2, "", "campaignd: "+file+" exists; name another file\n", "suppressions", "export", file)
}

func TestRowsAndTimesBelowNothingAreExitTwo(t *testing.T) {
	t.Parallel()
	d := newDesk(t, nil)
	c := d.path("c.yaml")
	d.says(2, "", "campaignd: --settle -1ns is negative\n", "run", c, "--settle", "-1ns")
	d.says(2, "", "campaignd: --row -1: rows are counted from 1\n", "preview", c, "--row", "-1")
	d.says(2, "", "campaignd: --lost -1ns is negative\n", "ledger", "quarantine", "--lost", "-1ns")
	d.says(2, "", "campaignd: --ahead -1 is negative\n", "ledger", "quarantine", "--ahead", "-1")
	d.says(2, "", "campaignd: --to is missing: give a number of yours, such as +2348031234567\n", "test", c)
	d.says(2, "", "campaignd: --role: \"none\" is unknown; give all, intake, sender\n", "serve", "--role", "none")
	d.says(2, "", "campaignd: --retry-schedule: \"0s\" is not a duration such as 30s\n", "sandbox", "--retry-schedule", "1s,0s")
	d.says(2, "", "campaignd: `campaignd runs` takes no argument, and \"x\" is one\n", "runs", "x")
	d.env["CAMPAIGND_WEBHOOKS_SECRETS"], d.env["CAMPAIGND_SERVICE_BASE_URL"] = "", "https://api.example.com"
	d.says(2, "", "campaignd: webhooks.secrets is empty, so no event of the service could be verified: set CAMPAIGND_WEBHOOKS_SECRETS, or CAMPAIGND_WEBHOOKS_SECRETS_FILE to the file that holds them\n",
		"serve", "--role", "intake")
	d.env["CAMPAIGND_SERVICE_API_KEY"] = ""
	for _, args := range [][]string{{"run", c}, {"serve"}, {"check", c}, {"preview", c}, {"test", c, "--to", "+2348031234567"}} {
		d.says(2, "", "campaignd: service.api_key is empty: set CAMPAIGND_SERVICE_API_KEY, or CAMPAIGND_SERVICE_API_KEY_FILE to the file that holds it\n", args...)
	}
}

func TestAgesAreRoundedToSeconds(t *testing.T) {
	for _, tt := range []struct {
		at   time.Time
		want string
	}{{time.Time{}, ""}, {time.Now().Add(-90 * time.Second), " (1m30s ago)"}, {time.Now().Add(time.Hour), " (0s ago)"}} {
		if got := ago(tt.at); got != tt.want {
			t.Errorf("ago(%v) = %q, want %q", tt.at, got, tt.want)
		}
	}
}

// full is a disk without room.
type full struct{}

var errFull = errors.New("no space left on device")

func (full) Write([]byte) (int, error) { return 0, errFull }

// A report that could not be written whole must not look complete to a script.
func TestAResultThatCannotBeWrittenIsExitOne(t *testing.T) {
	t.Parallel()
	d := newDesk(t, nil)
	d.write("list.csv", listOf(3))
	c := d.path("c.yaml")
	d.want(0, "run", c, "--settle", "10s")
	for _, args := range [][]string{
		{"run", c}, {"run", c, "-o", "json"}, {"runs"}, {"runs", "-o", "json"}, {"report", "1"}, {"report", "1", "--format", "json"}, {"report", "1", "--format", "csv"},
		{"audit", "1"}, {"audit", "1", "-o", "json"}, {"resolve", "1", "--unknown", "keep"}, {"resolve", "1", "-o", "json"}, {"resolve", "1"}, {"why", "1"}, {"why", "1", "-o", "json"},
		{"check", c}, {"check", c, "-o", "json"}, {"preview", c}, {"preview", c, "-o", "json"}, {"schedule"}, {"schedule", "-o", "json"},
		{"config", "show"}, {"config", "show", "-o", "json"}, {"config", "schema"}, {"version"}, {"version", "-o", "json"},
		{"suppressions", "add", "+2348031234567"}, {"suppressions", "remove", "+2348031234567"}, {"suppressions", "export"},
		{"suppressions", "import", d.write("s.csv", "to\n+2348031234567\n")}, {"ledger", "quarantine"}, {"ledger", "quarantine", "-o", "json"}, {"ledger", "quarantine", "--dry-run", "--force"},
	} {
		var stderr bytes.Buffer
		if code := run(t.Context(), args, strings.NewReader(""), full{}, &stderr, d.env); code != 1 || !strings.Contains(stderr.String(), errFull.Error()) {
			t.Errorf("campaignd %s > /dev/full: got %d with %q, want 1 with %q", strings.Join(args, " "), code, stderr.String(), errFull)
		}
	}
}

func TestEachSchemaIsOfItsOwnFile(t *testing.T) {
	d := &desk{t: t, env: map[string]string{}}
	for _, tt := range []struct {
		args []string
		want string
	}{{nil, "campaignd configuration"}, {[]string{"config"}, "campaignd configuration"}, {[]string{"campaign"}, "campaignd campaign"}} {
		got := d.want(0, append([]string{"config", "schema"}, tt.args...)...).stdout
		if !strings.Contains(got, `"title": "`+tt.want) {
			t.Errorf("config schema %v: got the schema %.200s, want the title %s", tt.args, got, tt.want)
		}
	}
}
