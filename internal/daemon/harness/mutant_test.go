//go:build mutants

package harness

import (
	"math/rand/v2"
	"testing"
	"time"

	"campaignd/internal/sandbox"
)

// TestProcessMutantsAreCaught plants the two mistakes that matter most to processes and requires
// that the harness's own comparison finds them, in the way each must fail; without a mistake the
// same lives leave nothing to complain of (reliability.md 4.6).
func TestProcessMutantsAreCaught(t *testing.T) {
	for _, c := range []struct {
		mistake string
		caught  string // kind of problem; "": none
		faults  sandbox.Faults
		deaths  []death
	}{
		{mistake: "none", faults: sandbox.Faults{LostAfter: 0.05}, deaths: []death{
			{window: onTheWire, event: "post", nth: 20}, {window: answerUnread, event: "accepted", nth: 20}}},
		// What was posted before the kill stands nowhere: the next life posts it again.
		{mistake: "no_intent", caught: duplicate, deaths: []death{
			{window: onTheWire, event: "post", nth: 20}, {window: answerUnread, event: "accepted", nth: 20}}},
		// A lost answer is a doubt; whoever takes it for a refusal posts again.
		{mistake: "time_out_is_refusal", caught: duplicate, faults: sandbox.Faults{LostAfter: 0.05}},
	} {
		t.Run(c.mistake, func(t *testing.T) {
			draw := rand.New(rand.NewPCG(*seed, 0x6d7574616e7473)) // "mutants"
			w := newWorld(t, standard, func(o *sandbox.Options) {
				o.Faults = c.faults
				o.Faults.Latency = sandbox.Delay{Median: 40 * time.Millisecond}
			})
			list := listOf(300, draw)
			w.campaign("orders", "order_update", list)
			plant := "CAMPAIGND_MUTANT=" + c.mistake
			begin := func(env ...string) *process { return w.run("orders", append(env, plant)...) }
			for _, d := range c.deaths {
				if hit, why := w.kill(d, begin); !hit {
					t.Fatalf("missed %s: %s", d, why)
				}
			}
			if c.caught == "" {
				w.finish("orders", time.Minute)
				if found := w.settle(time.Minute, func() []problem { return compare(list, w.lines("latest"), w.sent("order_update")) }); len(found) > 0 {
					t.Fatalf("without a mistake: %s", report(found))
				}
				return
			}
			// A mistaken process may never end: it is given until the mistake shows.
			p := begin()
			defer p.kill()
			deadline := time.NewTimer(20 * time.Second)
			defer deadline.Stop()
			for {
				found := twice(w.sent("order_update"))
				if len(found) > 0 && found[0].kind == c.caught {
					t.Logf("caught: %s", found[0].what)
					return
				}
				select {
				case <-deadline.C:
					t.Fatalf("nothing found in %d accepted messages: the mistake survived", len(w.sent("order_update")))
				case <-time.After(100 * time.Millisecond):
				}
			}
		})
	}
}
