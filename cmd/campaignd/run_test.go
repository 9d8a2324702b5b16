package main

import (
	"bufio"
	"context"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"regexp"
	"strings"
	"testing"

	"campaignd/internal/sandbox"
)

func TestRunSendsAListAndAccountsForEveryRow(t *testing.T) {
	t.Parallel()
	d := newFixture(t, nil)
	d.write("list.csv", listOf(40)+"+2348031200003,again,A-3\nnot a number,X,A-41\n+2348031299999,,A-42\n")
	r := d.want(0, "run", d.path("c.yaml"), "-o", "json", "--settle", "1m")
	var report reportFacts
	if err := json.Unmarshal([]byte(r.stdout), &report); err != nil {
		t.Fatalf("standard output is not the report alone: %v\n%s", err, r.stdout)
	}
	skipped := map[string]int64{"duplicate": 1, "invalid_phone": 1, "missing_variable": 1}
	if report.Rows != 43 || !maps.Equal(report.Skipped, skipped) {
		t.Errorf("got %d rows, skipped %v, want 43, skipped %v", report.Rows, report.Skipped, skipped)
	}
	if sent := report.Totals["sent"] + report.Totals["delivered"] + report.Totals["read"]; sent != 40 {
		t.Errorf("%d rows were sent, want 40: %v", sent, report.Totals)
	}
	wantIn(t, "progress on standard error", r.stderr, "sending")
	wantIn(t, "audit", d.want(0, "audit", "latest").stdout, "the sum balances: 43 rows")
	rows, err := csv.NewReader(strings.NewReader(d.want(0, "report", "orders-1", "--format", "csv").stdout)).ReadAll()
	if err != nil || len(rows) != 44 {
		t.Fatalf("the report as CSV has %d lines (%v), want 44", len(rows), err)
	}
	const header = "row,to,connection,status,reason,code,message_id,attempts," +
		"accepted_at,sent_at,delivered_at,read_at,failed_at,category,type,market,cost,currency,phone,first_name,order"
	if got := strings.Join(rows[0], ","); got != header {
		t.Errorf("header of the report: got %s, want %s", got, header)
	}
	wantIn(t, "why", d.want(0, "why", "1").stdout, "it waits for nothing: it is finished")
	wantIn(t, "runs", d.want(0, "runs").stdout, "orders-1", "finished")
}

func TestFinishedRunIsReportedAgainAndSendsNothing(t *testing.T) {
	t.Parallel()
	d := newFixture(t, nil)
	d.want(0, "run", d.path("c.yaml"))
	first := d.report("latest")
	wantIn(t, "the same command again", d.want(0, "run", d.path("c.yaml")).stderr, "nothing was sent")
	if d.accepted() != 40 {
		t.Errorf("the sandbox accepted %d messages, want 40", d.accepted())
	}
	d.want(0, "run", d.path("c.yaml"), "--new")
	if second := d.report("latest"); second.Run.ID == first.Run.ID || d.accepted() != 80 {
		t.Errorf("--new: got run %s and %d messages accepted, want another run than %s and 80", second.Run.ID, d.accepted(), first.Run.ID)
	}
}

// The file of a header is uploaded once for a run, however many numbers send it and however often
// the command is given.
func TestARunUploadsItsHeaderFileOnce(t *testing.T) {
	t.Parallel()
	d := newFixture(t, func(o *sandbox.Options) {
		o.Timeline = []sandbox.Step{{AfterMessages: 5, Template: "spring_sale_banner", Status: "paused"}}
	})
	d.env["CAMPAIGND_SENDING_BACKOFF"] = "50ms" // for rows that are refused while the template is paused
	banner := "\x89PNG\r\n\x1a\n" + strings.Repeat("x", 1000)
	d.write("banner.png", banner)
	file := d.write("banner.yaml", `name: banner
connections: [conn_1, conn_2]
template:
  name: spring_sale_banner
  language: en_US
  header: {image: {file: banner.png}}
  body: ["{{ .first_name }}", "{{ .order }}"]
  buttons: [{type: url, text: "{{ .order }}"}]
recipients: {file: list.csv, columns: {to: phone}}
`)
	d.want(3, "run", file, "--settle", "0s") // the template is paused
	d.approveTemplate("spring_sale_banner")
	for _, c := range []string{"conn_1", "conn_2"} { // nobody took the event of the approval
		d.want(0, "holds", "lift", "template", c+"/spring_sale_banner/en_US")
	}
	d.want(0, "run", file) // continues the run
	d.want(0, "run", file) // reports it again
	if n := d.accepted(); n != 40 {
		t.Fatalf("%d accepted, want 40", n)
	}
	uploads := d.truth().Uploads
	if len(uploads) != 1 {
		t.Fatalf("got uploads %+v, want one", uploads)
	}
	if u := uploads[0]; u.Connection != "conn_1" || u.ContentType != "image/png" || u.Bytes != int64(len(banner)) {
		t.Errorf("got the upload %+v, want image/png of %d bytes over conn_1", u, len(banner))
	}
	d.want(0, "run", file, "--new")
	d.want(0, "test", file, "--to", "+2348031299999")
	if n := len(d.truth().Uploads); n != 3 {
		t.Errorf("%d uploads after another run and a test message, want one more for each", n)
	}
}

func TestUncertainRowsAreExitThreeAndResentOnce(t *testing.T) {
	t.Parallel()
	d := newFixture(t, func(o *sandbox.Options) {
		o.Faults.LostBefore = 0.3 // never accepted, and the sender cannot know
	})
	d.write("c.yaml", campaignFile+"policies: {on_uncertain: hold, doubt_window: 1s}\n")
	remedy := regexp.MustCompile("are in doubt until|campaignd resolve")
	if got := d.want(3, "run", d.path("c.yaml"), "--settle", "3s").stderr; !remedy.MatchString(got) {
		t.Errorf("exit code 3: got %s, want the remedy %s in it", got, remedy)
	}
	r := d.report("latest")
	if r.Totals["in_doubt"]+r.Totals["unknown"] == 0 {
		t.Fatalf("got totals %v, want uncertain rows", r.Totals)
	}
	for i := 0; r.Run.State != "finished" && i < 20; i++ { // the same command continues until the windows are over
		d.run("run", d.path("c.yaml"), "--settle", "2s")
		r = d.report("latest")
	}
	unknown := r.Totals["unknown"]
	if r.Run.State != "finished" || unknown == 0 {
		t.Fatalf("got run %s in state %s with %d unknown rows, want it finished with one or more", r.Run.ID, r.Run.State, unknown)
	}
	wantIn(t, "resolve", d.want(0, "resolve", r.Run.ID).stdout, fmt.Sprintf("%d rows unknown", unknown), "--unknown")
	d.want(0, "resolve", r.Run.ID, "--unknown", "keep")
	var first, second struct {
		FollowUp struct {
			Run     struct{ ID string }
			Rows    int64
			Existed bool
		} `json:"follow_up"`
	}
	for _, into := range []any{&first, &second} {
		if err := json.Unmarshal([]byte(d.want(0, "resolve", r.Run.ID, "--unknown", "resend", "-o", "json").stdout), into); err != nil {
			t.Fatal(err)
		}
	}
	if f := first.FollowUp; f.Rows != unknown || f.Existed {
		t.Errorf("first resend: got %+v, want a new run of %d rows", f, unknown)
	}
	if f := second.FollowUp; !f.Existed || f.Run.ID != first.FollowUp.Run.ID {
		t.Errorf("second resend: got %+v, want the run of the first, %s", f, first.FollowUp.Run.ID)
	}
	overlap := d.want(1, "follow-up", r.Run.ID, "--where", "unknown", "--where", "failed")
	wantIn(t, "an overlapping choice", overlap.stderr, "another follow-up run")
}

func TestCancelledRowsGoIntoAFollowUp(t *testing.T) {
	t.Parallel()
	d := newFixture(t, nil)
	d.write("c.yaml", campaignFile+"policies: {approval: 1}\n")
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	ended := make(chan result, 1)
	go func() { ended <- d.runIn(ctx, "run", d.path("c.yaml")) }()
	d.eventually("the run waits for approval", func() bool {
		select {
		case r := <-ended:
			t.Fatalf("the run ended with exit code %d, want it to wait for approval: %s", r.code, r.stderr)
		default:
		}
		return strings.Contains(d.run("why", "latest").stdout, "waits for approval")
	})
	stop()
	if r := <-ended; r.code != 130 {
		t.Fatalf("an interrupted run that waits for approval: exit code %d, want 130: %s", r.code, r.stdout)
	}
	wantIn(t, "resume", d.want(1, "resume", "latest").stderr, "campaignd approve orders-1")
	d.want(0, "cancel", "latest")
	d.want(3, "run", d.path("c.yaml"))
	if r := d.report("latest"); r.Run.State != "cancelled" || r.Skipped["cancelled"] != 40 {
		t.Fatalf("got the report %+v, want a cancelled run with 40 rows skipped(cancelled)", r)
	}
	wantIn(t, "approve", d.want(1, "approve", "latest").stderr, "is cancelled")
	wantIn(t, "follow-up", d.want(0, "follow-up", "orders-1", "--where", "skipped=cancelled").stdout,
		"orders-2: 40 rows", "campaignd approve orders-2")
	d.want(0, "approve", "orders-2")
	wantIn(t, "pause", d.want(0, "pause", "orders-2", "-o", "json").stdout, `"wanted": "pause"`)
	d.want(0, "resume", "orders-2")
	d.serveUntil(func() bool { return d.report("orders-2").Run.State == "finished" })
	if d.accepted() != 40 {
		t.Errorf("%d accepted, want 40", d.accepted())
	}
	d.want(0, "audit", "orders-2")
}

// A run that ends before all statuses have come names the commands that take them.
func TestRunNamesTheCommandsThatTakeLateStatuses(t *testing.T) {
	t.Parallel()
	d := newFixture(t, func(o *sandbox.Options) { o.Statuses.Undelivered = 1 })
	r := d.want(0, "run", d.path("c.yaml"), "--settle", "200ms")
	const want = "campaignd: 40 messages of orders-1 are neither delivered nor failed yet: `campaignd serve`"
	if n := strings.Count(r.stderr, want); n != 1 {
		t.Errorf("got %d lines with %s, want 1:\n%s", n, want, r.stderr)
	}
	if again := d.want(0, "run", d.path("c.yaml")).stderr; strings.Contains(again, "still to come") {
		t.Errorf("a run that had ended before: got %s, want it without \"still to come\"", again)
	}
	delivered := newFixture(t, nil)
	if r := delivered.want(0, "run", delivered.path("c.yaml")); strings.Contains(r.stderr, "still to come") {
		t.Errorf("a run whose messages are all read: got %s, want it without \"still to come\"", r.stderr)
	}
}

// A command that is interrupted before it sends has no report to print. It prints one line.
func TestAnInterruptedCommandSaysSo(t *testing.T) {
	t.Parallel()
	d := newFixture(t, nil)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, tt := range []struct{ command, want string }{
		{"check", "campaignd: interrupted\n"},
		{"run", "campaignd: interrupted while the list was read; the same command goes on\n"},
	} {
		if r := d.runIn(ctx, tt.command, d.path("c.yaml")); r.code != 130 || !strings.HasSuffix(r.stderr, tt.want) || r.stdout != "" {
			t.Errorf("%s: got %d with %q and standard output %q, want 130 with %q and none", tt.command, r.code, r.stderr, r.stdout, tt.want)
		}
	}
}

// pausingTemplate takes the template out of use after five messages, as the platform does.
func pausingTemplate(o *sandbox.Options) {
	o.Timeline = []sandbox.Step{{AfterMessages: 5, Template: "order_update", Status: "paused"}}
}

// The service pauses a template and approves it again: the command waits meanwhile and then
// continues.
func TestRunGoesOnWhenThePausedTemplateIsApproved(t *testing.T) {
	t.Parallel()
	d := newFixture(t, pausingTemplate)
	d.env["CAMPAIGND_SENDING_BACKOFF"] = "50ms" // for rows that are refused while the template is paused
	stderr, waits := io.Pipe()
	ended := make(chan int, 1)
	go func() {
		ended <- run(t.Context(), []string{"run", d.path("c.yaml"), "--settle", "2m"}, strings.NewReader(""), io.Discard, waits, d.env)
		waits.Close()
	}()
	lines := bufio.NewScanner(stderr)
	for lines.Scan() && !strings.Contains(lines.Text(), "(--settle) for its end") {
	}
	d.approveTemplate("order_update")
	last := ""
	for lines.Scan() {
		last = lines.Text()
	}
	if code := <-ended; code != 0 {
		t.Errorf("exit code %d, want 0; its last line is %s", code, last)
	}
	if d.accepted() != 40 {
		t.Errorf("%d accepted, want 40", d.accepted())
	}
}

func TestRunEndsWithThreeWhenTheTemplateStaysPaused(t *testing.T) {
	t.Parallel()
	d := newFixture(t, pausingTemplate)
	r := d.want(3, "run", d.path("c.yaml"), "--settle", "1s")
	wantIn(t, "exit code 3", r.stderr, "orders-1 waits: template order_update (en_US)", "campaignd holds lift template")
	d.want(0, "audit", "latest")
}
