//go:build mutants

package harness

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// Nothing is posted while the ledger cannot grow. Once the disk has space again, nothing is posted
// twice.
func TestAFullDiskStopsSendingAndLosesNothing(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("sh"); err != nil {
		t.Fatal("the test needs sh for ulimit: ", err)
	}
	w := newWorld(t, standard, nil)
	list := listOf(700, drawOf(t))
	w.campaign("orders", "order_update", list)

	// limited runs the campaign with files of at most kib KiB (POSIX: ulimit -f counts 512 bytes).
	limited := func(kib int) *process {
		p := &process{t: t, done: make(chan struct{})}
		p.cmd = exec.Command("sh", "-c", fmt.Sprintf(`ulimit -f %d && exec "$0" "$@"`, 2*kib), binary,
			"run", "orders.yaml", "--recipients", "orders.csv", "--config", "campaignd.yaml", "--settle", "2s")
		return p.begin(w.dir, w.env)
	}
	p := limited(64) // too small for the tables
	if code := p.wait(lifeLimit); code != 1 {
		t.Fatalf("%s on a full disk: exit code %d, want 1\n%s", p, code, p.stderr.String())
	}
	if got := strings.TrimSpace(p.stderr.String()); strings.Contains(got, "goroutine") || !strings.Contains(got, "disk") {
		t.Errorf("on a full disk: got %q, want a line that names the disk", got)
	}

	// The tables are there, and have all the space of the limit. The log of the import fits, that of
	// sending does not.
	if code, out := w.ask("ledger", "migrate"); code != 0 {
		t.Fatalf("ledger migrate: exit code %d, want 0\n%s", code, out)
	}
	const limit = 512 // KiB
	reached := w.posts(1)
	p = limited(limit)
	w.await(p, reached)
	wal := filepath.Join(w.dir, "campaignd.db-wal")
	for end := time.Now().Add(lifeLimit); ; { // until the log reaches the limit; a checkpoint may free space only for a moment
		if file, err := os.Stat(wal); err == nil && file.Size() >= limit<<10 {
			break
		}
		select {
		case <-p.done:
			t.Fatalf("%s: got exit code %d, want it running\n%s", p, p.cmd.ProcessState.ExitCode(), tail(p.stderr.String(), 20))
		case <-time.After(10 * time.Millisecond):
		}
		if time.Now().After(end) {
			t.Fatalf("got no ledger of %d KiB within %v, want one", limit, lifeLimit)
		}
	}
	time.Sleep(3 * time.Second)
	if n := len(w.sent("order_update")); n >= 600 {
		t.Fatalf("%d messages were sent within the limit, want less than 600", n)
	}
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	p.wait(lifeLimit)
	if log := p.stderr.String(); !strings.Contains(log, "disk") {
		t.Errorf("got the log %s, want a line that names the disk", tail(log, 10))
	}
	w.finish("orders", time.Minute)
	want(t, w.deliver(3*time.Minute, func() []problem {
		return compare(list, w.lines("latest"), w.sent("order_update"))
	}))
	want(t, w.audited("latest"))
}
