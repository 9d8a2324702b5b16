//go:build mutants

package harness

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"
	"time"

	"campaignd/internal/sandbox"
)

// faults returns the faults of the service in a long run. Each share is large enough to fire
// several times.
func faults() sandbox.Faults {
	return sandbox.Faults{
		Latency: sandbox.Delay{Median: 50 * time.Millisecond, Sigma: 0.5, Max: 400 * time.Millisecond},

		TooMany: 0.005, LostBefore: 0.008, HangBefore: 0.004, ServerError: 0.008,
		LostAfter: 0.01, HangAfter: 0.004, HangFor: 3 * requestTimeout, ErrorAfter: 0.008,
		NoID: 0.004, EmptyBody: 0.004, CutBody: 0.004,
		SlowBody: 0.005, SlowFor: sandbox.Delay{Median: 300 * time.Millisecond},
		Refusals: []sandbox.Refusal{{Code: 131000, Share: 0.01, Times: 1}, {Code: 131026, Share: 0.005}},

		Early: 0.03, Late: 0.02, LateBy: sandbox.Delay{Median: 2 * time.Second, Sigma: 0.5, Max: 6 * time.Second},
		Doubled: 0.03, Reordered: 0.03, Missing: 0.003, ReadFirst: 0.01, ReadOnly: 0.01, FailedFirst: 0.005, Forged: 0.01, Orphan: 0.005,
	}
}

// firing lists the names under which the sandbox counts the faults of faults.
var firing = []string{
	"latency", "too_many_requests", "server_error", "lost_before", "hang_before", "lost_after", "hang_after", "error_after",
	"no_id", "empty_body", "cut_body", "slow_body", "refusal_131000", "refusal_131026",
	"webhook_early", "webhook_late", "webhook_doubled", "webhook_reordered", "webhook_missing", "read_before_delivered",
	"read_without_delivered", "failed_then_delivered", "webhook_forged", "webhook_orphan",
}

// The long run: the processes of one campaign are killed many times in every window, while the
// service loses answers and webhooks. The same ledger holds a second run, whose import was killed
// and which waits for its approval all the time.
func TestNobodyIsSentToTwiceOrLostByKilledProcesses(t *testing.T) {
	t.Parallel()
	if *kills < 40 {
		t.Fatalf("got -kills %d, want at least 40", *kills)
	}
	draw := rand.New(rand.NewPCG(*seed, 0x6b696c6c73)) // "kills"
	w := newWorld(t, standard, func(o *sandbox.Options) {
		o.EnforceThroughput = true
		o.Faults = faults()
		o.Statuses.Unread, o.Statuses.Undelivered, o.Statuses.Silent = 0.2, 0.02, 0.01
		o.Statuses.Failed = []sandbox.Failure{{Code: 131026, Share: 0.02, After: sandbox.Delay{Median: 100 * time.Millisecond}}}
		o.Statuses.Stop, o.Statuses.StopAfter = 0.01, sandbox.Delay{Median: 200 * time.Millisecond}
	})
	waiting := listOf(4100, draw)
	w.campaign("waiting", "newsletter", waiting, "approval: true")
	list := listOf(190**kills, draw)
	w.campaign("orders", "order_update", list)
	k := &killing{world: w, began: time.Now(), counts: map[window]int{}}
	t.Logf("seed %d: %d rows, %d kills", *seed, len(list), *kills)

	for _, d := range imports() {
		k.kill(d, func(env ...string) *process { return w.run("waiting", env...) })
	}
	w.imported("waiting", waiting)
	plan := deaths(*kills-len(imports()), draw)
	for i := 0; len(plan) > 0; i++ {
		d := plan[0]
		plan = plan[1:]
		begin := func(env ...string) *process { return w.run("orders", env...) }
		if i%3 == 2 { // serve continues a run that `campaignd run` began
			begin = w.serve
		}
		if !k.kill(d, begin) {
			plan = append(plan, d)
		}
		if i%5 == 4 { // report and audit hold between two processes, too
			sent := w.sent("order_update")
			if found := append(acknowledged(w.lines("latest"), sent), w.audited("latest")...); len(found) > 0 {
				t.Fatalf("seed %d: after %s: got %s, want no problem", *seed, d, report(found))
			}
		}
	}
	k.log("all killed: %v, %d missed, %d messages accepted", k.counts, k.missed, len(w.sent("order_update")))
	w.finish("orders", 3*time.Minute)
	k.log("finished")

	found := w.deliver(3*time.Minute, func() []problem {
		return compare(list, w.lines("latest"), w.sent("order_update"))
	})
	found = append(found, w.audited("latest")...)
	truth := w.service.Stats()
	_, totals := w.state("latest")
	k.log("settled: %v; service: %v", totals, truth.Fired)

	want(t, found)
	k.enough()
	for _, status := range []string{"accepted", "sent", "delivered", "read", "failed", "refused", "skipped", "unknown"} {
		if totals[status] == 0 {
			t.Errorf("0 rows ended as %s, want 1 or more", status)
		}
	}
	for _, name := range firing {
		if truth.Fired[name] == 0 {
			t.Errorf("the fault %s fired 0 times, want 1 or more", name)
		}
	}
	if n := truth.Fired["webhook_abandoned"]; n > 0 {
		t.Errorf("the service gave up %d webhooks, want none: its retry schedule is too short for the kills", n)
	}
	if truth.ForgedAccepted > 0 || truth.WithoutPlus > 0 {
		t.Errorf("%d forged webhooks were answered 2xx, %d recipients were posted without +, want none of both",
			truth.ForgedAccepted, truth.WithoutPlus)
	}
	w.withinLimits()
	w.neverPosted(list)

	// The waiting run was not sent and can still be cancelled.
	if code, out := w.ask("cancel", "1"); code != 0 {
		t.Errorf("cancel 1: exit code %d, want 0: %s", code, out)
	}
	for i := range waiting {
		waiting[i].skip = cmp.Or(waiting[i].skip, "cancelled")
	}
	want(t, append(compare(waiting, w.lines("1"), w.sent("newsletter")), w.audited("1")...))
}

// killing counts the kills of a run.
type killing struct {
	*world
	began  time.Time
	counts map[window]int
	missed int
}

func (k *killing) log(format string, args ...any) {
	k.t.Helper()
	k.t.Logf("%6.1fs %s", time.Since(k.began).Seconds(), fmt.Sprintf(format, args...))
}

// kill ends one process as world.kill does. It returns false when the death was missed. It fails
// the test when too many were missed, or when the run has finished.
func (k *killing) kill(d death, begin func(env ...string) *process) bool {
	k.t.Helper()
	hit, why := k.world.kill(d, begin)
	if hit {
		k.counts[d.window]++
		return true
	}
	k.missed++
	k.log("missed %s: %s", d, why)
	if k.missed > *kills/2 {
		k.t.Fatalf("%d of the planned kills were missed, want at most %d", k.missed, *kills/2)
	}
	if state, _ := k.state("latest"); state == "finished" {
		k.t.Fatal("the run finished before all kills, want a longer list")
	}
	return false
}

// enough fails the test unless there were 40 kills, and leastKills in each exact window.
func (k *killing) enough() {
	k.t.Helper()
	total := 0
	for _, n := range k.counts {
		total += n
	}
	if total < 40 {
		k.t.Errorf("%d kills, want at least 40", total)
	}
	for _, x := range exact {
		if k.counts[x] < leastKills {
			k.t.Errorf("%d kills in the window %q, want at least %d", k.counts[x], x, leastKills)
		}
	}
}

// imported runs an import to its end and compares its rows with the list: each is there once, and
// none is sent.
func (w *world) imported(name string, list []entry) {
	w.t.Helper()
	p := w.run(name)
	defer p.kill()
	for deadline := time.Now().Add(lifeLimit); ; {
		state, totals := w.state("latest")
		if state == "waiting_approval" {
			break
		}
		if time.Now().After(deadline) {
			w.t.Fatalf("%s is %s after %v, want waiting_approval: %v", name, state, lifeLimit, totals)
		}
	}
	lines := w.lines("latest")
	if len(lines) != len(list) {
		w.t.Fatalf("%d rows were imported, want those of the list, %d", len(lines), len(list))
	}
	for i, l := range lines {
		status := "queued"
		if list[i].skip != "" {
			status = "skipped"
		}
		if l["row"] != strconv.Itoa(i+1) || l["status"] != status || l["reason"] != list[i].skip {
			w.t.Fatalf("row %d was imported as %v, want %s (%s)", i+1, l, status, list[i].skip)
		}
	}
}

// neverPosted fails the test when a number was posted to that no row to be sent has.
func (w *world) neverPosted(list []entry) {
	w.t.Helper()
	var good []string
	for _, e := range list {
		if e.skip == "" {
			good = append(good, e.to)
		}
	}
	slices.Sort(good)
	for pair := range w.service.Truth().Posts {
		if _, ok := slices.BinarySearch(good, pair.To); !ok {
			w.t.Errorf("got a POST to %s, want only POSTs to rows that are to be sent", pair.To)
		}
	}
}
