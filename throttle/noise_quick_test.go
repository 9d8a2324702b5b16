package throttle_test

import (
	"math"
	"testing"
	"testing/synctest"
	"time"
)

// A service that throttles one message in twenty whatever the rate keeps 60 of 80 messages a second
// over the first minute. One with a limit of 40 a second never accepts more, and is used.
func TestRandomThrottlingCostsAQuarterAtMost(t *testing.T) {
	for _, c := range []struct {
		name     string
		service  service
		replicas int
		least    float64 // accepted a second in the first minute
	}{
		{"random 5 %", service{random: 0.05}, 1, 60},
		{"random 5 %", service{random: 0.05}, 4, 60},
		{"limit of 40", service{limit: still(40)}, 1, 33},
		{"limit of 40", service{limit: still(40)}, 4, 33},
	} {
		least, mean, most := math.Inf(1), 0.0, 0.0
		const seeds = 20
		for seed := range uint64(seeds) {
			synctest.Test(t, func(t *testing.T) {
				w := &scene{T: t, limiters: together(c.replicas), pace: 80, service: c.service}
				all := w.play(time.Minute, seed)
				accepted, refused := measure(all, 0, time.Minute)
				least, mean, most = math.Min(least, accepted), mean+accepted/seeds, math.Max(most, refused)
			})
		}
		t.Logf("%s, %d replicas: accepted %.1f a second (least %.1f), refused %.1f %% at most", c.name, c.replicas, mean, least, 100*most)
		if least < c.least {
			t.Errorf("%s, %d replicas: accepted %.1f a second, want at least %.0f", c.name, c.replicas, least, c.least)
		}
	}
}
