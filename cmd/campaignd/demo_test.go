package main

import (
	"bytes"
	"context"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"campaignd/internal/command"
	"campaignd/internal/daemon"
)

// until keeps what is written to it, and calls stop once that contains text.
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

// The demo prints its addresses and files, leaves a configuration for the other commands, and stays
// up with --serve.
func TestTheDemoPrintsItsReportAndItsFiles(t *testing.T) {
	t.Parallel()
	for _, serve := range []bool{false, true} {
		dir := t.TempDir()
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		var stdout bytes.Buffer
		stderr := &until{text: "still running until Ctrl-C: sandbox http://", stop: stop}
		p := &program{Program: command.Program{Stdout: &stdout, Stderr: stderr, Environment: map[string]string{}}}
		err := p.demo(ctx, daemon.DemoOptions{
			Dir: dir, Run: daemon.RunOptions{Settle: 100 * time.Millisecond},
			Files: fstest.MapFS{
				"campaign.yaml": {Data: []byte(`name: demo
connections: [conn_1]
template: {name: newsletter, language: en_US}
recipients: {file: list.csv, columns: {to: phone}}
`)},
				"list.csv": {Data: []byte("phone\n+2348031200001\n0803\n")},
			},
		}, serve, false, true)
		if err != nil {
			t.Errorf("demo, serve %v: %v, want nil", serve, err)
		}
		wantIn(t, "the report as JSON", stdout.String(), `"id": "demo-1"`)
		wantIn(t, "standard error of the demo", stderr.String(), "sandbox of the messaging service on http://127.0.0.1:", "; files in "+dir+"\n",
			"campaignd audit latest --config "+dir+"/campaignd.yaml\n", "less "+dir+"/list.csv\n")
		if got := ctx.Err() != nil; got != serve {
			t.Errorf("demo, serve %v: stayed up: got %v, want %v", serve, got, serve)
		}
		d := &fixture{t: t, env: map[string]string{}}
		wantIn(t, "audit of the demo", d.want(0, "audit", "latest", "--config", dir+"/campaignd.yaml").stdout,
			"demo-1: the sum balances: 2 rows")
	}
}

// looksAsRecorded compares the HTML report of a demo with the report of the recorded one, a golden
// file: the headings, and the figures that no status changes.
func looksAsRecorded(t *testing.T, d *fixture) {
	t.Helper()
	d.want(0, "report", "latest", "--config", d.path("demo/campaignd.yaml"), "--html", d.path("demo.html"))
	page := func(path string) (titles []string, rows map[string][]string) {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, h := range regexp.MustCompile(`<h2[^>]*>([^<]*)`).FindAllSubmatch(text, -1) {
			title, _, _ := strings.Cut(string(h[1]), ",") // only a slow demo is drawn against its limit
			titles = append(titles, title)
		}
		return titles, cellsOf(strings.ReplaceAll(string(text), ">\n<", "><"))
	}
	titles, rows := page(d.path("demo.html"))
	recorded, want := page("../../reporting/html/testdata/demo.html")
	for _, title := range titles {
		// On a busy machine the last statuses come after the demo has stopped waiting.
		if title != "Statuses are missing" && !slices.Contains(recorded, title) {
			t.Errorf("got the heading %q in the demo's report, want one of the recorded %q", title, recorded)
		}
	}
	if len(titles) < len(recorded)-1 { // the first deliveries may take longer than the demo waits
		t.Errorf("got the headings %q in the demo's report, want the recorded %q", titles, recorded)
	}
	for _, label := range []string{"Sendable", "Accepted"} {
		if len(rows[label]) == 0 || !slices.Equal(rows[label], want[label]) {
			t.Errorf("row %q of the demo's report: got %q, want the recorded %q", label, rows[label], want[label])
		}
	}
}

// The README shows what the demo prints. Statuses differ with the time that the demo waits for
// them, so of their lines only the words count.
func TestTheReadmeShowsWhatTheDemoPrints(t *testing.T) {
	t.Parallel()
	d := &fixture{t: t, dir: t.TempDir(), env: map[string]string{}}
	printed := d.want(0, "demo", "--settle", "1s", "--dir", d.path("demo")).stdout
	looksAsRecorded(t, d)
	for line := range strings.Lines(block(t, readme(t), "```text\nrows\n")) {
		want := line
		if word, _, _ := strings.Cut(strings.TrimSpace(line), " "); slices.Contains([]string{"sent", "delivered", "read", "failed"}, word) {
			want = "\n  " + word + " "
		}
		if !strings.Contains(printed, want) {
			t.Errorf("the demo printed\n%s\nwant %q in it, as README.md shows", printed, want)
		}
	}
}
