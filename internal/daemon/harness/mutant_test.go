//go:build mutants

package harness

import (
	"math/rand/v2"
	"testing"
	"time"

	"campaignd/internal/sandbox"
)

// The comparison of the harness detects the two mutations that matter most to processes, each by
// its kind of problem. Without a mutation the same deaths leave no problem
// (docs/protocol.md#mutations).
func TestProcessMutationsAreDetected(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		mutation string
		shows    string // the kind of problem that shows the mutation; "": none
		faults   sandbox.Faults
		deaths   []death
	}{
		{mutation: "none", faults: sandbox.Faults{LostAfter: 0.05}, deaths: []death{
			{window: onTheWire, event: "post", nth: 20}, {window: answerUnread, event: "accepted", nth: 20}}},
		// No record exists of what was posted before the kill, so the next process posts it again.
		{mutation: "no_intent", shows: duplicate, deaths: []death{
			{window: onTheWire, event: "post", nth: 20}, {window: answerUnread, event: "accepted", nth: 20}}},
		// A lost answer is a doubt. A sender that takes it for a refusal posts again.
		{mutation: "time_out_is_refusal", shows: duplicate, faults: sandbox.Faults{LostAfter: 0.05}},
	} {
		t.Run(c.mutation, func(t *testing.T) {
			draw := rand.New(rand.NewPCG(*seed, 0x6d7574616e7473)) // "mutants"
			w := newWorld(t, standard, func(o *sandbox.Options) {
				o.Faults = c.faults
				o.Faults.Latency = sandbox.Delay{Median: 40 * time.Millisecond}
			})
			list := listOf(300, draw)
			w.campaign("orders", "order_update", list)
			applied := "CAMPAIGND_MUTANT=" + c.mutation
			begin := func(env ...string) *process {
				// In a folder of its own: the wire log would show the posts without an intent at the next
				// start.
				return w.run("orders", append(env, applied, "CAMPAIGND_DATA_DIR="+t.TempDir())...)
			}
			for _, d := range c.deaths {
				if hit, why := w.kill(d, begin); !hit {
					t.Fatalf("%s: got %s, want the kill", d, why)
				}
			}
			if c.shows == "" {
				w.finish("orders", time.Minute)
				want(t, w.deliver(3*time.Minute, func() []problem {
					return compare(list, w.lines("latest"), w.sent("order_update"))
				}))
				return
			}
			// A process with a mutation may never end, so it runs until the mutation shows.
			p := begin()
			defer p.kill()
			deadline := time.NewTimer(2 * lifeLimit)
			defer deadline.Stop()
			for {
				found := twice(w.sent("order_update"))
				if len(found) > 0 && found[0].kind == c.shows {
					t.Logf("detected: %s", found[0].what)
					return
				}
				select {
				case <-deadline.C:
					t.Fatalf("got no problem in %d accepted messages, want a %s", len(w.sent("order_update")), c.shows)
				case <-time.After(100 * time.Millisecond):
				}
			}
		})
	}
}
