package throttle

import (
	"errors"
	"maps"
	"math"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"campaignd/throttle/throughput"
)

func TestIntervalIsNeverShorterThanTheRate(t *testing.T) {
	for _, c := range []struct {
		rate float64
		want time.Duration
	}{
		{80, 12_500 * time.Microsecond}, {1000, time.Millisecond}, {3, 333_333_334}, {0.3, 3_333_333_334},
		{7, 142_857_143}, {throughput.MaxRate, time.Microsecond}, {throughput.MinRate, 1e6 * time.Second},
	} {
		if got, err := interval("conn_1", c.rate, 1); got != c.want || err != nil {
			t.Errorf("%v per second: got %v, %v, want %v", c.rate, got, err, c.want)
		}
	}
	for _, c := range []struct {
		key  string
		rate float64
		n    int
	}{
		{"", 80, 1}, {"conn_1", 80, 0}, {"conn_1", 80, -1}, {"conn_1", 0, 1}, {"conn_1", -80, 1}, {"conn_1", math.NaN(), 1},
		{"conn_1", math.Nextafter(throughput.MinRate, 0), 1}, {"conn_1", math.Nextafter(throughput.MaxRate, 2*throughput.MaxRate), 1},
		{"conn_1", math.Inf(1), 1},
	} {
		if got, err := interval(c.key, c.rate, c.n); got != 0 || !errors.Is(err, ErrLease) || errors.Is(err, ErrUnavailable) {
			t.Errorf("interval(%q, %v, %d) = %v, %v; want 0, ErrLease", c.key, c.rate, c.n, got, err)
		}
	}
	if throughput.MinRate != 0.000_001 || throughput.MaxRate != 1_000_000 {
		t.Errorf("rates from %v to %v, want a millionth to a million", throughput.MinRate, throughput.MaxRate)
	}
}

func TestNoSlotIsBeyondTheHorizon(t *testing.T) {
	const every = 12_500 * time.Microsecond
	now := time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		first   time.Duration // from now
		n, want int
	}{
		{0, 1, 1}, {0, 20, 20}, {0, 21, 21}, {0, 22, 21}, {-every, 100, 22}, {1, 100, 20},
		{Horizon - every, 100, 2}, {Horizon - every + 1, 100, 1}, {Horizon, 100, 1}, {Horizon + 1, 100, 0}, {time.Hour, 100, 0},
	} {
		if got := fit(now.Add(c.first), now, every, c.n); got != c.want {
			t.Errorf("%d slots from %v on: got %d, want %d", c.n, c.first, got, c.want)
		}
	}
}

// A key is forgotten after a minute of idleness, and never while it could still matter.
func TestKeysAreForgottenAfterAMinute(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		now := time.Now()
		for _, c := range []struct {
			name  string
			sweep time.Duration // since the last one
			local []string
			redis []string
		}{
			{"less than a minute after the last sweep", time.Minute - 1,
				[]string{"a minute", "longer"}, []string{"a minute", "leasing", "longer", "new", "slots"}},
			{"a minute after", time.Minute, []string{"a minute"}, []string{"a minute", "leasing", "longer", "new", "slots"}},
			{"more than a minute after", time.Minute + 1, []string{"a minute"}, []string{"a minute", "leasing", "new", "slots"}},
		} {
			minute, longer := now.Add(-time.Minute), now.Add(-time.Minute-1)
			l := &Local{sweep: now.Add(-c.sweep), keys: map[string]*pacing{"a minute": {next: minute}, "longer": {next: longer}}}
			l.forget(now)
			if got := slices.Sorted(maps.Keys(l.keys)); !slices.Equal(got, c.local) {
				t.Errorf("%s: Local remembers %q, want %q", c.name, got, c.local)
			}
			leasing := make(chan struct{}, 1)
			leasing <- struct{}{}
			r := &Redis{swept: now.Add(-c.sweep), keys: map[string]*memory{
				"a minute": {used: minute, end: longer}, "slots": {used: longer, end: minute}, "longer": {used: longer, end: longer},
				"leasing": {used: longer, end: longer, busy: leasing},
			}}
			m := r.recall("new")
			if got := slices.Sorted(maps.Keys(r.keys)); !slices.Equal(got, c.redis) {
				t.Errorf("%s: Redis remembers %q, want %q", c.name, got, c.redis)
			}
			if m.cursor != "0" || cap(m.busy) != 1 || !m.used.Equal(now) || r.recall("new") != m {
				t.Errorf("%s: a new key is %+v, want cursor 0, one lease at a time, used now, the same when asked again", c.name, m)
			}
		}
	})
}

// The slots of Local, to the nanosecond: a full horizon, the wait for the next slot, no credit for
// idle time, and a change of rate.
func TestLocalSlotsAreExact(t *testing.T) {
	const ms = time.Millisecond
	synctest.Test(t, func(t *testing.T) {
		l, began := NewLocal(), time.Now()
		for i, c := range []struct {
			at    time.Duration // since the beginning
			rate  float64
			n     int
			first time.Duration // since the beginning
			got   int
			wait  time.Duration
		}{
			{0, 80, 100, 0, 21, 0},
			{0, 80, 100, 0, 0, 12_500 * time.Microsecond},
			{12_500*time.Microsecond - 1, 80, 100, 0, 0, 1},
			{12_500 * time.Microsecond, 80, 100, 262_500 * time.Microsecond, 1, 0},
			{100 * ms, 80, 3, 275 * ms, 3, 0},
			{100 * ms, 1000, 100, 312_500 * time.Microsecond, 38, 0}, // a new rate starts where the old one's slots end
			{100 * ms, 20, 100, 0, 0, 500 * time.Microsecond},        // 350.5 ms, with 350 in reach
			{101 * ms, 20, 100, 350_500 * time.Microsecond, 1, 0},
			{10_000 * ms, 20, 2, 10_000 * ms, 2, 0}, // idle time earns nothing
			{10_000 * ms, 20, 9, 10_100 * ms, 4, 0},
		} {
			time.Sleep(time.Until(began.Add(c.at)))
			got, err := l.Lease(t.Context(), "conn_1", c.rate, c.n)
			if err != nil || got.N != c.got || got.Wait != c.wait || got.N > 0 && got.First.Sub(began) != c.first {
				t.Errorf("lease %d: got %d slots from %v, wait %v, %v; want %d from %v, wait %v",
					i, got.N, got.First.Sub(began), got.Wait, err, c.got, c.first, c.wait)
			}
			if want := time.Duration(math.Ceil(1e9 / c.rate)); got.Interval != want || got.At(3).Sub(got.First) != 3*want {
				t.Errorf("lease %d: interval %v, the fourth slot %v after the first; want %v, %v", i, got.Interval,
					got.At(3).Sub(got.First), want, 3*want)
			}
		}
	})
}
