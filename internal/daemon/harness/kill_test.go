//go:build mutants

package harness

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"campaignd/internal/sandbox"
)

// window is where in the walk of a recipient a process dies.
type window string

const (
	importChunk        window = "import chunk"
	beforeIntent       window = "before the intent's commit"
	beforePost         window = "between intent and POST"
	onTheWire          window = "on the wire"
	answerUnread       window = "answer unread"
	outcomeUncommitted window = "outcome uncommitted"
	webhookUncommitted window = "webhook uncommitted"
	anywhere           window = "anywhere"
)

// exact are the windows into which at least leastKills kills must fall.
var exact = []window{importChunk, beforeIntent, beforePost, onTheWire, answerUnread, outcomeUncommitted, webhookUncommitted}

const leastKills = 3

// death is how one life is to end.
type death struct {
	window window
	point  string        // the process ends itself at its nth pass of this point
	event  string        // or the harness ends it while the sandbox is at the nth of this event; "": after the start
	nth    int           // from 1
	delay  time.Duration // of anywhere: after that
}

func (d death) String() string {
	switch {
	case d.point != "":
		return fmt.Sprintf("%s (%s:%d)", d.window, d.point, d.nth)
	case d.window == anywhere && d.event == "":
		return fmt.Sprintf("%s (%v after the start)", d.window, d.delay)
	case d.window == anywhere:
		return fmt.Sprintf("%s (%v after POST %d)", d.window, d.delay, d.nth)
	}
	return fmt.Sprintf("%s (%s %d)", d.window, d.event, d.nth)
}

// imports are deaths of an import of two chunks and more: chunk 1 is not committed; then chunk 2 is
// not; then the first after a resume.
func imports() []death {
	return []death{
		{window: importChunk, point: "import_chunk", nth: 1},
		{window: importChunk, point: "import_chunk", nth: 2},
		{window: importChunk, point: "import_chunk", nth: 1},
	}
}

// deaths plans n deaths of senders: every exact window, the rest at random times.
func deaths(n int, draw *rand.Rand) []death {
	ways := []death{
		{window: beforeIntent, point: "intent_before_commit"},
		{window: beforePost, point: "intent_committed"},
		{window: beforePost, point: "before_post"},
		{window: onTheWire, event: "post"},
		{window: answerUnread, event: "accepted"},
		{window: answerUnread, point: "answer_unread"},
		{window: outcomeUncommitted, point: "answer_read"},
		{window: outcomeUncommitted, point: "outcome_uncommitted"},
		{window: webhookUncommitted, point: "webhook_uncommitted"},
	}
	var rest []death
	for _, way := range ways {
		times := 3
		if way.window == beforePost || way.window == answerUnread || way.window == outcomeUncommitted { // two ways into it
			times = 2
		}
		for range times {
			way.nth = 1 + draw.IntN(40)
			rest = append(rest, way)
		}
	}
	for i := 0; len(rest) < n-1; i++ {
		d := death{window: anywhere, event: "post", nth: 1 + draw.IntN(60), delay: time.Duration(draw.IntN(400)) * time.Millisecond}
		if i%4 == 0 {
			d = death{window: anywhere, delay: time.Duration(draw.IntN(300)) * time.Millisecond}
		}
		rest = append(rest, d)
	}
	draw.Shuffle(len(rest), func(i, j int) { rest[i], rest[j] = rest[j], rest[i] })
	// The first lets the import end: an interrupted one goes on in whole segments, on fewer numbers.
	return append([]death{{window: anywhere, event: "post", nth: 1}}, rest...)
}

// patience is how long a life may take until its death is due.
const patience = 15 * time.Second

// kill begins a life with begin and ends it as d says. hit is false when it ended otherwise: then
// why says how.
func (w *world) kill(d death, begin func(env ...string) *process) (hit bool, why string) {
	w.t.Helper()
	var env []string
	if d.point != "" {
		env = []string{fmt.Sprintf("CAMPAIGND_CRASH=%s:%d", d.point, d.nth)}
	}
	life := make(chan *process, 1) // the event may come before begin returns
	var seen, held atomic.Int64
	aimed := make(chan struct{})
	if d.event != "" {
		w.listen(func(e sandbox.Event) {
			if e.Kind != d.event || seen.Add(1) != int64(d.nth) {
				return
			}
			if d.window == anywhere {
				close(aimed)
				return
			}
			// The sandbox's handler waits here with the request: its answer cannot have been written.
			p := <-life
			if p.kill() {
				held.Add(1)
			}
			close(aimed)
		})
		defer w.listen(nil)
	} else {
		close(aimed)
	}
	p := begin(env...)
	life <- p
	timer := time.NewTimer(patience)
	defer timer.Stop()
	if d.window == anywhere {
		select {
		case <-aimed:
			pause := time.NewTimer(d.delay)
			defer pause.Stop()
			select {
			case <-pause.C:
			case <-p.done:
			}
		case <-p.done:
		case <-timer.C:
		}
		if p.kill() {
			return true, ""
		}
		return false, w.ending(p)
	}
	select {
	case <-p.done:
	case <-timer.C:
		p.kill()
		return false, "the point was not reached"
	}
	if d.point != "" {
		hit = p.byItself()
	} else {
		hit = p.killed()
		if hit {
			<-aimed
			hit = held.Load() == 1
		}
	}
	if !hit {
		why = w.ending(p)
	}
	return hit, why
}

// ending says how a life ended that nobody ended. A failure of the program ends the test.
func (w *world) ending(p *process) string {
	w.t.Helper()
	code := p.cmd.ProcessState.ExitCode()
	if code != 0 && code != 3 && !p.killed() {
		w.t.Fatalf("%s: exit code %d\n%s", p, code, tail(p.stderr.String(), 50))
	}
	return fmt.Sprintf("it ended with exit code %d", code)
}

// faults are the service's in the long run. Each share is large enough to fire several times.
func faults() sandbox.Faults {
	return sandbox.Faults{
		Latency: sandbox.Delay{Median: 50 * time.Millisecond, Sigma: 0.5, Max: 400 * time.Millisecond},

		TooMany: 0.005, LostBefore: 0.008, HangBefore: 0.004, ServerError: 0.008,
		LostAfter: 0.01, HangAfter: 0.004, HangFor: 3 * requestTimeout, ErrorAfter: 0.008, NoID: 0.004, EmptyBody: 0.004, CutBody: 0.004,
		SlowBody: 0.005, SlowFor: sandbox.Delay{Median: 300 * time.Millisecond},
		Refusals: []sandbox.Refusal{{Code: 131000, Share: 0.01, Times: 1}, {Code: 131026, Share: 0.005}},

		Early: 0.03, Late: 0.02, LateBy: sandbox.Delay{Median: 2 * time.Second, Sigma: 0.5, Max: 6 * time.Second},
		Doubled: 0.03, Reordered: 0.03, Missing: 0.003, ReadFirst: 0.01, ReadOnly: 0.01, FailedFirst: 0.005, Forged: 0.01, Orphan: 0.005,
	}
}

// firing are the names under which faults() is counted.
var firing = []string{
	"latency", "too_many_requests", "server_error", "lost_before", "hang_before", "lost_after", "hang_after", "error_after",
	"no_id", "empty_body", "cut_body", "slow_body", "refusal_131000", "refusal_131026",
	"webhook_early", "webhook_late", "webhook_doubled", "webhook_reordered", "webhook_missing", "read_before_delivered",
	"read_without_delivered", "failed_then_delivered", "webhook_forged", "webhook_orphan",
}

// TestNobodyIsSentToTwiceOrLostByKilledProcesses is the long run: one campaign, killed again and
// again in every window, against a service that loses answers and webhooks. On the same ledger lies
// another, whose import was killed and which waits for its approval all the while.
func TestNobodyIsSentToTwiceOrLostByKilledProcesses(t *testing.T) {
	t.Parallel()
	if *kills < 40 {
		t.Fatalf("-kills %d: at least 40, or it proves too little", *kills)
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
		if i%3 == 2 { // serve goes on with what run began
			begin = w.serve
		}
		if !k.kill(d, begin) {
			plan = append(plan, d)
		}
		if i%5 == 4 { // what a user sees between two lives
			sent := w.sent("order_update")
			if found := append(acknowledged(w.lines("latest"), sent), w.audited("latest")...); len(found) > 0 {
				t.Fatalf("seed %d: after %s: %s", *seed, d, report(found))
			}
		}
	}
	k.log("all killed: %v, %d missed, %d messages accepted", k.counts, k.missed, len(w.sent("order_update")))
	w.finish("orders", 3*time.Minute)
	k.log("finished")

	found := w.settle(time.Minute, func() []problem { return compare(list, w.lines("latest"), w.sent("order_update")) })
	found = append(found, w.audited("latest")...)
	truth := w.service.Stats()
	_, totals := w.state("latest")
	k.log("settled: %v; service: %v", totals, truth.Fired)

	if len(found) > 0 {
		t.Errorf("seed %d: %s", *seed, report(found))
	}
	k.enough()
	for _, status := range []string{"accepted", "sent", "delivered", "read", "failed", "refused", "skipped", "unknown"} {
		if totals[status] == 0 {
			t.Errorf("no row ended as %s: the run shows too little", status)
		}
	}
	for _, name := range firing {
		if truth.Fired[name] == 0 {
			t.Errorf("the fault %s never fired", name)
		}
	}
	if n := truth.Fired["webhook_abandoned"]; n > 0 {
		t.Errorf("%d webhooks were given up by the service: the retry schedule is too short for the kills", n)
	}
	if truth.ForgedAccepted > 0 || truth.WithoutPlus > 0 {
		t.Errorf("%d forged webhooks were answered 2xx, %d recipients were posted without +", truth.ForgedAccepted, truth.WithoutPlus)
	}
	for _, n := range truth.Connections {
		if n.WorstSecond > n.Limit {
			t.Errorf("%s: %d POSTs in one second, its limit is %d", n.Connection, n.WorstSecond, n.Limit)
		}
	}
	w.neverPosted(list)

	// Who waited was not sent to, and can still be called off.
	if code, out := w.ask("cancel", "1"); code != 0 {
		t.Errorf("cancel 1: exit code %d %s", code, out)
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

// kill ends one life; see world.kill. It reports false when the death was missed, and fails the test
// when too many are, or when there is nothing left to kill.
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
		k.t.Fatalf("%d of the planned kills missed", k.missed)
	}
	if state, _ := k.state("latest"); state == "finished" {
		k.t.Fatal("the run finished before all kills: the list is too short")
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

// imported lets an import come to its end, and holds its rows against the list: each once, none sent.
func (w *world) imported(name string, list []entry) {
	w.t.Helper()
	p := w.run(name)
	defer p.kill()
	for deadline := time.Now().Add(patience); ; {
		state, totals := w.state("latest")
		if state == "waiting_approval" {
			break
		}
		if time.Now().After(deadline) {
			w.t.Fatalf("%s is %s after %v: %v", name, state, patience, totals)
		}
	}
	lines := w.lines("latest")
	if len(lines) != len(list) {
		w.t.Fatalf("%d rows were imported, the list has %d", len(lines), len(list))
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

// neverPosted fails the test when a number was posted to that is in no row to be sent.
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
			w.t.Errorf("%s was posted to, and is in no row that was to be sent", pair.To)
		}
	}
}
