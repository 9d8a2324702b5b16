//go:build mutants

package harness

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"campaignd/internal/sandbox"
	"campaignd/throttle/throttletest"
)

// world is a folder with a configuration, and a service that runs longer than every process.
type world struct {
	t       *testing.T
	dir     string
	service *sandbox.Sandbox
	hooks   string // address of the webhook listener
	env     []string
	program string                              // which runs the commands, and the replicas that are started
	events  atomic.Pointer[func(sandbox.Event)] // gets the events of the service; nil: none does
	way     atomic.Int64                        // up to so many nanoseconds each request takes to the service, and its answer back
	busy    func() time.Duration                // stops the watch over this process and returns how late it was at worst
}

// mostIn is the most posts that this process may count in a second of a limit. The service runs in
// this process, and notes a request as late as the process is.
func (w *world) mostIn(limit int) int {
	return limit + int(math.Ceil(float64(limit)*w.busy().Seconds()))
}

// withinLimits fails the test when a second of a number exceeded its limit.
func (w *world) withinLimits() {
	w.t.Helper()
	for _, n := range w.service.Stats().Connections {
		if most := w.mostIn(n.Limit); n.WorstSecond > most {
			w.t.Errorf("%s: %d POSTs in one second, want at most %d", n.Connection, n.WorstSecond, most)
		}
	}
}

// The times of a world are shorter than the defaults of 10 s, 15 s and 15 min. The lease is longer
// than a request, as with the defaults.
const (
	requestTimeout = time.Second
	leaseTime      = 2 * time.Second
	doubtWindow    = 2 * time.Second
)

// standard is the usual limit of each of the four numbers in messages per second.
const standard = 80

// newWorld starts the service, with four numbers, statuses that come soon and a retry schedule of
// seconds. change may alter its options.
func newWorld(t *testing.T, rate int, change func(*sandbox.Options)) *world {
	t.Helper()
	w := &world{t: t, dir: t.TempDir(), program: binary, hooks: quietAddress(t), busy: sync.OnceValue(throttletest.Watch())}
	t.Cleanup(func() { w.busy() })
	o := sandbox.Demo()
	o.Seed = *seed
	for i := range o.Connections {
		o.Connections[i].Throughput, o.Connections[i].Rate = "STANDARD", max(rate, standard)
	}
	o.Statuses = sandbox.StatusProfile{
		Sent:      sandbox.Delay{Median: 60 * time.Millisecond, Sigma: 0.6},
		Delivered: sandbox.Delay{Median: 150 * time.Millisecond, Sigma: 0.8},
		Read:      sandbox.Delay{Median: 300 * time.Millisecond, Sigma: 0.8},
	}
	// A process is away for a second or two at a time. The last waits are longer than that, and all
	// of them, 20 at most, take 96 s: on a busy machine the next process starts late.
	o.RetrySchedule = slices.Concat([]time.Duration{
		200 * time.Millisecond, 400 * time.Millisecond, 800 * time.Millisecond, 1600 * time.Millisecond, 3 * time.Second,
	}, slices.Repeat([]time.Duration{6 * time.Second}, 15))
	// Each world has a secret of its own: the port of a replica that has ended may become that of
	// another world, which must not take its webhooks.
	o.WebhookURL, o.WebhookSecret = "http://"+w.hooks+"/webhooks/messaging", rand.Text()
	o.OnEvent = func(e sandbox.Event) {
		if f := w.events.Load(); f != nil {
			(*f)(e)
		}
	}
	if change != nil {
		change(&o)
	}
	service, err := sandbox.New(o)
	if err != nil {
		t.Fatal(err)
	}
	w.service = service
	api, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{Handler: http.HandlerFunc(w.overTheWay), ConnContext: sandbox.ConnContext, ReadHeaderTimeout: 5 * time.Second}
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	var running sync.WaitGroup
	running.Go(func() {
		if err := service.Run(ctx); err != nil {
			t.Error(err)
		}
	})
	running.Go(func() {
		if err := server.Serve(api); !errors.Is(err, http.ErrServerClosed) {
			t.Error(err)
		}
	})
	t.Cleanup(func() {
		stop()
		_ = service.Close()
		_ = server.Close()
		running.Wait()
	})

	var numbers strings.Builder
	for _, c := range o.Connections {
		fmt.Fprintf(&numbers, "  %s: {rate: %d}\n", c.ID, rate)
	}
	connector := fmt.Sprintf(`service: {base_url: "http://%s", api_key: %s, timeout: %s}
webhooks: {secrets: [%s], sweep: 200ms}`, api.Addr(), sandbox.DemoKey, requestTimeout, o.WebhookSecret)
	if o.API == sandbox.APICloud {
		connector = w.cloud(api.Addr().String(), o)
	}
	w.write("campaignd.yaml", fmt.Sprintf(`ledger: sqlite:campaignd.db
listen: {public: "%s", admin: "127.0.0.1:0"}
%s
numbers:
%s`, w.hooks, connector, numbers.String()))
	w.env = []string{
		"CAMPAIGND_SENDING_LEASE=" + leaseTime.String(),
		"CAMPAIGND_SENDING_TICK=100ms", "CAMPAIGND_SENDING_BACKOFF=200ms",
		"CAMPAIGND_SENDING_REPEATS=[200ms, 400ms, 800ms, 1s600ms, 3s" + strings.Repeat(", 6s", 15) + "]",
		"CAMPAIGND_CAMPAIGNS=" + w.path("campaigns"),
	}
	if err := os.Mkdir(w.path("campaigns"), 0o700); err != nil {
		t.Fatal(err)
	}
	return w
}

// nextPort is the port that quietAddress tries next.
var nextPort atomic.Int64

// quietAddress returns an address that stays free while no process listens there: a port that this
// test process gives to nobody else, outside the range from which the kernel takes the ports of
// clients, and above those of the tests of cmd/campaignd, which run at the same time.
func quietAddress(t *testing.T) string {
	t.Helper()
	nextPort.CompareAndSwap(0, int64(26000+os.Getpid()%3000))
	for port := nextPort.Add(1); port < 32000; port = nextPort.Add(1) {
		addr := fmt.Sprintf("127.0.0.1:%d", port)
		if l, err := net.Listen("tcp", addr); err == nil {
			_ = l.Close()
			return addr
		}
	}
	t.Fatal("got no free port between 26000 and 32000, want one")
	return ""
}

func (w *world) path(name string) string { return filepath.Join(w.dir, name) }

func (w *world) write(name, text string) {
	w.t.Helper()
	if err := os.WriteFile(w.path(name), []byte(text), 0o600); err != nil {
		w.t.Fatal(err)
	}
}

// fillings are the variables of the sandbox's templates.
var fillings = map[string]string{
	"order_update": `category: UTILITY, body: ["{{ .first_name }}", "{{ .order }}"]`,
	"spring_sale":  `category: MARKETING, body: ["{{ .first_name }}", "{{ .order }}"], buttons: [{type: url, text: "{{ .order }}"}]`,
	"newsletter":   `category: MARKETING`,
}

// campaign writes NAME.yaml, with policies added, and NAME.csv.
func (w *world) campaign(name, template string, list []entry, policies ...string) {
	w.t.Helper()
	policies = append(policies, held...)
	w.write(name+".yaml", fmt.Sprintf(`name: %s
connections: [conn_1, conn_2, conn_3, conn_4]
template: {name: %s, language: en_US, %s}
recipients: {file: %s.csv, columns: {to: phone}}
policies: {%s}
`, name, template, fillings[template], name, strings.Join(policies, ", ")))
	w.write(name+".csv", fileOf(list))
}

// schedule writes a campaign whose firing is due: every process that serves reads it, and one fires
// it. more are further lines of its file.
func (w *world) schedule(name, template string, list []entry, connections []string, policies ...string) {
	w.t.Helper()
	w.scheduleWith("", name, template, list, connections, policies...)
}

func (w *world) scheduleWith(more, name, template string, list []entry, connections []string, policies ...string) {
	w.t.Helper()
	file := filepath.Join("campaigns", name+".yaml")
	w.write(filepath.Join("campaigns", name+".csv"), fileOf(list))
	w.write(file, fmt.Sprintf(`name: %s
connections: [%s]
template: {name: %s, language: en_US, %s}
recipients: {file: %s.csv, columns: {to: phone}}
schedule: {cron: "0 0 * * *", timezone: UTC, misfire: run, grace: 48h}
policies: {%s}
%s`, name, strings.Join(connections, ", "), template, fillings[template], name, strings.Join(policies, ", "), more))
	yesterday := time.Now().AddDate(0, 0, -1)
	if err := os.Chtimes(w.path(file), yesterday, yesterday); err != nil {
		w.t.Fatal(err)
	}
}

// run starts `campaignd run` of a campaign.
func (w *world) run(name string, env ...string) *process {
	w.t.Helper()
	return start(w.t, w.dir, append(w.env, env...),
		"run", name+".yaml", "--recipients", name+".csv", "--config", "campaignd.yaml", "--settle", "2s")
}

// serve starts `campaignd serve`.
func (w *world) serve(env ...string) *process {
	w.t.Helper()
	return start(w.t, w.dir, append(w.env, env...), "serve", "--config", "campaignd.yaml", "--log-level", "warn")
}

// answering waits until a process takes webhooks. From then on it handles SIGTERM.
func (w *world) answering(p *process) {
	w.t.Helper()
	client := http.Client{Timeout: time.Second}
	for deadline := time.Now().Add(lifeLimit); time.Now().Before(deadline); {
		if r, err := client.Get("http://" + w.hooks + "/healthz"); err == nil {
			_ = r.Body.Close()
			return
		}
		select {
		case <-p.done:
			w.t.Fatalf("%s: got its end, want it to take webhooks: %s", p, tail(p.stderr.String(), 20))
		case <-time.After(20 * time.Millisecond):
		}
	}
	w.t.Fatalf("%s: got no answer within %v, want that it takes webhooks", p, lifeLimit)
}

// listen passes the events of the service to f until the next call. nil ends that.
func (w *world) listen(f func(sandbox.Event)) {
	if f == nil {
		w.events.Store(nil)
		return
	}
	w.events.Store(&f)
}

// state returns a run's state and totals from its report. A paused run fails the test.
func (w *world) state(run string) (state string, totals map[string]int64) {
	w.t.Helper()
	var report struct {
		Run    struct{ State, Reason, Detail string }
		Totals map[string]int64
	}
	code, out := w.ask("report", run, "--format", "json")
	if err := json.Unmarshal([]byte(out), &report); code != 0 || err != nil {
		w.t.Fatalf("report %s: exit code %d (%v), want 0 and JSON\n%s", run, code, err, out)
	}
	if report.Run.State == "paused" {
		w.t.Fatalf("%s is paused (%s), want it not paused: %s", run, report.Run.Reason, report.Run.Detail)
	}
	return report.Run.State, report.Totals
}

// finish runs a campaign without faults until its run is finished.
func (w *world) finish(name string, limit time.Duration) {
	w.t.Helper()
	w.listen(nil)
	for deadline := time.Now().Add(limit); ; {
		p := w.run(name)
		if code := p.wait(time.Until(deadline)); code != 0 && code != 3 {
			w.t.Fatalf("%s: exit code %d, want 0 or 3\n%s", p, code, tail(p.stderr.String(), 20))
		}
		state, totals := w.state("latest")
		if state == "finished" {
			return
		}
		w.t.Logf("%s is %s: %v", name, state, totals)
	}
}

// deliver serves until the service has delivered its webhooks and check finds no problem, at most
// sweepLimit longer. It returns the problems that check finds then.
func (w *world) deliver(limit time.Duration, check func() []problem) []problem {
	w.t.Helper()
	p := w.serve()
	w.answering(p)
	ctx, cancel := context.WithTimeout(w.t.Context(), limit)
	defer cancel()
	if err := w.service.Settle(ctx); err != nil {
		w.t.Fatalf("the service still has %d webhooks to deliver after %v, want none", w.service.Pending(), limit)
	}
	// The next sweep matches an event that came before its receipt, or that proves a doubt.
	for deadline := time.Now().Add(sweepLimit); len(check()) > 0 && time.Now().Before(deadline); {
		select {
		case <-p.done:
			w.t.Fatalf("%s: got its end, want it running: %s", p, tail(p.stderr.String(), 20))
		case <-time.After(200 * time.Millisecond):
		}
	}
	if code := w.stop(p); code != 0 && code != 130 {
		w.t.Fatalf("%s: exit code %d after SIGTERM, want 0 or 130\n%s", p, code, tail(p.stderr.String(), 20))
	}
	return check()
}

// sweepLimit is how long problems may show that the next sweep ends. A sweep is due each second,
// and on a busy machine it takes its time: only a test that fails waits so long.
const sweepLimit = 3 * time.Minute

// stop ends a process with SIGTERM and returns its exit code.
func (w *world) stop(p *process) int {
	w.t.Helper()
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		w.t.Fatalf("%s: %v\n%s", p, err, tail(p.stderr.String(), 20))
	}
	return p.wait(lifeLimit)
}
