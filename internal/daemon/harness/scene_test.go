//go:build mutants

package harness

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"sync"
	"testing"
	"time"

	"campaignd/campaign"
	"campaignd/campaign/why"
	"campaignd/campaign/wording"
	"campaignd/internal/sandbox"
	"campaignd/throttle/throttletest"
	"campaignd/throttle/throughput"
)

// clients makes the service one of a number for each company, all under one key.
func clients(companies ...string) func(*sandbox.Options) {
	return func(o *sandbox.Options) {
		like := o.Connections[0]
		o.Connections = nil
		for i, company := range companies {
			like.ID, like.Phone, like.Company = fmt.Sprintf("conn_%d", i+1), fmt.Sprintf("+1555555010%d", i), company
			o.Connections = append(o.Connections, like)
		}
	}
}

// stage is where a scene is played: one process on SQLite, or replicas on PostgreSQL and Redis.
type stage struct {
	*world
	begin func()                         // starts what serves
	end   func(lists map[string][]entry) // as world.close
}

func (w *world) stage() stage {
	var p *process
	return stage{w, func() { p = w.serve() }, func(lists map[string][]entry) { w.close(p, lists) }}
}

func (c *cluster) stage() stage { return stage{c.world, c.startAll, c.closeAll} }

// people returns a list of so many good rows, from the given number on.
func people(from, rows int) []entry {
	list := make([]entry, rows)
	for i := range list {
		to := phoneOf(from + i)
		list[i] = entry{to: to, text: to + ",A,B"}
	}
	return list
}

// tape records the POSTs of the service.
type tape struct {
	mu    sync.Mutex
	posts []sandbox.Event
}

// record passes the events of the service to a new tape.
func (w *world) record() *tape {
	p := &tape{}
	w.listen(func(e sandbox.Event) {
		if e.Kind == "post" {
			p.mu.Lock()
			defer p.mu.Unlock()
			p.posts = append(p.posts, e)
		}
	})
	return p
}

// count counts the POSTs over a connection from one instant to another.
func (p *tape) count(connection string, from, to time.Time) (n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, e := range p.posts {
		if e.Connection == connection && !e.At.Before(from) && e.At.Before(to) {
			n++
		}
	}
	return n
}

// most is the pace of a number in messages per second, and a little: an upper bound for counts.
func most(rate int, lasting time.Duration) int { return int(paceOf(rate)*lasting.Seconds()*1.05) + 2 }

// unanswered is how many requests of a number may be under way at once (docs/limits.md#slots). A
// busy machine answers late, so that more may be.
func unanswered(rate int, answer time.Duration) int {
	return max(30, int(math.Ceil(3*paceOf(rate)*answer.Seconds())))
}

func paceOf(rate int) float64 { return throughput.Number{Limit: float64(rate)}.Pace().Rate }

// steady requires that numbers sent at their pace, within 5 %. On a busy machine they may be
// slower.
func (p *tape) steady(t *testing.T, rate int, from, to time.Time, busy time.Duration, connections ...string) {
	t.Helper()
	share := 0.95
	if busy > throttletest.Busy {
		share = 0.3
	}
	for _, c := range connections {
		want := paceOf(rate) * to.Sub(from).Seconds()
		got := p.count(c, from, to)
		t.Logf("%s: %d posts in %v, at its pace %.0f; overslept %v", c, got, to.Sub(from).Round(time.Millisecond), want, busy)
		if float64(got) < share*want || float64(got) > 1.05*want+1 {
			t.Errorf("%s: %d posts in %v, want %.0f within 5 %%", c, got, to.Sub(from), want)
		}
	}
}

// last returns when a connection posted last; zero: it has not.
func (p *tape) last(connection string) (at time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, e := range p.posts {
		if e.Connection == connection && e.At.After(at) {
			at = e.At
		}
	}
	return at
}

// within returns a function that is called when something has happened. It fails the test when that
// took longer than limit from now on. On a busy machine the time is only logged, because it says
// more about the machine.
func (w *world) within(limit time.Duration, what string) (happened func()) {
	began, watched := time.Now(), throttletest.Watch()
	return func() {
		w.t.Helper()
		took, late := time.Since(began), watched()
		w.t.Logf("%s: after %v; overslept %v", what, took.Round(time.Millisecond), late)
		if took > limit && late <= throttletest.Busy {
			w.t.Errorf("%s: got it after %v, want it within %v", what, took, limit)
		}
	}
}

// goesOn requires that each number posts from since on, within limit when the machine has time.
func (w *world) goesOn(p *tape, since time.Time, limit time.Duration, connections ...string) {
	w.t.Helper()
	happened := w.within(limit-time.Since(since), fmt.Sprintf("%v go on", connections))
	for _, c := range connections {
		for p.count(c, since, time.Now()) < 5 {
			if time.Since(since) > limit+lifeLimit {
				w.t.Errorf("%s: %d posts within %v, want that it goes on; holds %q, limits %v", c, p.count(c, since, time.Now()),
					limit+lifeLimit, w.held(), w.limits())
				break
			}
			time.Sleep(20 * time.Millisecond)
		}
	}
	happened()
}

// silence is how long held numbers post nothing before they count as stopped. Each process reads
// the holds every second, and later on a busy machine.
const silence = 4 * time.Second

// falls waits until none of the numbers has posted for a time, and returns when the last of them
// did.
func (w *world) falls(p *tape, silent time.Duration, connections ...string) (last time.Time) {
	w.t.Helper()
	w.waits(lifeLimit, fmt.Sprintf("%v are silent", connections), func() bool {
		last = time.Time{}
		for _, c := range connections {
			if at := p.last(c); at.After(last) {
				last = at
			}
		}
		return time.Since(last) > silent
	})
	return last
}

// waits calls ok until it is true, for at most limit, and returns how long that took.
func (w *world) waits(limit time.Duration, what string, ok func() bool) time.Duration {
	w.t.Helper()
	began := time.Now()
	for !ok() {
		if time.Since(began) > limit {
			w.t.Errorf("got nothing within %v, want that %s", limit, what)
			w.t.Fatalf("the runs wait: %v; %d messages are accepted", w.limits(), w.taken())
		}
		time.Sleep(20 * time.Millisecond)
	}
	return time.Since(began)
}

// taken returns how many messages the service has accepted.
func (w *world) taken() (n int64) {
	for _, x := range w.service.Stats().Connections {
		n += x.Accepted
	}
	return n
}

// asJSON runs a command that succeeds and decodes its output.
func (w *world) asJSON(into any, args ...string) {
	w.t.Helper()
	p := w.asked(append(args, "-o", "json")...)
	if code := p.cmd.ProcessState.ExitCode(); code != 0 || json.Unmarshal(p.stdout.Bytes(), into) != nil {
		w.t.Fatalf("%v: exit code %d, want 0 and JSON\n%s%s", args, code, p.stdout.String(), tail(p.stderr.String(), 20))
	}
}

// held returns the holds in force as SCOPE ID REASON, sorted.
func (w *world) held() []string {
	w.t.Helper()
	var states []wording.HoldState
	w.asJSON(&states, "holds")
	all := make([]string, len(states))
	for i, h := range states {
		all[i] = fmt.Sprintf("%s %s %s", h.Scope, h.ID, h.Reason)
	}
	slices.Sort(all)
	return all
}

// hold adds, lift ends a hold of the operator.
func (w *world) hold(verb string, scope campaign.HoldScope, id string) {
	w.t.Helper()
	if code, out := w.ask("holds", verb, string(scope), id); code != 0 {
		w.t.Errorf("holds %s %s %s: exit code %d, want 0\n%s", verb, scope, id, code, out)
	}
}

// limited returns what `campaignd why` says that a run waits for.
func (w *world) limited(run string) campaign.LimitedBy {
	w.t.Helper()
	var why why.Answer
	w.asJSON(&why, "why", run)
	return why.LimitedBy
}

// limits returns what `campaignd why` says that each run waits for, by the name of its campaign.
func (w *world) limits() map[string]string {
	w.t.Helper()
	by := map[string]string{}
	for name, r := range w.fired() {
		var why why.Answer
		w.asJSON(&why, "why", r.ID)
		by[name] = fmt.Sprintf("%s: %s", why.LimitedBy, why.Sentence)
	}
	return by
}

// fired is a run as `campaignd runs` shows it.
type fired struct{ ID, Campaign, State string }

// fired returns the runs by the name of their campaign.
func (w *world) fired() map[string]fired {
	w.t.Helper()
	var all []fired
	w.asJSON(&all, "runs")
	by := map[string]fired{}
	for _, r := range all {
		by[r.Campaign] = r
	}
	return by
}

// close cancels what is left of each campaign, waits for the end of the runs and of the webhooks,
// and requires that nobody was sent to twice, that every row has its outcome, and that the audit
// balances.
func (w *world) close(p *process, lists map[string][]entry) {
	w.t.Helper()
	runs := w.fired()
	for _, r := range runs {
		w.ask("cancel", r.ID) // an ended run refuses
	}
	w.waits(2*lifeLimit, "every run has ended", func() bool {
		for _, r := range w.fired() {
			if r.State != "finished" && r.State != "cancelled" {
				return false
			}
		}
		return true
	})
	// Replicas that were stopped take no webhooks, which come again later.
	ctx, cancel := context.WithTimeout(w.t.Context(), 3*lifeLimit)
	defer cancel()
	if err := w.service.Settle(ctx); err != nil {
		w.t.Fatalf("the service still has %d webhooks to deliver, want none", w.service.Pending())
	}
	var sent []sandbox.Message
	for m := range w.service.Messages() {
		sent = append(sent, m)
	}
	want(w.t, twice(sent)) // each recipient is in one list
	check := func() (found []problem) {
		for name, list := range lists {
			list = slices.Clone(list)
			lines, in := w.lines(runs[name].ID), map[string]bool{}
			for i, l := range lines {
				in[list[i].to] = true
				if l["status"] == "skipped" && l["reason"] == "cancelled" {
					list[i].skip = "cancelled"
				}
			}
			found = append(found, compare(list, lines, slices.DeleteFunc(slices.Clone(sent), func(m sandbox.Message) bool { return !in[m.To] }))...)
		}
		return found
	}
	found := check()
	for deadline := time.Now().Add(sweepLimit); len(found) > 0 && time.Now().Before(deadline); found = check() {
		time.Sleep(300 * time.Millisecond)
	}
	want(w.t, found)
	for name := range lists {
		want(w.t, w.audited(runs[name].ID))
	}
	if code := w.stop(p); code != 0 && code != 130 {
		w.t.Errorf("%s: exit code %d after SIGTERM, want 0 or 130\n%s", p, code, tail(p.stderr.String(), 20))
	}
}
