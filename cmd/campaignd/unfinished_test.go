package main

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"golang.org/x/text/encoding/charmap"
)

// interruptAtApproval gives a command whose run waits for approval, and interrupts it there.
// Nothing was sent then.
func (d *fixture) interruptAtApproval(args ...string) result {
	d.t.Helper()
	ctx, stop := context.WithCancel(d.t.Context())
	defer stop()
	before, ended := len(d.runs()), make(chan result, 1)
	go func() { ended <- d.runIn(ctx, args...) }()
	d.eventually("another run waits for approval", func() bool {
		select {
		case r := <-ended:
			d.t.Fatalf("campaignd %s ended with exit code %d, want it to wait for approval: %s", strings.Join(args, " "), r.code, r.stderr)
		default:
		}
		runs := d.runs()
		return len(runs) > before && runs[0].State == "waiting_approval"
	})
	stop()
	r := <-ended
	if r.code != 130 {
		d.t.Fatalf("an interrupted run: exit code %d, want 130: %s", r.code, r.stderr)
	}
	return r
}

type runRow struct{ ID, State string }

// runs lists the runs of the ledger, the newest first.
func (d *fixture) runs() (runs []runRow) {
	d.t.Helper()
	if r := d.run("runs", "-o", "json"); r.code == 0 {
		if err := json.Unmarshal([]byte(r.stdout), &runs); err != nil {
			d.t.Fatal(err)
		}
	}
	return runs
}

// After an interruption of `run --new` the message names the command that goes on, and the command
// with --new is refused: it would send to the same people twice.
func TestNewIsRefusedWhileItsListIsUnfinished(t *testing.T) {
	t.Parallel()
	d := newFixture(t, nil)
	d.write("c.yaml", campaignFile+"policies: {approval: true}\n")
	again := "`campaignd run " + d.path("c.yaml") + " --recipients " + d.path("list.csv") + "`"
	command := []string{"run", d.path("c.yaml"), "--recipients", d.path("list.csv"), "--settle", "1m"}
	r := d.interruptAtApproval(append(command, "--new")...)
	wantIn(t, "the interruption", r.stderr, "campaignd: interrupted; "+again+" goes on with orders-1\n")
	wantIn(t, "--new again", d.want(2, append(command, "--new")...).stderr,
		"campaignd: orders-1 of ",
		" has this list and is unfinished, so --new would send to its people twice\ncampaignd: "+again+" continues it; ",
		"`campaignd cancel orders-1` ends it", "`campaignd follow-up orders-1` then")
	wantIn(t, "check", d.want(0, "check", d.path("c.yaml")).stdout, "launch: `run` goes on with orders-1 of ")
	d.want(0, "approve", "orders-1")
	d.want(0, command...)
	if n, runs := d.accepted(), d.runs(); n != 40 || len(runs) != 1 {
		t.Errorf("got %d messages in %v, want 40 in one run", n, runs)
	}
	wantIn(t, "check", d.want(0, "check", d.path("c.yaml")).stdout, "launch: `run` reports orders-1 of ", " again and sends nothing")
	d.interruptAtApproval(append(command, "--new")...) // the first has ended, so another may be launched
}

// A list that was edited, or only saved again, launches no second run beside an unfinished one.
func TestAnEditedListIsRefusedBesideAnUnfinishedRun(t *testing.T) {
	t.Parallel()
	d := newFixture(t, nil)
	list := listOf(40) + "+2348031299999,Zoë,A-40\n"
	d.write("list.csv", list)
	d.write("c.yaml", campaignFile+"policies: {approval: true}\n")
	d.interruptAtApproval("run", d.path("c.yaml"))
	latin, err := charmap.Windows1252.NewEncoder().String(list)
	if err != nil {
		t.Fatal(err)
	}
	rows := strings.SplitAfter(list, "\n")
	for name, tt := range map[string]struct{ list, want string }{
		"one cell": {strings.Replace(list, "Name 7,", "Name seven,", 1), "1 row changed; 41 numbers are in both"},
		"rows":     {strings.Join(rows[:39], "") + "+2348031277777,New,A-50\n", "1 row added, 3 removed; 38 numbers are in both"},
		"CRLF": {strings.ReplaceAll(list, "\n", "\r\n"),
			"the same rows; only the encoding, the line ends or the quotes differ; 41 numbers are in both"},
		"Windows-1252":  {latin, "the same rows; only the encoding, the line ends or the quotes differ; 41 numbers are in both"},
		"another order": {rows[0] + strings.Join(rows[2:], "") + rows[1], "the same rows in another order; 41 numbers are in both"},
		"a column": {strings.Replace(strings.ReplaceAll(list, "\n", ",x\n"), ",x\n", ",note\n", 1),
			"columns added: note; 41 numbers are in both"},
	} {
		d.write("list.csv", tt.list)
		got := d.want(2, "run", d.path("c.yaml")).stderr
		wantIn(t, name, got, " is unfinished and has another list: "+tt.want+"\n", "give its list again", "`campaignd cancel orders-1`",
			"`campaignd follow-up orders-1 --where skipped=cancelled`", "--new for this list too\n")
		for line := range strings.Lines(got) {
			if len(line) > 200 {
				t.Errorf("%s: a line of %d columns, want at most 200: %s", name, len(line), line)
			}
		}
		check := strings.Join(strings.Fields(d.want(2, "check", d.path("c.yaml")).stdout), " ")
		wantIn(t, name, check, "launch: `run` refuses this list while orders-1 of ", tt.want)
	}
	if runs := d.runs(); len(runs) != 1 {
		t.Fatalf("got the runs %v, want one", runs)
	}

	d.write("list.csv", listOf(2)+"+2348031277777,New,A-50\n")
	r := d.interruptAtApproval("run", d.path("c.yaml"), "--new")
	wantIn(t, "--new beside another list", r.stderr, "warning: orders-1 of ", "is unfinished, and 2 of its numbers are of this list too")
	for _, run := range d.runs() {
		d.want(0, "cancel", run.ID)
	}
	d.write("list.csv", listOf(5))
	d.write("c.yaml", campaignFile)
	wantIn(t, "check after the cancellation", d.want(0, "check", d.path("c.yaml")).stdout, "launch: `run` launches a new run\n")
	d.want(0, "run", d.path("c.yaml"))
	d.write("list.csv", listOf(6))
	const differs = "1 row added; 5 numbers are in both\n"
	const refuses = "`run` refuses this list, because 5 of its numbers are in orders-3 of "
	refused := d.want(2, "check", d.path("c.yaml"))
	wantIn(t, "check after a run", refused.stdout, "launch: "+refuses, differs)
	wantIn(t, "the error of a check after a run", refused.stderr, "campaignd: `run` would refuse this list because of orders-3, ")
	wantIn(t, "check --new", d.want(0, "check", d.path("c.yaml"), "--new").stdout, "launch: "+refuses, differs)
	wantIn(t, "an edited list after a run", d.want(2, "run", d.path("c.yaml")).stderr, "campaignd: orders-3 of ",
		" is finished and had numbers of this list: "+differs, "campaignd: --new sends to all of this list", "`campaignd follow-up orders-3 ")
	d.write("list.csv", "phone,first_name,order\n+2348031277777,New,A-50\n")
	wantIn(t, "check of new people", d.want(0, "check", d.path("c.yaml")).stdout, "launch: `run` launches a new run\n")
	d.want(0, "run", d.path("c.yaml"))
	if n := d.accepted(); n != 6 {
		t.Errorf("got %d messages, want 5 and one to the new number", n)
	}
	d.write("list.csv", listOf(6))
	d.want(0, "run", d.path("c.yaml"), "--new")
	if n := d.accepted(); n != 12 {
		t.Errorf("--new of the edited list: got %d messages, want 6 more", n)
	}
}

func TestTheCommandThatGoesOnCanBePasted(t *testing.T) {
	for word, want := range map[string]string{
		"a/b-c_1.yaml": "a/b-c_1.yaml", "my list.csv": "'my list.csv'", "it's": `'it'\''s'`, "": "''", "$x": "'$x'", "Zoë": "'Zoë'",
	} {
		if got := shellWord(word); got != want {
			t.Errorf("shellWord(%q) = %s, want %s", word, got, want)
		}
	}
}
