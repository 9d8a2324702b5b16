//go:build mutants

package harness

import (
	"os"
	"strings"
	"testing"
	"time"
)

// A process whose clock is a day ahead expires nothing of a run that may be sent for a day, and
// deletes nothing of one that has ended: it says that its clock is wrong. The next process, with a
// right clock, sends the rest.
func TestAProcessWithAWrongClockExpiresNothing(t *testing.T) {
	t.Parallel()
	draw := drawOf(t)
	w := newWorld(t, 20, nil) // 5 s of sending
	list := listOf(400, draw)
	w.campaign("sale", "order_update", list)
	text, err := os.ReadFile(w.path("sale.yaml"))
	if err != nil {
		t.Fatalf("got %v, want no error", err)
	}
	w.write("sale.yaml", string(text)+"limits: {not_after: 24h}\n")
	reached := w.posts(40)
	p := w.run("sale")
	w.await(p, reached)
	w.stop(p)
	p = w.serve("CLOCK_AHEAD=90000", "CAMPAIGND_RETENTION_DELIVERIES=32d") // 25 h
	w.answering(p)
	time.Sleep(15 * time.Second) // 3 readings of the clock, and many looks at the run
	w.stop(p)
	if log := p.stderr.String(); !strings.Contains(log, "clock is wrong") {
		t.Errorf("%s: got the log\n%s\nwant that the clock is wrong", p, log)
	}
	state, totals := w.state("latest")
	if state == "finished" || totals["skipped"] > skippedOf(list) {
		t.Errorf("25 h ahead: got the run %s with the totals %v, want nothing expired", state, totals)
	}
	w.finish("sale", time.Minute)
	want(t, w.deliver(3*time.Minute, func() []problem { return compare(list, w.lines("latest"), w.sent("order_update")) }))
	want(t, w.audited("latest"))
}

// skippedOf is how many rows of a list are skipped for what they are.
func skippedOf(list []entry) (n int64) {
	for _, e := range list {
		if e.skip != "" {
			n++
		}
	}
	return n
}
