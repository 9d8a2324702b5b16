package main

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"flag"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"campaignd/internal/daemon"
	"campaignd/internal/sandbox"
)

// The tests wait for a sandbox longer than they compute, so three of them per core run at once
// unless -parallel is given.
func TestMain(m *testing.M) {
	if os.Getenv(actAsCampaignd) != "" {
		main()
		return
	}
	debug.SetGCPercent(400) // many short commands in one process: a sixth of the time was the collector's
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

// fixture is that of these tests: a folder with a campaign, a list and a ledger, the
// environment of a command, and a sandbox to send to. The commands run in this process, through the
// same function as the binary's main.
type fixture struct {
	t      *testing.T
	dir    string
	public string // address of the webhook listener
	env    map[string]string
	config string // the configuration file of every command; "": none
}

// newFixture starts a sandbox in which every message is soon read. change may alter its options.
func newFixture(t *testing.T, change func(*sandbox.Options)) *fixture {
	t.Helper()
	d := &fixture{t: t, dir: t.TempDir(), public: freePort(t), env: map[string]string{}}
	o := sandbox.Demo()
	o.Statuses = sandbox.StatusProfile{
		Sent:      sandbox.Delay{Median: 20 * time.Millisecond},
		Delivered: sandbox.Delay{Median: 30 * time.Millisecond},
		Read:      sandbox.Delay{Median: 40 * time.Millisecond},
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
			t.Errorf("ServeSandbox = %v, want nil", err)
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

func (d *fixture) path(name string) string { return filepath.Join(d.dir, name) }

func (d *fixture) write(name, text string) string {
	d.t.Helper()
	if err := os.WriteFile(d.path(name), []byte(text), 0o600); err != nil {
		d.t.Fatal(err)
	}
	return d.path(name)
}

type result struct {
	code           int
	stdout, stderr string
}

func (d *fixture) run(args ...string) result {
	d.t.Helper()
	return d.runIn(d.t.Context(), args...)
}

func (d *fixture) runIn(ctx context.Context, args ...string) result {
	d.t.Helper()
	var stdout, stderr bytes.Buffer
	if d.config != "" {
		args = append(slices.Clone(args), "--config", d.config)
	}
	code := run(ctx, args, strings.NewReader(""), &stdout, &stderr, d.env)
	r := result{code, stdout.String(), stderr.String()}
	d.reads(r, args)
	return r
}

// want runs a command and fails the test unless it exits with code.
func (d *fixture) want(code int, args ...string) result {
	d.t.Helper()
	r := d.run(args...)
	if r.code != code {
		d.t.Fatalf("campaignd %s: exit code %d, want %d\nstdout: %s\nstderr: %s", strings.Join(args, " "), r.code, code, r.stdout, r.stderr)
	}
	return r
}

const campaignFile = `name: orders
connections: [conn_1]
template: {name: order_update, language: en_US, category: UTILITY, body: ["{{ .first_name }}", "{{ .order }}"]}
recipients: {file: list.csv, columns: {to: phone}}
`

// marketingFile is a campaign of a template that people should get once.
const marketingFile = `name: orders
connections: [conn_1]
template: {name: newsletter, language: en_US}
recipients: {file: list.csv, columns: {to: phone}}
`

// listOf returns a list whose rows can all be sent.
func listOf(rows int) string {
	var b strings.Builder
	b.WriteString("phone,first_name,order\n")
	for i := range rows {
		fmt.Fprintf(&b, "+23480312%05d,Name %d,A-%d\n", i, i, i)
	}
	return b.String()
}

// ports counts the addresses that freePort has tried.
var ports atomic.Int64

// freePort returns an address that was free a moment ago and that no other test of this process
// gets. Its port is below those that Linux gives to clients (net.ipv4.ip_local_port_range), so that
// no outgoing connection takes it meanwhile, and below those of internal/daemon/harness, whose
// tests run at the same time. The first port differs between processes.
func freePort(t *testing.T) string {
	t.Helper()
	const low, many = 20000, 6000
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

// reportFacts is what the tests read in a report.
type reportFacts struct {
	Run struct {
		ID, State string
	}
	Rows    int64
	Totals  map[string]int64
	Skipped map[string]int64
	Failed  map[string]int64
}

func (d *fixture) report(args ...string) reportFacts {
	d.t.Helper()
	var r reportFacts
	if err := json.Unmarshal([]byte(d.want(0, append([]string{"report", "--format", "json"}, args...)...).stdout), &r); err != nil {
		d.t.Fatal(err)
	}
	return r
}

// accepted returns how many messages the sandbox accepted.
func (d *fixture) accepted() int64 {
	d.t.Helper()
	var sum int64
	for _, n := range d.truth().Connections {
		sum += n.Accepted
	}
	return sum
}

// truth returns what happened in the sandbox, without the messages.
func (d *fixture) truth() sandbox.Truth {
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

// approveTemplate makes the sandbox approve a template.
func (d *fixture) approveTemplate(name string) {
	d.t.Helper()
	url := d.env["CAMPAIGND_SERVICE_BASE_URL"] + "/sandbox/templates/" + name + "/status"
	resp, err := http.Post(url, "application/json", strings.NewReader(`{"status": "approved"}`))
	if err != nil {
		d.t.Fatal(err)
	}
	resp.Body.Close()
}

// serveUntil runs serve beside the commands until done returns true, and returns its log.
func (d *fixture) serveUntil(done func() bool) string {
	d.t.Helper()
	ctx, stop := context.WithTimeout(d.t.Context(), longWait)
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
	r := <-ended
	if r.code != 0 {
		d.t.Errorf("serve: exit code %d after its stop, want 0: %s", r.code, r.stderr)
	}
	return r.stderr
}

// wantIn fails the test unless text contains each of wants.
func wantIn(t *testing.T, what, text string, wants ...string) {
	t.Helper()
	for _, want := range wants {
		if !strings.Contains(text, want) {
			t.Errorf("%s: got\n%s\nwant %q in it", what, text, want)
		}
	}
}

// says runs a command and compares its exit code and both streams with the wanted ones.
func (d *fixture) says(code int, stdout, stderr string, args ...string) {
	d.t.Helper()
	r := d.run(args...)
	if r.code != code || r.stdout != stdout || r.stderr != stderr {
		d.t.Errorf("campaignd %s:\ngot  %d, standard output %q, standard error %q\nwant %d, standard output %q, standard error %q",
			strings.Join(args, " "), r.code, r.stdout, r.stderr, code, stdout, stderr)
	}
}

// spoil changes the ledger by an SQL statement of the test.
func (d *fixture) spoil(statement string) {
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

// longWait bounds each wait for what a busy machine may take long for. A wait ends as soon as its
// condition holds.
const longWait = 4 * time.Minute

// eventually waits until ok returns true, at most longWait.
func (d *fixture) eventually(what string, ok func() bool) {
	d.t.Helper()
	for end := time.Now().Add(longWait); !ok(); time.Sleep(50 * time.Millisecond) {
		if time.Now().After(end) {
			d.t.Fatalf("got nothing within %v, want that %s", longWait, what)
		}
	}
}

// serving starts serve and returns when it answers. The caller ends it with stop.
func (d *fixture) serving(args ...string) (stop func()) {
	d.t.Helper()
	ctx, cancel := context.WithTimeout(d.t.Context(), longWait)
	var r result
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		r = d.runIn(ctx, append([]string{"serve"}, args...)...)
	}()
	d.t.Cleanup(func() { // its files are removed next
		cancel()
		<-ended
	})
	for up := false; !up; {
		select {
		case <-ended:
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
		if <-ended; r.code != 0 {
			d.t.Errorf("serve: exit code %d after its stop, want 0: %s", r.code, r.stderr)
		}
	}
}
