//go:build mutants

package harness

import (
	"math/rand/v2"
	"net/http"
	"testing"
	"time"

	"campaignd/internal/sandbox"
	"campaignd/throttle/throttletest"
	"campaignd/throttle/throughput"
)

// overTheWay is the service at the end of an uneven way.
func (w *world) overTheWay(answer http.ResponseWriter, r *http.Request) {
	late := func() {
		if most := w.way.Load(); most > 0 {
			time.Sleep(time.Duration(rand.Int64N(most)))
		}
	}
	if late(); w.way.Load() > 0 { // it arrives at the end of the way
		r = r.WithContext(sandbox.ConnContext(r.Context(), nil))
	}
	w.service.ServeHTTP(answer, r)
	late() // the answer is short, so it leaves when this returns
}

// Four processes share numbers whose way is uneven by 5 ms there and 5 ms back. By the service's
// own count no sliding second exceeds the limit, before the pace is learned and after it, and with
// the learned pace the mean is at least 0.95 of the limit when the machine has time.
func TestClusterALearnedPaceUsesTheLimit(t *testing.T) {
	const least = 0.95
	flows := measure(t, sharing{
		processes: 4, limits: []int{80, 1000}, jitter: 5 * time.Millisecond,
		silent: 0.98, // events have to come in; three for each message would take the processor from the way
		after:  throughput.LearnAfter * 11 / 10, lasting: 45 * time.Second,
	})
	for _, f := range flows {
		part := f.mean / float64(f.limit)
		t.Logf("%4d/s: %6.1f/s on average, %.3f of the limit, first pace %.1f, %d in the worst second; requests of each: %v; overslept %v",
			f.limit, f.mean, part, f.pace, f.worst, f.by, f.busy)
		if f.worst > f.most {
			t.Errorf("%d/s: %d messages in one second, want at most %d", f.limit, f.worst, f.most)
		}
		switch {
		case part >= least:
		case f.busy > throttletest.Busy:
			t.Logf("%d/s: the machine was too busy to test the pace", f.limit)
		default:
			t.Errorf("%d/s: %.3f of the limit were used, want at least %v", f.limit, part, least)
		}
	}
}
