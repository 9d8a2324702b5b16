//go:build mutants

package harness

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"campaignd/internal/sandbox"
)

// One process at a time sends from an SQLite ledger. A second one ends at once with one line that
// names the first. The first continues, and commands that only read work beside it.
func TestASecondSenderIsRefused(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 20, nil)
	list := listOf(2000, drawOf(t)) // 2 minutes of sending, longer than two more processes take to end
	w.campaign("orders", "order_update", list)
	reached := w.posts(10)
	first := w.run("orders")
	w.await(first, reached)
	for _, second := range []*process{w.run("orders"), w.serve()} {
		if code := second.wait(lifeLimit); code != 1 {
			t.Errorf("%s: exit code %d, want 1", second, code)
		}
		got := strings.TrimSpace(second.stderr.String())
		if strings.Contains(got, "\n") || !strings.Contains(got, fmt.Sprint(first.cmd.Process.Pid)) {
			t.Errorf("%s: got %q, want one line with the process %d", second, got, first.cmd.Process.Pid)
		}
	}
	want(t, w.audited("latest"))
	w.await(first, w.posts(20)) // the first continues
	if !first.kill() {
		t.Fatalf("%s: got %s, want it running until the kill", first, w.ending(first))
	}
	// The kernel has released the lock, so the next process takes every lease at once.
	next := w.posts(1)
	happened := w.within(2*leaseTime, "the next process posts")
	p := w.run("orders")
	w.await(p, next)
	happened()
	w.stop(p)
	want(t, twice(w.sent("order_update")))
}

// SIGTERM ends run and serve in order, within 30 s: they make no new intents and record the answers
// to requests in flight. Only a request whose answer never came stays in doubt.
func TestASignalLeavesOnlyLostAnswersInDoubt(t *testing.T) {
	t.Parallel()
	w := newWorld(t, standard, func(o *sandbox.Options) {
		o.Faults = sandbox.Faults{
			Latency: sandbox.Delay{Median: 200 * time.Millisecond, Sigma: 0.3}, HangAfter: 0.03, HangFor: 5 * requestTimeout,
			Missing: 1, // because webhooks would end the doubts
		}
	})
	// A busy machine must not be too late with an answer that the service counts as given.
	w.env = append(w.env, "CAMPAIGND_SERVICE_TIMEOUT=3s", "CAMPAIGND_SENDING_LEASE=5s")
	list := listOf(1500, drawOf(t))
	w.campaign("orders", "order_update", list)
	for _, c := range []struct {
		begin func(...string) *process
		code  int
	}{
		{func(env ...string) *process { return w.run("orders", env...) }, 130},
		{w.serve, 0},
		{func(env ...string) *process { return w.run("orders", env...) }, 130},
	} {
		reached := w.posts(120)
		p := c.begin()
		w.await(p, reached)
		ended := w.within(10*time.Second, fmt.Sprint(p, " has ended after SIGTERM")) // one request and its record
		if code := w.stop(p); code != c.code {
			t.Errorf("%s: exit code %d after SIGTERM, want %d\n%s", p, code, c.code, tail(p.stderr.String(), 20))
		}
		ended()
		w.listen(nil)
		byTo := map[string]line{}
		for _, l := range w.lines("latest") {
			if l["status"] != "skipped" {
				byTo[l["to"]] = l
			}
		}
		accepted := w.sent("order_update")
		for _, m := range accepted {
			l := byTo[m.To]
			delete(byTo, m.To)
			switch {
			case m.Answer == "ok" && l["message_id"] != m.ID:
				t.Errorf("%s: got %s %s for the answered message %s, want its id", p, l["status"], l["message_id"], m.ID)
			case m.Answer != "ok" && l["status"] != "in_doubt" && l["status"] != "unknown":
				t.Errorf("%s: got %s for %s, whose answer was lost (%s), want in_doubt or unknown", p, l["status"], m.ID, m.Answer)
			}
		}
		for _, to := range slices.Sorted(maps.Keys(byTo)) {
			if s := byTo[to]["status"]; s != "queued" {
				t.Errorf("%s: got %s for %s, which was never accepted, want queued", p, s, to)
			}
		}
		t.Logf("%s: %d accepted", p, len(accepted))
	}
	if n := w.service.Stats().Fired["hang_after"]; n == 0 {
		t.Error("the fault hang_after fired 0 times, want 1 or more")
	}
	want(t, twice(w.sent("order_update")))
}
