package sender

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"campaignd/campaign"
	"campaignd/throttle"
)

// A run with a limit of its own gets its part of a slow number beside runs without one: its limit,
// or its share where that is less.
func TestASlowNumberIsSharedWithALimitedRun(t *testing.T) {
	for _, c := range []struct {
		pace, limit float64 // per second
		weight      int
		free        int // runs without a limit
	}{
		{2.5, 1, 1, 1}, {2.5, 1.25, 1, 1}, {2.5, 2, 1, 1}, {4, 1.6, 1, 1}, {4, 3, 1, 1}, {4, 3, 1, 2}, {4, 3.5, 3, 1},
		{12.6, 9, 1, 1}, {1, 5, 1, 1},
	} {
		for n := 1; n <= 2; n++ {
			t.Run(fmt.Sprintf("%v of %v, weight %d beside %d, %d senders", c.limit, c.pace, c.weight, c.free, n), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					l := newEndlessLedger()
					capped := template(t, 1, "capped", c.limit)
					capped.shared.Store(&terms{RunLimits: campaign.RunLimits{Rate: c.limit, Weight: c.weight}})
					runs := []*run{capped}
					for i := range c.free {
						runs = append(runs, template(t, campaign.RunNo(2+i), fmt.Sprint("free", i), 0))
					}
					all := serving(t, l, throttle.NewLocal(), n, c.pace, runs...)
					from := time.Now().Add(10 * time.Second)
					time.Sleep(10*time.Second + 2*time.Minute)
					to := from.Add(2 * time.Minute)
					want := min(c.limit, c.pace*float64(c.weight)/float64(c.weight+c.free))
					rest := 0.0
					for i := range c.free {
						rest += l.within(fmt.Sprint("free", i), from, to)
					}
					got := l.within("capped", from, to)
					t.Logf("%.3f/s, want %.3f; the others %.3f/s, want %.3f", got, want, rest, c.pace-want)
					if got < 0.95*want || got > 1.05*want {
						t.Errorf("the limited run gets %.3f/s, want %.3f", got, want)
					}
					if rest < 0.97*(c.pace-want) {
						t.Errorf("the others get %.3f/s, want %.3f", rest, c.pace-want)
					}
					all.stop()
				})
			})
		}
	}
}
