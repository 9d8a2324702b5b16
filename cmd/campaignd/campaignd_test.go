package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/csv"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/spf13/cobra"

	"campaignd/internal/daemon"
	"campaignd/internal/sandbox"
)

// The tests wait for a sandbox more than they compute: more of them run at once than there are cores, unless -parallel
// says otherwise.
func TestMain(m *testing.M) {
	flag.Parse()
	given := false
	flag.Visit(func(f *flag.Flag) { given = given || f.Name == "test.parallel" })
	if !given {
		if err := flag.Set("test.parallel", strconv.Itoa(3*runtime.GOMAXPROCS(0))); err != nil {
			panic(err)
		}
	}
	m.Run()
}

// desk is a folder with a campaign, a list and a configuration, and a sandbox to send to: what an
// operator has. The commands run in this process, through the same function as the binary's main.
type desk struct {
	t      *testing.T
	dir    string
	public string // address of the webhook listener
	env    map[string]string
}

type result struct {
	code           int
	stdout, stderr string
}

func (d *desk) run(args ...string) result {
	d.t.Helper()
	return d.runIn(d.t.Context(), args...)
}

func (d *desk) runIn(ctx context.Context, args ...string) result {
	d.t.Helper()
	var stdout, stderr bytes.Buffer
	code := run(ctx, args, strings.NewReader(""), &stdout, &stderr, d.env)
	return result{code, stdout.String(), stderr.String()}
}

// want runs a command and fails the test unless it exits with code.
func (d *desk) want(code int, args ...string) result {
	d.t.Helper()
	r := d.run(args...)
	if r.code != code {
		d.t.Fatalf("campaignd %s: exit code %d, want %d\nstdout: %s\nstderr: %s", strings.Join(args, " "), r.code, code, r.stdout, r.stderr)
	}
	return r
}

func (d *desk) path(name string) string { return filepath.Join(d.dir, name) }

func (d *desk) write(name, text string) string {
	d.t.Helper()
	if err := os.WriteFile(d.path(name), []byte(text), 0o600); err != nil {
		d.t.Fatal(err)
	}
	return d.path(name)
}

// ports counts the addresses that freePort has tried. It begins at another place in each process.
var ports atomic.Int64

// freePort is an address that was free a moment ago, and that no other test of this process gets. It lies below the ports
// that Linux gives to clients (net.ipv4.ip_local_port_range), so that none of their connections takes it meanwhile.
func freePort(t *testing.T) string {
	t.Helper()
	const low, many = 20000, 12000
	for range 100 {
		addr := fmt.Sprintf("127.0.0.1:%d", low+(int64(os.Getpid())*97+ports.Add(1))%many)
		if l, err := net.Listen("tcp", addr); err == nil {
			if err := l.Close(); err != nil {
				t.Fatal(err)
			}
			return addr
		}
	}
	t.Fatalf("no free port in a hundred from %d on", low)
	return ""
}

const campaignFile = `name: orders
connections: [conn_1]
template: {name: order_update, language: en_US, category: UTILITY, body: ["{{ .first_name }}", "{{ .order }}"]}
recipients: {file: list.csv, columns: {to: phone}}
`

// listOf writes rows that can all be sent.
func listOf(rows int) string {
	var b strings.Builder
	b.WriteString("phone,first_name,order\n")
	for i := range rows {
		fmt.Fprintf(&b, "+23480312%05d,Name %d,A-%d\n", i, i, i)
	}
	return b.String()
}

// newDesk starts a sandbox in which every message is read, changed by change.
func newDesk(t *testing.T, change func(*sandbox.Options)) *desk {
	t.Helper()
	d := &desk{t: t, dir: t.TempDir(), public: freePort(t), env: map[string]string{}}
	o := sandbox.Demo()
	o.Statuses = sandbox.StatusProfile{ // everybody reads, soon
		Sent: sandbox.Delay{Median: 20 * time.Millisecond}, Delivered: sandbox.Delay{Median: 30 * time.Millisecond}, Read: sandbox.Delay{Median: 40 * time.Millisecond},
	}
	o.WebhookURL, o.WebhookSecret = "http://"+d.public+"/webhooks/messaging", sandbox.DemoSecret
	o.RetrySchedule = []time.Duration{50 * time.Millisecond, 200 * time.Millisecond, time.Second}
	if change != nil {
		change(&o)
	}
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	url, done := make(chan string, 1), make(chan error, 1)
	go func() { done <- daemon.ServeSandbox(ctx, "127.0.0.1:0", o, func(u string) { url <- u }) }()
	t.Cleanup(func() {
		stop()
		if err := <-done; err != nil {
			t.Errorf("sandbox: %v", err)
		}
	})
	select {
	case u := <-url:
		d.env["CAMPAIGND_SERVICE_BASE_URL"] = u
	case err := <-done:
		done <- err
		t.Fatalf("sandbox: %v", err)
	}
	d.env["CAMPAIGND_SERVICE_API_KEY"] = sandbox.DemoKey
	d.env["CAMPAIGND_WEBHOOKS_SECRETS"] = sandbox.DemoSecret
	d.env["CAMPAIGND_LEDGER"] = "sqlite:" + d.path("campaignd.db")
	d.env["CAMPAIGND_LISTEN_PUBLIC"] = d.public
	d.env["CAMPAIGND_LISTEN_ADMIN"] = "127.0.0.1:0"
	d.env["CAMPAIGND_CAMPAIGNS"] = d.path("campaigns")
	d.write("c.yaml", campaignFile)
	d.write("list.csv", listOf(40))
	return d
}

type reportFacts struct {
	Run struct {
		ID, State string
	}
	Rows    int64
	Totals  map[string]int64
	Skipped map[string]int64
	Failed  map[string]int64
}

func (d *desk) report(args ...string) reportFacts {
	d.t.Helper()
	var r reportFacts
	if err := json.Unmarshal([]byte(d.want(0, append([]string{"report", "--format", "json"}, args...)...).stdout), &r); err != nil {
		d.t.Fatal(err)
	}
	return r
}

func TestRunSendsAListAndAccountsForEveryRow(t *testing.T) {
	t.Parallel()
	d := newDesk(t, nil)
	d.write("list.csv", listOf(40)+"+2348031200003,again,A-3\nnot a number,X,A-41\n+2348031299999,,A-42\n")
	r := d.want(0, "run", d.path("c.yaml"), "-o", "json", "--settle", "20s")
	var report reportFacts
	if err := json.Unmarshal([]byte(r.stdout), &report); err != nil {
		t.Fatalf("standard output is not the report alone: %v\n%s", err, r.stdout)
	}
	if report.Rows != 43 || report.Skipped["duplicate"] != 1 || report.Skipped["invalid_phone"] != 1 || report.Skipped["missing_variable"] != 1 {
		t.Errorf("%d rows, skipped %v, want 43, with one duplicate, one invalid_phone and one missing_variable", report.Rows, report.Skipped)
	}
	if sent := report.Totals["sent"] + report.Totals["delivered"] + report.Totals["read"]; sent != 40 {
		t.Errorf("%d rows were sent, want 40: %v", sent, report.Totals)
	}
	if !strings.Contains(r.stderr, "sending") {
		t.Errorf("no progress on standard error:\n%s", r.stderr)
	}
	if got := d.want(0, "audit", "latest").stdout; !strings.Contains(got, "the sum balances: 43 rows") {
		t.Errorf("audit: %s", got)
	}
	rows, err := csv.NewReader(strings.NewReader(d.want(0, "report", "orders-1", "--format", "csv").stdout)).ReadAll()
	if err != nil || len(rows) != 44 {
		t.Fatalf("report.csv has %d lines: %v", len(rows), err)
	}
	if got := strings.Join(rows[0], ","); got != "row,to,connection,status,reason,code,message_id,attempts,accepted_at,sent_at,delivered_at,read_at,failed_at,phone,first_name,order" {
		t.Errorf("header %s", got)
	}
	if got := d.want(0, "why", "1").stdout; !strings.Contains(got, "it waits for nothing: it is finished") {
		t.Errorf("why: %s", got)
	}
	if got := d.want(0, "runs").stdout; !strings.Contains(got, "orders-1") || !strings.Contains(got, "finished") {
		t.Errorf("runs: %s", got)
	}
}

func TestFinishedRunIsReportedAgainAndSendsNothing(t *testing.T) {
	t.Parallel()
	d := newDesk(t, nil)
	d.want(0, "run", d.path("c.yaml"))
	first := d.report("latest")
	again := d.want(0, "run", d.path("c.yaml"))
	if !strings.Contains(again.stderr, "nothing was sent") {
		t.Errorf("stderr: %s", again.stderr)
	}
	if d.accepted() != 40 {
		t.Errorf("the sandbox accepted %d messages, want 40", d.accepted())
	}
	d.want(0, "run", d.path("c.yaml"), "--new")
	if second := d.report("latest"); second.Run.ID == first.Run.ID || d.accepted() != 80 {
		t.Errorf("--new: run %s, %d accepted", second.Run.ID, d.accepted())
	}
}

// accepted asks the sandbox how many messages it took.
func (d *desk) accepted() int64 {
	d.t.Helper()
	var sum int64
	for _, n := range d.truth().Connections {
		sum += n.Accepted
	}
	return sum
}

// truth asks the sandbox what happened there, without the messages.
func (d *desk) truth() sandbox.Truth {
	d.t.Helper()
	resp, err := http.Get(d.env["CAMPAIGND_SERVICE_BASE_URL"] + "/sandbox/stats")
	if err != nil {
		d.t.Fatal(err)
	}
	defer resp.Body.Close()
	var stats struct{ Data sandbox.Truth }
	if err := json.NewDecoder(resp.Body).Decode(&stats); err != nil {
		d.t.Fatal(err)
	}
	return stats.Data
}

// A header's file is stored once for a run, however many numbers send it and however often the command is given.
func TestARunUploadsItsHeaderFileOnce(t *testing.T) {
	t.Parallel()
	d := newDesk(t, func(o *sandbox.Options) {
		o.Timeline = []sandbox.Step{{AfterMessages: 5, Template: "spring_sale_banner", Status: "paused"}}
	})
	d.env["CAMPAIGND_SENDING_BACKOFF"] = "50ms" // of those that were refused meanwhile
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
	resp, err := http.Post(d.env["CAMPAIGND_SERVICE_BASE_URL"]+"/sandbox/templates/spring_sale_banner/status", "application/json", strings.NewReader(`{"status": "approved"}`))
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	d.want(0, "run", file) // goes on
	d.want(0, "run", file) // reports again
	if n := d.accepted(); n != 40 {
		t.Fatalf("%d accepted, want 40", n)
	}
	uploads := d.truth().Uploads
	if len(uploads) != 1 || uploads[0].Connection != "conn_1" || uploads[0].ContentType != "image/png" || uploads[0].Bytes != int64(len(banner)) {
		t.Errorf("uploads %+v, want the banner once over conn_1", uploads)
	}
	d.want(0, "run", file, "--new")
	d.want(0, "test", file, "--to", "+2348031299999")
	if n := len(d.truth().Uploads); n != 3 {
		t.Errorf("%d uploads after another run and a test message, want one more for each", n)
	}
}

func TestUncertainRowsAreExitThreeAndResentOnce(t *testing.T) {
	t.Parallel()
	d := newDesk(t, func(o *sandbox.Options) {
		o.Faults.LostBefore = 0.3 // never accepted, and nobody can know
	})
	d.write("c.yaml", campaignFile+"policies: {on_uncertain: hold, doubt_window: 1s}\n")
	if r := d.want(3, "run", d.path("c.yaml"), "--settle", "3s"); !strings.Contains(r.stderr, "are in doubt until") && !strings.Contains(r.stderr, "campaignd resolve") {
		t.Errorf("exit 3, and no word what to do: %s", r.stderr)
	}
	r := d.report("latest")
	if r.Totals["in_doubt"]+r.Totals["unknown"] == 0 {
		t.Fatalf("no row is uncertain: %v", r.Totals)
	}
	for i := 0; r.Run.State != "finished" && i < 20; i++ { // the same command goes on until the windows are over
		d.run("run", d.path("c.yaml"), "--settle", "2s")
		r = d.report("latest")
	}
	unknown := r.Totals["unknown"]
	if r.Run.State != "finished" || unknown == 0 {
		t.Fatalf("run %s is %s with %d unknown", r.Run.ID, r.Run.State, unknown)
	}
	if got := d.want(0, "resolve", r.Run.ID).stdout; !strings.Contains(got, fmt.Sprintf("%d rows unknown", unknown)) || !strings.Contains(got, "--unknown") {
		t.Errorf("resolve: %s", got)
	}
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
	if first.FollowUp.Rows != unknown || first.FollowUp.Existed || !second.FollowUp.Existed || second.FollowUp.Run.ID != first.FollowUp.Run.ID {
		t.Errorf("resend twice gave %+v and %+v for %d unknown rows", first, second, unknown)
	}
	if r := d.run("follow-up", r.Run.ID, "--where", "unknown", "--where", "failed"); r.code != 1 || !strings.Contains(r.stderr, "another follow-up run") {
		t.Errorf("an overlapping choice: exit %d, %s", r.code, r.stderr)
	}
}

func TestCheckSendsNothingAndNamesEveryBadRow(t *testing.T) {
	t.Parallel()
	d := newDesk(t, nil)
	d.write("list.csv", listOf(3)+"0803,X,A\n,Y,B\n")
	r := d.want(0, "check", d.path("c.yaml"), "--rejects", d.path("bad.csv"))
	if !strings.Contains(r.stdout, "5 rows, 3 can be sent") {
		t.Errorf("check: %s", r.stdout)
	}
	d.want(2, "check", d.path("c.yaml"), "--strict")
	text, err := os.ReadFile(d.path("bad.csv"))
	if err != nil {
		t.Fatal(err)
	}
	rows, err := csv.NewReader(bytes.NewReader(text)).ReadAll()
	if err != nil || len(rows) != 3 || rows[0][3] != "reject_line" || rows[1][4] != "invalid_phone" || rows[2][4] != "missing_phone" {
		t.Errorf("rejects: %v %v", rows, err)
	}
	d.write("list.csv", "phone,first_name,order\n0803,X,A\n")
	if r := d.want(2, "check", d.path("c.yaml")); !strings.Contains(r.stderr, "can be sent") {
		t.Errorf("no sendable row: %s", r.stderr)
	}
	if _, err := os.Stat(d.path("campaignd.db")); err == nil {
		t.Error("check made a ledger")
	}
	if d.accepted() != 0 {
		t.Error("check sent something")
	}
}

func TestPreviewAndTestUseTheValuesOfOneRow(t *testing.T) {
	t.Parallel()
	d := newDesk(t, nil)
	if got := d.want(0, "preview", d.path("c.yaml"), "--row", "3", "-o", "json").stdout; !json.Valid([]byte(got)) {
		t.Errorf("preview -o json = %s, want JSON alone", got)
	}
	if got := d.want(0, "preview", d.path("c.yaml"), "--row", "3").stdout; !strings.Contains(got, "Hello Name 2, your order A-2 is on its way.") || !strings.Contains(got, `"connectionId": "conn_1"`) {
		t.Errorf("preview: %s", got)
	}
	if d.accepted() != 0 {
		t.Error("preview sent something")
	}
	if got := d.want(0, "test", d.path("c.yaml"), "--to", "+2348039999999").stdout; !strings.Contains(got, "accepted by the service for +2348039999999") {
		t.Errorf("test: %s", got)
	}
	if d.accepted() != 1 {
		t.Errorf("test sent %d messages, want 1", d.accepted())
	}
	d.want(0, "suppressions", "add", "+2348039999999", "--scope", "all")
	if r := d.want(1, "test", d.path("c.yaml"), "--to", "+2348039999999"); !strings.Contains(r.stderr, "suppression list") {
		t.Errorf("test to a suppressed number: %s", r.stderr)
	}
	if r := d.run("preview", d.path("c.yaml"), "--row", "999"); r.code != 2 || !strings.Contains(r.stderr, "no row 999") {
		t.Errorf("preview of no row: %d %s", r.code, r.stderr)
	}
}

func TestSuppressedNumbersAreNotSentTo(t *testing.T) {
	t.Parallel()
	d := newDesk(t, nil)
	file := d.write("stop.csv", "phone,scope\n+2348031200001,all\n+2348031200002,marketing\nnobody,all\n")
	if r := d.want(2, "suppressions", "import", file); !strings.Contains(r.stdout, "3 rows: 2 added") || !strings.Contains(r.stderr, "stop.csv:4:") {
		t.Errorf("import: %s%s", r.stdout, r.stderr)
	}
	d.want(0, "suppressions", "add", "+2348031200003", "--scope", "all")
	if got := d.want(0, "suppressions", "add", "+2348031200003", "--scope", "all").stdout; !strings.Contains(got, "0 added, 1 already there") {
		t.Errorf("add twice: %s", got)
	}
	exported := d.want(0, "suppressions", "export").stdout
	if strings.Count(exported, "\n") != 4 || !strings.Contains(exported, "+2348031200001,all,import,") {
		t.Errorf("export:\n%s", exported)
	}
	if got := d.want(0, "suppressions", "import", d.write("back.csv", exported)).stdout; !strings.Contains(got, "3 rows: 0 added, 3 already there") {
		t.Errorf("an export does not come back as it was: %s", got)
	}
	d.want(0, "suppressions", "add", "+2348031200003")
	if got := d.want(0, "suppressions", "remove", "+2348031200003", "+2348031200099").stdout; !strings.Contains(got, "1 removed, 1 were not there") {
		t.Errorf("remove says %q; it should lift every scope", got)
	}
	if got := d.want(0, "suppressions", "export").stdout; strings.Contains(got, "+2348031200003") {
		t.Errorf("a number is still suppressed after its removal:\n%s", got)
	}
	d.want(0, "run", d.path("c.yaml"), "--settle", "10s")
	// The template is a utility: marketing opt-outs do not apply to it.
	if r := d.report("latest"); r.Skipped["suppressed"] != 1 || r.Totals["skipped"] != 1 {
		t.Errorf("skipped %v", r.Skipped)
	}
}

func TestCancelledRowsGoIntoAFollowUp(t *testing.T) {
	t.Parallel()
	d := newDesk(t, nil)
	d.write("c.yaml", campaignFile+"policies: {approval: true}\n")
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	ended := make(chan result, 1)
	go func() { ended <- d.runIn(ctx, "run", d.path("c.yaml")) }()
	d.eventually("it waits for approval", func() bool { return strings.Contains(d.run("why", "latest").stdout, "waits for approval") })
	stop()
	if r := <-ended; r.code != 130 {
		t.Fatalf("a run that waits for approval was interrupted: exit code %d, want 130: %s", r.code, r.stdout)
	}
	if r := d.want(1, "resume", "latest"); !strings.Contains(r.stderr, "campaignd approve orders-1") {
		t.Errorf("resume: %s", r.stderr)
	}
	d.want(0, "cancel", "latest")
	d.want(0, "run", d.path("c.yaml"))
	if r := d.report("latest"); r.Run.State != "cancelled" || r.Skipped["cancelled"] != 40 {
		t.Fatalf("report %+v", r)
	}
	if r := d.want(1, "approve", "latest"); !strings.Contains(r.stderr, "is cancelled") {
		t.Errorf("approve: %s", r.stderr)
	}
	if got := d.want(0, "follow-up", "orders-1", "--where", "skipped=cancelled").stdout; !strings.Contains(got, "orders-2: 40 rows") || !strings.Contains(got, "campaignd approve orders-2") {
		t.Errorf("follow-up: %s", got)
	}
	d.want(0, "approve", "orders-2")
	if got := d.want(0, "pause", "orders-2", "-o", "json").stdout; !strings.Contains(got, `"wanted": "pause"`) {
		t.Errorf("pause: %s", got)
	}
	d.want(0, "resume", "orders-2")
	d.serveUntil(func() bool { return d.report("orders-2").Run.State == "finished" })
	if d.accepted() != 40 {
		t.Errorf("%d accepted, want 40", d.accepted())
	}
	d.want(0, "audit", "orders-2")
}

// serveUntil runs serve beside the commands until done says so.
func (d *desk) serveUntil(done func() bool) {
	d.t.Helper()
	ctx, stop := context.WithTimeout(d.t.Context(), 30*time.Second)
	defer stop()
	ended := make(chan result, 1)
	go func() { ended <- d.runIn(ctx, "serve") }()
	for !done() {
		select {
		case r := <-ended:
			d.t.Fatalf("serve ended: %d %s", r.code, r.stderr)
		case <-time.After(100 * time.Millisecond):
		}
	}
	stop()
	if r := <-ended; r.code != 0 {
		d.t.Errorf("serve: exit code %d after its stop: %s", r.code, r.stderr)
	}
}

// Whoever reads the report of a run is told who takes what is missing in it.
func TestRunSaysWhoTakesTheStatusesThatAreStillToCome(t *testing.T) {
	t.Parallel()
	d := newDesk(t, func(o *sandbox.Options) { o.Statuses.Undelivered = 1 })
	r := d.want(0, "run", d.path("c.yaml"), "--settle", "200ms")
	if want := "campaignd: no word of delivery has come for 40 of the messages of orders-1: `campaignd serve`"; strings.Count(r.stderr, want) != 1 {
		t.Errorf("want one line with %s:\n%s", want, r.stderr)
	}
	if again := d.want(0, "run", d.path("c.yaml")).stderr; strings.Contains(again, "still to come") {
		t.Errorf("a run that ended before waits for nothing: %s", again)
	}
	delivered := newDesk(t, nil)
	if r := delivered.want(0, "run", delivered.path("c.yaml")); strings.Contains(r.stderr, "still to come") {
		t.Errorf("everybody has read it, and yet: %s", r.stderr)
	}
}

// Before anything is sent there is no report to print: one line says what became of the command.
func TestAnInterruptedCommandSaysSo(t *testing.T) {
	t.Parallel()
	d := newDesk(t, nil)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, tt := range []struct{ command, want string }{
		{"check", "campaignd: interrupted\n"},
		{"run", "campaignd: interrupted while the list was read; the same command goes on\n"},
	} {
		if r := d.runIn(ctx, tt.command, d.path("c.yaml")); r.code != 130 || !strings.HasSuffix(r.stderr, tt.want) || r.stdout != "" {
			t.Errorf("%s: exit %d\n%s%s", tt.command, r.code, r.stderr, r.stdout)
		}
	}
}

// pausingTemplate takes the template out of use after some messages, as the platform does.
func pausingTemplate(o *sandbox.Options) {
	o.Timeline = []sandbox.Step{{AfterMessages: 5, Template: "order_update", Status: "paused"}}
}

// A pause that the service ends is no end of the command: it goes on when the template is approved.
func TestRunGoesOnWhenThePausedTemplateIsApproved(t *testing.T) {
	t.Parallel()
	d := newDesk(t, pausingTemplate)
	d.env["CAMPAIGND_SENDING_BACKOFF"] = "50ms" // of those that were refused meanwhile
	stderr, waits := io.Pipe()
	ended := make(chan int, 1)
	go func() {
		ended <- run(t.Context(), []string{"run", d.path("c.yaml"), "--settle", "25s"}, strings.NewReader(""), io.Discard, waits, d.env)
		waits.Close()
	}()
	lines := bufio.NewScanner(stderr)
	for lines.Scan() && !strings.Contains(lines.Text(), "for the service to approve it again") {
	}
	resp, err := http.Post(d.env["CAMPAIGND_SERVICE_BASE_URL"]+"/sandbox/templates/order_update/status", "application/json", strings.NewReader(`{"status": "approved"}`))
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	last := ""
	for lines.Scan() {
		last = lines.Text()
	}
	if code := <-ended; code != 0 {
		t.Errorf("exit code %d, want 0; it says %s", code, last)
	}
	if d.accepted() != 40 {
		t.Errorf("%d accepted, want 40", d.accepted())
	}
}

func TestRunEndsWithThreeWhenThePausedTemplateStaysAway(t *testing.T) {
	t.Parallel()
	d := newDesk(t, pausingTemplate)
	r := d.want(3, "run", d.path("c.yaml"), "--settle", "1s")
	if !strings.Contains(r.stderr, "orders-1 is paused (template)") || !strings.Contains(r.stderr, "campaignd resume orders-1") {
		t.Errorf("exit 3, and no word why:\n%s", r.stderr)
	}
	d.want(0, "audit", "latest")
}

var stackTrace = regexp.MustCompile(`goroutine \d+ \[|panic:|\.go:\d+`)

func TestWrongUseIsOneLineWithTheRemedy(t *testing.T) {
	t.Parallel()
	d := newDesk(t, nil)
	d.write("campaigns.yaml", "nme: x\n")
	d.write("tab.yaml", "name: x\n\tlimits: {}\n")
	d.write("ledger.cfg", "ledger: sqlite:"+d.path("none.db")+"\n")
	d.write("empty.csv", "")
	d.write("header.csv", "phone,first_name,order\n")
	busy, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer busy.Close()
	for _, tt := range []struct {
		env  string
		args []string
		code int
		want string
	}{
		{"", []string{"bogus"}, 2, `unknown command "bogus"`},
		{"", []string{"rnu"}, 2, "did you mean `campaignd run`?"},
		{"", []string{"config", "bogus"}, 2, `unknown command "bogus"`},
		{"", []string{"run"}, 2, "want one campaign file"},
		{"", []string{"run", "absent.yaml"}, 2, "absent.yaml does not exist"},
		{"", []string{"run", d.path("c.yaml"), "--bogus"}, 2, "unknown flag: --bogus; `campaignd run --help` lists them"},
		{"", []string{"run", d.path("c.yaml"), "--recipient", "x"}, 2, "unknown flag: --recipient; did you mean --recipients?"},
		{"", []string{"report", "latest", "-f", "csv"}, 2, "`campaignd report --help` lists them"},
		{"", []string{"check", d.dir}, 2, "is a folder; name a campaign file in it"},
		{"", []string{"runs", "latest"}, 2, "`campaignd runs` takes no argument"},
		{"", []string{"config", "schema", "bogus"}, 2, "want config or campaign"},
		{"", []string{"completion", "nosh"}, 2, `unknown command "nosh"`},
		{"", []string{"suppressions", "add"}, 2, "want one NUMBER or more"},
		{"", []string{"suppressions", "import"}, 2, "want one FILE"},
		{"", []string{"suppressions", "import", d.path("absent.csv")}, 2, "absent.csv: there is no such file; check the path"},
		{"", []string{"suppressions", "export", d.path("a"), d.path("b")}, 2, "want one FILE or none"},
		{"", []string{"suppressions", "export", d.path("no/such/folder.csv")}, 2, "name a file in a folder that is there"},
		{"", []string{"sandbox", "--webhook", "foo", "--addr", "127.0.0.1:0"}, 2, `--webhook: "foo" is not a URL`},
		{"", []string{"run", d.path("tab.yaml")}, 2, "tab.yaml:2:1: a tab stands where YAML wants spaces; indent with spaces"},
		{"", []string{"run", d.path("c.yaml"), "--recipients", d.path("absent.csv")}, 2, "absent.csv"},
		{"", []string{"run", d.path("c.yaml"), "--recipients", d.path("empty.csv")}, 2, "empty.csv"},
		{"", []string{"run", d.path("c.yaml"), "--recipients", d.path("header.csv")}, 2, "header.csv"},
		{"", []string{"run", d.path("campaigns.yaml")}, 2, `unknown key "nme"`},
		{"", []string{"run", d.path("c.yaml"), "--settle", "soon"}, 2, "--settle"},
		{"", []string{"report"}, 2, "want one RUN"},
		{"", []string{"report", "latest", "--format", "xml"}, 2, "--format"},
		{"CAMPAIGND_LEDGER=sqlite:" + d.path("none.db"), []string{"report", "latest"}, 2, "there is no ledger"},
		{"", []string{"report", "orders-7"}, 2, "orders-7"},
		{"", []string{"audit", "latest", "-o", "yaml"}, 2, "want table or json"},
		{"", []string{"report", "latest", "--config", "absent.yaml"}, 2, "absent.yaml does not exist"},
		{"", []string{"follow-up", "latest"}, 2, "--where is missing"},
		{"", []string{"follow-up", "latest", "--where", "read"}, 2, "chooses no rows that may be sent again"},
		{"", []string{"resolve", "latest", "--unknown", "maybe"}, 2, "neither resend nor keep"},
		{"", []string{"suppressions", "add", "0803"}, 2, `"0803" has no + and country code`},
		{"", []string{"suppressions", "add", "+234x"}, 2, `not a phone number: "+234x"`},
		{"", []string{"test", d.path("c.yaml"), "--to", "0803"}, 2, `"0803" has no + and country code`},
		{"", []string{"suppressions", "add", "+2348031234567", "--scope", "some"}, 2, `scope "some" is unknown`},
		{"", []string{"sandbox", "--fault", "lost=1"}, 2, "--fault"},
		{"", []string{"sandbox", "--addr", busy.Addr().String()}, 1, "--addr"},
		{"", []string{"version", "--log-level"}, 2, "log-level"},
		{"", []string{"serve", "--log-level", "loud"}, 2, "--log-level"},
		{"CAMPAIGND_LISTEN_PUBLIC=" + busy.Addr().String(), []string{"run", d.path("c.yaml")}, 1, "listen.public"},
		{"CAMPAIGND_SERVICE_API_KEY=wrong", []string{"run", d.path("c.yaml")}, 1, "401"},
		{"CAMPAIGND_SERVICE_BASE_URL=http://" + freePort(t), []string{"check", d.path("c.yaml")}, 1, "not_connected"},
		{"CAMPAIGND_LEDGER=sqlite:" + d.path("no/such/folder.db"), []string{"run", d.path("c.yaml")}, 1, "does not exist: create it"},
		{"CAMPAIGND_LEDGER=mysql://x", []string{"runs"}, 2, "is not a ledger"},
	} {
		key, value, _ := strings.Cut(tt.env, "=")
		before, had := d.env[key]
		if key != "" {
			d.env[key] = value
		}
		r := d.run(tt.args...)
		if key != "" {
			delete(d.env, key)
			if had {
				d.env[key] = before
			}
		}
		if r.code != tt.code || !strings.Contains(r.stderr, tt.want) {
			t.Errorf("%s campaignd %s: exit %d, want %d with %q\n%s", tt.env, strings.Join(tt.args, " "), r.code, tt.code, tt.want, r.stderr)
		}
		if lines := strings.Split(strings.TrimSuffix(r.stderr, "\n"), "\n"); len(lines) != 1 || !strings.HasPrefix(lines[0], "campaignd: ") || stackTrace.MatchString(r.stderr) {
			t.Errorf("%s campaignd %s: not one plain line:\n%s", tt.env, strings.Join(tt.args, " "), r.stderr)
		}
		if r.stdout != "" {
			t.Errorf("campaignd %s: standard output carries %q", strings.Join(tt.args, " "), r.stdout)
		}
	}
}

func TestEveryCommandHasHelpWithAnExample(t *testing.T) {
	p := &program{stdin: strings.NewReader(""), stdout: &bytes.Buffer{}, stderr: &bytes.Buffer{}}
	var names []string
	for _, c := range p.root().Commands() {
		names = append(names, c.Name())
		for _, leaf := range append(c.Commands(), c) {
			if leaf.Short == "" || leaf.Example == "" && !leaf.HasSubCommands() {
				t.Errorf("%s has no short text or no example", leaf.CommandPath())
			}
		}
	}
	for _, want := range []string{"run", "serve", "demo", "check", "report", "audit", "why", "runs", "pause", "resume", "cancel", "approve", "suppressions", "preview", "test", "resolve", "follow-up", "sandbox", "schedule", "config", "version"} {
		if !slices.Contains(names, want) {
			t.Errorf("no command %s", want)
		}
	}
}

// Every example of --help that only looks or steers is pasted as it stands, over the three runs that the examples speak of.
func TestExamplesOfHelpWorkWhenPasted(t *testing.T) {
	d := newDesk(t, nil)
	t.Chdir(d.dir)
	d.write("spring.yaml", strings.NewReplacer("orders", "spring-sale", "{file: list.csv, ", "{").Replace(campaignFile))
	d.write("list.csv", listOf(50))
	d.write("do-not-contact.csv", "phone\n+2348031299998\n")
	for range 3 {
		d.want(0, "run", "spring.yaml", "--recipients", "list.csv", "--new", "--settle", "0s")
	}
	pasted := 0
	p := &program{stdin: strings.NewReader(""), stdout: &bytes.Buffer{}, stderr: &bytes.Buffer{}}
	var paste func(c *cobra.Command)
	paste = func(c *cobra.Command) {
		for _, sub := range c.Commands() {
			paste(sub)
		}
		switch c.CommandPath() {
		case "campaignd", "campaignd serve", "campaignd sandbox", "campaignd demo": // tried by tests of their own: they do not end, or take long
			return
		case "campaignd pause", "campaignd resume", "campaignd cancel", "campaignd approve", "campaignd follow-up", "campaignd resolve": // refuse a run that has ended, or has no such rows
			return
		case "campaignd completion bash", "campaignd completion zsh", "campaignd completion fish", "campaignd completion powershell": // of a shell
			return
		}
		for line := range strings.SplitSeq(c.Example, "\n") {
			line, _, _ = strings.Cut(line, " > ")
			words := strings.Fields(line)
			if len(words) == 0 {
				continue
			}
			if strings.Contains(words[0], "=") { // a variable before the command, which is tried without it
				words = words[1:]
			}
			if words[0] != "campaignd" {
				t.Errorf("%q is not a command of this program", line)
				continue
			}
			pasted++
			if r := d.run(words[1:]...); r.code != 0 {
				t.Errorf("%s: exit %d\n%s", line, r.code, r.stderr)
			}
		}
	}
	paste(p.root())
	if pasted < 25 {
		t.Errorf("only %d examples were found", pasted)
	}
}

func TestConfigurationIsShownAndDescribed(t *testing.T) {
	d := &desk{t: t, dir: t.TempDir(), env: map[string]string{"CAMPAIGND_SERVICE_API_KEY": "canary"}}
	d.env["CAMPAIGND_LOG_LEVEL"] = "debug"
	r := d.want(0, "config", "show")
	if strings.Contains(r.stdout, "canary") || !strings.Contains(r.stdout, "level: debug") {
		t.Errorf("config show:\n%s", r.stdout)
	}
	for _, args := range [][]string{{"config", "schema"}, {"config", "schema", "campaign"}, {"config", "show", "-o", "json"}, {"version", "-o", "json"}} {
		if r := d.want(0, args...); !json.Valid([]byte(r.stdout)) {
			t.Errorf("campaignd %s prints no JSON: %s", strings.Join(args, " "), r.stdout)
		}
	}
	if r := d.want(0, "completion", "bash"); !strings.Contains(r.stdout, "bash completion") {
		t.Error("no completion")
	}
}

func TestScheduleListsTheNextFirings(t *testing.T) {
	d := &desk{t: t, dir: t.TempDir(), env: map[string]string{}}
	d.env["CAMPAIGND_CAMPAIGNS"] = d.dir
	d.write("c.yaml", campaignFile+"schedule: {cron: \"0 9 * * MON\", timezone: Africa/Lagos}\n")
	var firings []struct{ Campaign, Local string }
	if err := json.Unmarshal([]byte(d.want(0, "schedule", "--next", "2", "-o", "json").stdout), &firings); err != nil {
		t.Fatal(err)
	}
	if len(firings) != 2 || firings[0].Campaign != "orders" || !strings.HasPrefix(firings[0].Local, "Mon ") || !strings.HasSuffix(firings[0].Local, "09:00 WAT") {
		t.Errorf("firings %+v", firings)
	}
	d.write("bad.yaml", "name: [\n")
	if r := d.want(2, "schedule"); !strings.Contains(r.stdout, "orders") || !strings.Contains(r.stderr, "bad.yaml") {
		t.Errorf("with a faulty file: %s%s", r.stdout, r.stderr)
	}
}

// What is wrong with a schedule is one line with its place, the same wherever the file is read.
func TestAScheduleThatCannotFireIsNamedWithItsLine(t *testing.T) {
	t.Parallel()
	d := newDesk(t, nil)
	if err := os.Mkdir(d.path("campaigns"), 0o700); err != nil {
		t.Fatal(err)
	}
	bad := d.write("campaigns/bad.yaml", campaignFile+"schedule:\n  timezone: Africa/Lagos\n  cron: \"0 9 * * 7\"\n")
	worse := d.write("campaigns/worse.yaml", campaignFile+"window: {hours: \"9-18\"}\n")
	d.write("campaigns/list.csv", listOf(1))
	faults := []string{
		bad + `:7:3: schedule.cron: "0 9 * * 7": day of week "7": Sunday is 0 or SUN`,
		worse + `:5:10: window.hours: "9-18" are no hours: want 09:00-18:00, each with two digits; the end may be 24:00`,
	}
	if got, want := d.want(2, "schedule").stderr, "campaignd: "+faults[0]+"\ncampaignd: "+faults[1]+"\n"; got != want {
		t.Errorf("schedule says\n%swant\n%s", got, want)
	}
	for _, command := range []string{"check", "run"} {
		if got, want := d.want(2, command, bad).stderr, "campaignd: "+faults[0]+"\n"; got != want {
			t.Errorf("%s says\n%swant\n%s", command, got, want)
		}
	}
}
