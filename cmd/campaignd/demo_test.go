package main

import (
	"bytes"
	"context"
	"strings"
	"testing"
	"testing/fstest"
	"testing/synctest"
	"time"

	"campaignd/campaign"
	"campaignd/internal/daemon"
)

// until collects what is written, and calls stop once it holds text.
type until struct {
	bytes.Buffer
	text string
	stop func()
}

func (u *until) Write(p []byte) (int, error) {
	n, err := u.Buffer.Write(p)
	if strings.Contains(u.String(), u.text) {
		u.stop()
	}
	return n, err
}

// The demo tells where everything is, leaves a configuration for the other commands, and stays up when asked to.
func TestTheDemoPrintsItsReportAndItsFiles(t *testing.T) {
	t.Parallel()
	for _, serve := range []bool{false, true} {
		dir := t.TempDir()
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		var stdout bytes.Buffer
		stderr := &until{text: "still running until Ctrl-C: sandbox http://", stop: stop}
		p := &program{stdout: &stdout, stderr: stderr, environment: map[string]string{}}
		err := p.demo(ctx, daemon.DemoOptions{
			Dir: dir, Run: daemon.RunOptions{Settle: 100 * time.Millisecond},
			Files: fstest.MapFS{
				"campaign.yaml": {Data: []byte("name: demo\nconnections: [conn_1]\ntemplate: {name: newsletter, language: en_US}\nrecipients: {file: list.csv, columns: {to: phone}}\n")},
				"list.csv":      {Data: []byte("phone\n+2348031200001\n0803\n")},
			},
		}, serve, true)
		if err != nil {
			t.Errorf("demo, serve %v: %v, want nil", serve, err)
		}
		if !strings.Contains(stdout.String(), `"id": "demo-1"`) {
			t.Errorf("demo prints %.200s, want the report of demo-1 as JSON", &stdout)
		}
		for _, want := range []string{
			"sandbox of the messaging service on http://127.0.0.1:", "; files in " + dir + "\n", "campaignd audit latest --config " + dir + "/campaignd.yaml\n", "less " + dir + "/list.csv\n",
		} {
			if !strings.Contains(stderr.String(), want) {
				t.Errorf("demo says\n%s\nwant %q in it", stderr, want)
			}
		}
		if got := ctx.Err() != nil; got != serve {
			t.Errorf("demo, serve %v: stayed up %v, want the same", serve, got)
		}
		d := &desk{t: t, env: map[string]string{}}
		if got := d.want(0, "audit", "latest", "--config", dir+"/campaignd.yaml").stdout; !strings.HasPrefix(got, "demo-1: the sum balances: 2 rows") {
			t.Errorf("audit of the demo: got %s, want that 2 rows balance", got)
		}
	}
}

// Each form of a plain line, and that a new phase, or a detail that comes or goes, is said at once.
func TestPlainLinesTellPhaseRowsAndDetail(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		p := newProgress(&out, false)
		totals := map[campaign.Status]int64{campaign.Read: 2, campaign.Queued: 7}
		for _, now := range []daemon.Progress{
			{Phase: "checking"},
			{Phase: "checking", Done: 1000}, // too soon
			{Phase: "importing", Done: 1000},
			{Phase: "uploading", Rows: 10},
			{Phase: "sending", Rows: 10, Done: 3, Totals: totals},
			{Phase: "sending", Rows: 10, Done: 4, Totals: totals}, // too soon
			{Phase: "sending", Rows: 10, Done: 4, Totals: totals, Detail: "a window\x1b"},
			{Phase: "sending", Rows: 10, Done: 5},
			{Phase: "paused", Rows: 10, Done: 5},
		} {
			p.show(now)
		}
		time.Sleep(between - 1)
		p.show(daemon.Progress{Phase: "paused", Rows: 10, Done: 6})
		time.Sleep(time.Nanosecond)
		p.show(daemon.Progress{Phase: "paused", Rows: 10, Done: 7})
		p.warn(&campaign.Preflight{Findings: []campaign.Finding{{Level: campaign.LevelWarning, What: "odd\x1b"}, {Level: campaign.LevelError, What: "bad"}}})
		want := "checking\nimporting 1000 rows\nuploading the file of the header\nsending 3 of 10 rows; 7 queued, 2 read\n" +
			"sending 4 of 10 rows; 7 queued, 2 read; a window\uFFFD\nsending 5 of 10 rows\npaused 5 of 10 rows\npaused 7 of 10 rows\nwarning: odd\uFFFD\n"
		if out.String() != want {
			t.Errorf("said\n%s\nwant\n%s", &out, want)
		}
	})
}

func TestAFindingIsShownWithItsExcerpt(t *testing.T) {
	f := &campaign.Preflight{Campaign: "spring", List: "l.csv", Findings: []campaign.Finding{
		{Level: campaign.LevelWarning, What: "odd"}, {Level: campaign.LevelError, Where: "c.yaml:2:3", What: "bad", Excerpt: "    2 | x"},
	}}
	want := "spring with l.csv\n0 rows, 0 can be sent\nwarning: odd\nerror: c.yaml:2:3: bad\n    2 | x\n"
	if got := printed(t, func(p *program) error { return p.writePreflight(f) }); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// A second argument is completed with nothing; a ledger that cannot be read completes nothing.
func TestShellsCompleteNothingWhereNothingFits(t *testing.T) {
	t.Parallel()
	d := newDesk(t, nil)
	d.want(0, "suppressions", "export") // makes the ledger
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
		{[]string{"runs", "--log-level", ""}, "debug\ninfo\nwarn\nerror\n" + noFiles},
	} {
		if got := d.want(0, append([]string{"__complete"}, tt.args...)...).stdout; got != tt.want {
			t.Errorf("completion of %q: got %q, want %q", tt.args, got, tt.want)
		}
	}
	d.spoil("ALTER TABLE run RENAME COLUMN state TO gone; INSERT INTO suppression VALUES (1, 'all', 0, 0, '', '')")
	if got := d.want(0, "__complete", "report", "").stdout; got != noFiles {
		t.Errorf("completion with a sick ledger: got %q, want %q", got, noFiles)
	}
	d.env["CAMPAIGND_LEDGER"] = "sqlite:" + d.folder("folder.db")
	if got := d.want(0, "__complete", "report", "").stdout; got != noFiles {
		t.Errorf("completion with a folder for a ledger: got %q, want %q", got, noFiles)
	}
}
