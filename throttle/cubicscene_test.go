package throttle_test

import (
	"context"
	"math"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"campaignd/throttle"
)

// together is replicas that share a Local, as processes share a Redis.
func together(n int) []throttle.Limiter {
	shared := throttle.NewLocal()
	all := make([]throttle.Limiter, n)
	for i := range all {
		all[i] = shared
	}
	return all
}

// trials plays a service with several seeds: the mean and the least used of what was possible after
// 30 s, the mean and the greatest part refused, and the mean used in the first 30 s. It is not
// parallel: beside it, tests in real time would be late.
func trials(t *testing.T, s service, pace, possible float64, replicas int) (used, least, refused, most, first float64) {
	const total = 210 * time.Second
	seeds := 5.0
	if testing.Short() {
		seeds = 2
	}
	least = 9
	for seed := range uint64(seeds) {
		synctest.Test(t, func(t *testing.T) {
			w := &scene{T: t, limiters: together(replicas), pace: pace, service: s}
			all := w.play(total, seed)
			u, r := measure(all, 30*time.Second, total)
			f, _ := measure(all, 0, 30*time.Second)
			used, refused, first = used+u/possible/seeds, refused+r/seeds, first+f/possible/seeds
			least, most = math.Min(least, u/possible), math.Max(most, r)
		})
	}
	return used, least, refused, most, first
}

// deaf is a limiter that ignores what the service answers.
type deaf struct{ throttle.Limiter }

func (deaf) Observe(string, int64, bool) {}

// pausing stops for a second at each throttled answer, then goes on at the full rate.
type pausing struct {
	throttle.Limiter
	until *time.Time
}

func (p pausing) Observe(_ string, _ int64, throttled bool) {
	if throttled && !time.Now().Before(*p.until) {
		*p.until = time.Now().Add(time.Second)
	}
}

func (p pausing) Lease(ctx context.Context, key string, rate float64, n int) (throttle.Slots, error) {
	if wait := time.Until(*p.until); wait > 0 {
		return throttle.Slots{Interval: time.Second, Wait: wait}, nil
	}
	return p.Limiter.Lease(ctx, key, rate, n)
}

// The second table of docs/limits.md#slowing-down: ten minutes of a number of 80 a second whose
// hidden limit is 80 less 5 to 15 inbound, 20 for two minutes and 0 for 20 seconds. A fixed rate is
// refused a quarter, and a pause of a second after each refusal loses as much. The curve with a
// ceiling below the limit keeps more than 85 % with under 3 % refused.
func TestAMovingLimitIsFollowed(t *testing.T) {
	const minute = time.Minute
	brown, black := [2]time.Duration{3 * minute, 5 * minute}, [2]time.Duration{7 * minute, 7*minute + 20*time.Second}
	noise, inbound := rand.New(rand.NewPCG(80, 1)), [600]float64{}
	for i := range inbound {
		inbound[i] = 5 + 10*noise.Float64()
	}
	limit := func(at time.Duration) float64 {
		switch {
		case at >= brown[0] && at < brown[1]:
			return 20
		case at >= black[0] && at < black[1]:
			return 0
		}
		return 80 - inbound[min(int(at/time.Second), len(inbound)-1)]
	}
	possible := 0.0
	for i := range inbound {
		possible += limit(time.Duration(i)*time.Second) / float64(len(inbound))
	}
	type outcome struct{ accepted, refused, brown, black, back float64 }
	play := func(name string, pace float64, limiters func() []throttle.Limiter) (o outcome) {
		synctest.Test(t, func(t *testing.T) {
			w := &scene{T: t, limiters: limiters(), pace: pace, service: service{limit: limit}}
			all := w.play(10*minute, 1)
			o.accepted, o.refused = measure(all, 0, 10*minute)
			o.accepted /= possible
			lost := func(span [2]time.Duration) float64 {
				accepted, part := measure(all, span[0], span[1])
				return math.Round(accepted * (span[1] - span[0]).Seconds() * part / (1 - part))
			}
			o.brown = lost(brown)
			for _, m := range all {
				if m.at >= black[0] && m.at < black[1] {
					o.black++
				}
			}
			for at := brown[1]; ; at += time.Second {
				o.back++
				if got, _ := measure(all, at, at+time.Second); got >= 0.9*math.Min(pace, limit(at)) || at > black[0] {
					return
				}
			}
		})
		t.Logf("%-24s accepted %5.1f %%, refused %4.1f %%, brown-out %4.0f, black-out %4.0f, back in second %v", name,
			100*o.accepted, 100*o.refused, o.brown, o.black, o.back)
		return o
	}
	nothing := play("none", 80, func() []throttle.Limiter { return []throttle.Limiter{deaf{throttle.NewLocal()}} })
	stop := play("pause 1 s", 80, func() []throttle.Limiter { return []throttle.Limiter{pausing{throttle.NewLocal(), new(time.Time)}} })
	full := play("ceiling 100 %", 80, func() []throttle.Limiter { return together(1) })
	paced := play("ceiling 90 %", 72, func() []throttle.Limiter { return together(1) })
	four := play("ceiling 90 %, 4 replicas", 72, func() []throttle.Limiter { return together(4) })
	careful := play("ceiling 80 %", 64, func() []throttle.Limiter { return together(1) })
	if nothing.refused < 0.2 {
		t.Fatalf("the scene is too kind: a fixed rate is refused %.1f %%, want 20 or more", 100*nothing.refused)
	}
	for name, o := range map[string]outcome{"alone": paced, "four": four} {
		if o.accepted < 0.85 || o.refused > 0.03 || o.accepted < stop.accepted {
			t.Errorf("90 %%, %s: accepted %.1f %%, refused %.1f %%; want 85 or more, 3 or less", name, 100*o.accepted, 100*o.refused)
		}
		if o.back > 10 || o.black == 0 || o.black > 120 {
			t.Errorf("90 %%, %s: back after %v s, %v refused in the black-out; want at most 10, 1 to 120", name, o.back, o.black)
		}
	}
	if careful.refused > paced.refused || paced.refused > full.refused {
		t.Errorf("refused at ceilings of 100, 90, 80 %%: %.2f, %.2f, %.2f %%, want fewer at the lower", 100*full.refused,
			100*paced.refused, 100*careful.refused)
	}
}
