//go:build mutants && upgrade

package harness

import (
	"encoding/json"
	"flag"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sort"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"campaignd/internal/sandbox"
)

var (
	upgrade = flag.Int("upgrade", 50_000, "rows of the run in the middle of which replicas are upgraded")
	oldOne  = flag.String("old", "", "an older campaignd, from which is upgraded; without it, this one is the older, and a later one is built")
)

// longestPause is how long no message may go out while replicas are replaced.
const longestPause = 10 * time.Second

// grace is terminationGracePeriodSeconds of the chart.
const grace = 45 * time.Second

// Replicas are replaced one after the other as a Deployment does it (maxSurge 1, maxUnavailable 0),
// the schema changes between, and then the way back is gone: in the middle of a run, in which
// nobody is sent to twice, nobody is lost, and no pause is longer than 10 s.
func TestUpgradeInTheMiddleOfARun(t *testing.T) {
	older, newer := *oldOne, binary
	if *oldOne == "" {
		older, newer = binary, laterProgram(t)
	}
	const replicas = 3
	c := newCluster(t, 3*replicas, 250, nil)
	c.env = append(c.env, "CAMPAIGND_SENDING_LEASE=15s", "CAMPAIGND_SENDING_TICK=250ms", "CAMPAIGND_SERVICE_TIMEOUT=10s")
	// Keys that an older program does not know.
	c.env = slices.DeleteFunc(c.env, func(v string) bool { return strings.HasPrefix(v, "CAMPAIGND_SENDING_REPEATS=") })
	c.program = older
	gaps := c.gaps()
	defer c.killAll()
	list := listOf(*upgrade, drawOf(t))
	serving := c.replicas[:replicas]
	for _, r := range serving {
		r.start()
	}
	for _, r := range serving {
		r.ready()
	}
	c.facing(serving)
	c.schedule("orders", "order_update", list, all, held...)
	reached := func(share float64) {
		t.Helper()
		c.until(5*time.Minute, fmt.Sprintf("%.0f %% of the messages are accepted", 100*share), func() bool {
			return float64(c.accepted()) > share*float64(*upgrade)
		})
	}
	reached(0.15)
	before := c.schema()
	serving = c.roll(serving, c.replicas[replicas:2*replicas], newer)
	if after := c.schema(); after <= before {
		t.Errorf("got the schema %d after the upgrade, want one after %d", after, before)
	}
	t.Logf("upgraded from schema %d to %d at %d messages", before, c.schema(), c.accepted())
	reached(0.55)
	if *oldOne == "" {
		serving = c.roll(serving, c.replicas[2*replicas:], older)
		t.Logf("rolled back at %d messages", c.accepted())
	}
	if n := c.accepted(); n > int64(*upgrade)*95/100 {
		t.Errorf("got %d messages before the last replica was replaced, want it in the middle of the run of %d", n, *upgrade)
	}
	want(t, c.finished(5*time.Minute, func() []problem { return compare(list, c.lines("latest"), c.sent("order_update")) }))
	want(t, c.audited("latest"))
	c.withinLimits()
	for _, r := range serving {
		c.leave(r)
	}
	longest := gaps()
	t.Logf("longest pause of a number: %v; overslept %v", longest, c.busy())
	if longest > longestPause {
		t.Errorf("got a pause of %v, want at most %v", longest, longestPause)
	}
}

// laterProgram builds this program with one more migration, as the next version would have it.
func laterProgram(t *testing.T) string {
	t.Helper()
	root, err := filepath.Abs("../../..")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	replace := map[string]string{}
	for _, backend := range []string{"postgres", "sqlite"} {
		file := filepath.Join(dir, backend+".sql")
		text := "-- +goose Up\nALTER TABLE outcome ADD COLUMN next_version text;\n" +
			"ALTER TABLE run ADD COLUMN next_version bigint NOT NULL DEFAULT 0;\n" +
			"CREATE TABLE next_version (id bigint PRIMARY KEY);\n"
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		replace[filepath.Join(root, "internal/ledger", backend, "migrations/00999_next.sql")] = file
	}
	overlay, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "overlay.json"), overlay, 0o600); err != nil {
		t.Fatal(err)
	}
	program := filepath.Join(dir, "campaignd")
	build := exec.Command("go", "build", "-tags", "mutants", "-overlay", filepath.Join(dir, "overlay.json"),
		"-o", program, "campaignd/cmd/campaignd")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: got %v, want no error\n%s", build, err, out)
	}
	return program
}

// roll replaces replicas one after the other: the next one is started, and when it is ready an old
// one is ended. The service's webhooks go to those that serve. It returns the next ones.
func (c *cluster) roll(old, next []*replica, program string) []*replica {
	c.t.Helper()
	c.program = program
	serving := old
	for i, r := range next {
		r.start()
		r.ready()
		serving = append(serving[1:len(serving):len(serving)], r)
		c.facing(serving)
		c.leave(old[i])
	}
	return next
}

// facing lets the service post its webhooks to these replicas.
func (c *cluster) facing(serving []*replica) {
	var addrs []string
	for _, r := range serving {
		addrs = append(addrs, r.hooks)
	}
	c.balance.to(addrs...)
}

// ready waits until the replica is ready, as the chart's probe asks.
func (r *replica) ready() {
	r.t.Helper()
	client := http.Client{Timeout: time.Second}
	defer client.CloseIdleConnections()
	r.until(2*time.Minute, r.name+" is ready", func() bool {
		a, err := client.Get("http://" + r.admin + "/readyz")
		if err != nil {
			return false
		}
		_ = a.Body.Close()
		return a.StatusCode == http.StatusOK
	})
}

// leave ends a replica as Kubernetes does: SIGTERM, and a grace period.
func (c *cluster) leave(r *replica) {
	c.t.Helper()
	r.busy.Store(true)
	p := r.process()
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		c.t.Fatalf("%s: %v", r.name, err)
	}
	began := time.Now()
	if code := p.wait(grace); code != 0 && code != 130 {
		c.t.Errorf("%s: exit code %d after SIGTERM, want 0 or 130\n%s", r.name, code, tail(p.stderr.String(), 20))
	}
	c.t.Logf("%s ended within %v at %d messages", r.name, time.Since(began).Round(time.Millisecond), c.accepted())
}

// schema is the version of the ledger's schema.
func (c *cluster) schema() int {
	return sort.Search(10_000, func(v int) bool {
		return !c.holds(fmt.Sprintf("SELECT 1 FROM goose_db_version WHERE version_id > %d", v))
	})
}

// gaps returns what tells the longest time between two posts over one number.
func (c *cluster) gaps() func() time.Duration {
	var mu sync.Mutex
	last, longest := map[string]time.Time{}, time.Duration(0)
	c.listen(func(e sandbox.Event) {
		if e.Kind != "post" || !strings.HasPrefix(e.Connection, "conn_") {
			return
		}
		mu.Lock()
		defer mu.Unlock()
		if at, ok := last[e.Connection]; ok {
			longest = max(longest, e.At.Sub(at))
		}
		last[e.Connection] = e.At
	})
	return func() time.Duration {
		mu.Lock()
		defer mu.Unlock()
		return longest
	}
}
