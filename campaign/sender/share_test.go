package sender

import (
	"context"
	"testing"
	"time"

	"campaignd/campaign"
	"campaignd/throttle"
)

// usedUp is a limiter whose permissions are used up for a while.
type usedUp struct {
	throttle.Limiter
	wait time.Duration
}

func (l usedUp) Allow(context.Context, string, float64, int) (int, time.Duration, error) {
	return 0, l.wait, nil
}

// The share of a run may be greater soon, when another run has ended: it is asked for again after a
// second at the latest, and after the time of a group at the earliest.
func TestAUsedUpShareIsAskedForWithinASecond(t *testing.T) {
	for wait, want := range map[time.Duration]time.Duration{
		0: shareAgain, shareAgain + 1: shareAgain + 1, time.Second: time.Second, time.Hour: time.Second,
	} {
		e, err := New(nil, nil, usedUp{wait: wait}, Options{Owner: "a"})
		if err != nil {
			t.Fatal(err)
		}
		p, r, now := newWorker(e, "conn_1").planner, &run{no: 1}, time.Now()
		p.fair.uneven = true
		n := p.fair.askShare(t.Context(), &flow{run: r, rate: 0.001, n: 3}, now)
		if got := p.fair.used[r].Sub(now); n != 0 || got != want {
			t.Errorf("a wait of %v: got %d permissions and asks after %v, want 0 and %v", wait, n, got, want)
		}
	}
}

// A run with a 20th of a number of 1 message per second has a turn in 20 s. It keeps the turn in
// which its attempt was given back.
func TestAnAttemptThatIsNotPostedCostsNoShare(t *testing.T) {
	e, err := New(&resultLedger{}, nil, throttle.NewLocal(), Options{Owner: "a", Pace: func(string) float64 { return 1 }})
	if err != nil {
		t.Fatal(err)
	}
	w, small, large, now := newWorker(e, "conn_1"), &run{no: 1}, &run{no: 2}, time.Now()
	chosen := func() (n [2]int) {
		flows := []*flow{{run: small, rate: 0.05, most: 9, slack: 1}, {run: large, rate: 0.95, most: 9, slack: 1}}
		w.planner.fair.choose(flows, now, 4, 9)
		return [2]int{flows[0].n, flows[1].n}
	}
	if got, want := chosen(), [2]int{1, 3}; got != want {
		t.Fatalf("the first group has %v deliveries of the small and the large run, want %v", got, want)
	}
	if got, want := chosen(), [2]int{0, 4}; got != want {
		t.Fatalf("the second group has %v deliveries of the small and the large run, want %v", got, want)
	}
	s := newSegment(small, campaign.Lease{Until: now.Add(time.Hour)}, newSignal())
	to := campaign.Delivery{Run: 1, Key: 4915112345678}
	w.poster.pairs.wait(&attempt{segment: newSegment(large, campaign.Lease{}, newSignal()), delivery: to, pair: true}, now)
	w.queue.push([]*attempt{{segment: s, delivery: to, pair: true}})
	if w.poster.use(t.Context(), now, now) || !w.queue.empty() {
		t.Fatal("the attempt is posted or still queued, want it given back for the pair limit")
	}
	if got, want := chosen(), [2]int{1, 3}; got != want {
		t.Errorf("then a group has %v deliveries of the small and the large run, want %v", got, want)
	}
}
