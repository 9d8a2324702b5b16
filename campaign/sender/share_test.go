package sender

import (
	"context"
	"testing"
	"time"

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
