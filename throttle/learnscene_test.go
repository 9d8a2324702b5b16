package throttle_test

import (
	"flag"
	"fmt"
	"testing"
	"testing/synctest"
	"time"
)

var learnFor = flag.Duration("learn-for", 4*time.Minute, "virtual time of each row of TestALearnedPaceReachesItsPart; make sim takes 1h")

// longRow is from when on a row must reach its part, since it learned long ago.
const longRow = 10 * time.Minute

// length is the virtual time of a row: learnFor, in which below longRow a fast number sends no more
// than 20,000 messages.
func (u *uneven) length() time.Duration {
	if *learnFor >= longRow {
		return *learnFor
	}
	return min(*learnFor, time.Duration(20_000/u.limit)*time.Second)
}

// part plays a number, and returns the mean against the limit less the most messages that came in
// within a second, by the service's own count.
func (u *uneven) part(t *testing.T, total time.Duration) float64 {
	synctest.Test(t, func(t *testing.T) {
		u.T = t
		u.play(total, 1)
	})
	mean := float64(u.count.sent) / total.Seconds()
	part := mean / (u.limit - float64(u.count.inboundMost))
	t.Logf("%4.0f/s, jitter %4v, inbound %2.0f %% (most %3d), %d replicas: %5.1f/s, %.3f of what was possible, %d above the limit",
		u.limit, u.jitter, 100*u.inbound/u.limit, u.count.inboundMost, u.replicas, mean, part, u.count.over)
	return part
}

// The table of docs/limits.md#a-pace-that-learns: at least 0.95 of what the service permits with
// jitter up to 5 ms, 0.90 with 30 ms, and no second above the limit.
func TestALearnedPaceReachesItsPart(t *testing.T) {
	for _, limit := range []float64{20, 80, 1000} {
		for _, jitter := range []time.Duration{0, 5 * time.Millisecond, 30 * time.Millisecond} {
			for _, inbound := range []float64{0, 0.05, 0.20} {
				t.Run(fmt.Sprintf("%v/%v/%v", limit, jitter, inbound), func(t *testing.T) {
					u := &uneven{limit: limit, jitter: jitter, inbound: inbound * limit, replicas: 1}
					reaches(t, u)
					if *learnFor >= longRow {
						u = &uneven{limit: limit, jitter: jitter, inbound: inbound * limit, replicas: 4}
						reaches(t, u)
					}
				})
			}
		}
	}
}

func reaches(t *testing.T, u *uneven) {
	want := 0.95
	if u.limit == 20 || u.jitter > 5*time.Millisecond {
		want = 0.90
	}
	// The first 2,000 messages leave at the first pace.
	if got := u.part(t, u.length()); got < want && *learnFor >= longRow || u.count.over > 0 {
		t.Errorf("%.3f of what was possible, %d above the limit; want at least %v, none", got, u.count.over, want)
	}
}

// Messages that come in independently of each other have no greatest number in a second. The second
// table of docs/limits.md#a-pace-that-learns.
func TestIndependentInboundIsKeptFor(t *testing.T) {
	for _, limit := range []float64{20, 80, 1000} {
		for _, inbound := range []float64{0.05, 0.20} {
			u := &uneven{limit: limit, jitter: 5 * time.Millisecond, inbound: inbound * limit, independent: true, replicas: 1}
			u.part(t, u.length())
			if most := 4 + u.count.sent/5000; u.count.over > most {
				t.Errorf("%v/s, inbound %v: %d above the limit, want at most %d", limit, inbound, u.count.over, most)
			}
		}
	}
}

// A limit that falls to half while the learned pace is used is found within 30 s. After that at
// most 1.5 % is refused, and 0.88 of the limit is used. A limit of 10/s is met by every tenth
// message of a second: there the curve alone costs up to 3 %.
func TestALimitThatFallsIsFound(t *testing.T) {
	for _, limit := range []float64{20, 80, 1000} {
		for _, replicas := range []int{1, 4} {
			const learns = 5 * time.Minute
			u := &uneven{limit: limit, jitter: 5 * time.Millisecond, replicas: replicas, falls: learns}
			const found, total = 30 * time.Second, 10 * time.Minute
			u.part(t, learns+total)
			var sent, refused float64
			for _, m := range u.fallen {
				if m.at < before+learns+found {
					continue
				}
				sent++
				if !m.accepted {
					refused++
				}
			}
			most := 0.015
			if limit == 20 {
				most = 0.03
			}
			used := (sent - refused) / (total - found).Seconds() / (limit / 2)
			t.Logf("%v/s falls to half, %d replicas: %.3f used, %.2f %% refused", limit, replicas, used, 100*refused/sent)
			if used < 0.88 || refused > most*sent {
				t.Errorf("%v/s falls to half, %d replicas: %.3f used, %.2f %% refused; want at least 0.88, at most %.1f %%",
					limit, replicas, used, 100*refused/sent, 100*most)
			}
		}
	}
}
