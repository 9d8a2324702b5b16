package throttletest

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"campaignd/throttle"
)

// A Shared is counters that share their counts, as the processes of a cluster do.
type Shared struct {
	// Counters are one or more.
	Counters []throttle.Counter
	// Lose loses all counts; nil: they cannot be lost.
	Lose func()
}

// RunQuotas tests counters in real time. rebuild is how long after the loss of a count they lease
// nothing; units are used within half of that. Each case gets new counters, and runs in parallel
// with the others.
func RunQuotas(t *testing.T, rebuild time.Duration, open func(t *testing.T) Shared) {
	for _, c := range quotaCases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			c.run(t, quotaSuite{rebuild: rebuild, period: 4 * rebuild, periods: 2, plays: 1}, open(t))
		})
	}
}

// RunQuotasVirtual tests counters in the fake time of a synctest bubble, with the times of the
// package.
func RunQuotasVirtual(t *testing.T, open func(t *testing.T) Shared) {
	const rebuild = throttle.UnitsFor + throttle.UnitsGrace + time.Second
	for _, c := range quotaCases {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c.run(t, quotaSuite{rebuild: rebuild, period: 10 * rebuild, periods: 4, plays: 5, virtual: true}, open(t))
			})
		})
	}
}

// quotaSuite is what differs between real and virtual time.
type quotaSuite struct {
	rebuild time.Duration // nothing is leased for so long after a loss
	period  time.Duration // of the quota in NeverMoreThanTheLimitInAnyPeriod
	periods int
	plays   int // each with another seed
	virtual bool
}

var quotaCases = []struct {
	name string
	run  func(*testing.T, quotaSuite, Shared)
}{
	{"NeverMoreThanTheLimitInAnyPeriod", neverMore},
	{"NothingIsLeasedBeforeTheCountIsRestored", restored},
	{"UnitsGivenBackAreLeasedAgain", givenBack},
	{"TheReserveIsKept", reserveKept},
	{"ALimitMayChange", limitChanges},
	{"QuotasAreIndependent", quotasIndependent},
	{"AnotherPeriodLeasesNothing", otherPeriod},
	{"TheNextPeriodHasItsOwnUnits", nextPeriod},
	{"ADeadProcessStrandsAChunkForEachNumber", strands},
	{"QuotaMistakesAreRefused", quotaMistakes},
}

// quota is a quota of a period around now.
func quota(limit, kept int64) throttle.Quota {
	now := time.Now().Truncate(time.Millisecond)
	return throttle.Quota{Key: "plan:co", From: now.Add(-time.Hour), To: now.Add(time.Hour), Limit: limit, Kept: kept}
}

// take asks until the answer is not a request to wait for a rebuilt count. used is what the ledger
// counts if it is asked.
func (s quotaSuite) take(t *testing.T, c throttle.Counter, q throttle.Quota, a throttle.Ask, used int64) throttle.Units {
	t.Helper()
	for range 200 {
		u, err := c.Take(t.Context(), q, a)
		if err != nil {
			t.Fatalf("take: got %v, want nil", err)
		}
		a.Back = 0
		switch {
		case u.Rebuild != 0:
			if ok, err := c.Restore(t.Context(), q, u.Rebuild, used); err != nil || !ok {
				t.Fatalf("restore: got %v and %v, want true and no error", ok, err)
			}
		case u.N > 0 || u.Empty || a.N == 0:
			return u
		default:
			time.Sleep(min(u.Wait, s.rebuild/4))
		}
	}
	t.Fatal("got no answer in 200 questions, want units or none")
	return throttle.Units{}
}

func restored(t *testing.T, s quotaSuite, all Shared) {
	c, q := all.Counters[0], quota(100, 0)
	other := all.Counters[len(all.Counters)-1]
	began := time.Now()
	var u throttle.Units
	for u.Rebuild == 0 {
		var err error
		if u, err = c.Take(t.Context(), q, throttle.Ask{N: 10}); err != nil || u.N != 0 {
			t.Fatalf("before the count is restored: got %+v and %v, want no unit", u, err)
		}
		if u.Rebuild == 0 && (u.Wait <= 0 || time.Since(began) > 4*s.rebuild) {
			t.Fatalf("before the count is restored: got %+v after %s, want a wait of at most %s", u, time.Since(began), s.rebuild)
		}
		time.Sleep(min(u.Wait, s.rebuild/4))
	}
	if second, err := other.Take(t.Context(), q, throttle.Ask{N: 10}); err != nil || second.N+int(second.Rebuild) != 0 || second.Wait <= 0 {
		t.Errorf("while one caller counts another got %+v and %v, want a wait", second, err)
	}
	for _, c := range []struct {
		rebuild int64
		want    bool
	}{{u.Rebuild - 1, false}, {u.Rebuild, true}, {u.Rebuild, false}} {
		if got, err := all.Counters[0].Restore(t.Context(), q, c.rebuild, 95); got != c.want || err != nil {
			t.Errorf("restore of loss %d: got %v and %v, want %v", c.rebuild-u.Rebuild, got, err, c.want)
		}
	}
	if u, err := other.Take(t.Context(), q, throttle.Ask{N: 10}); err != nil || u.N != 5 || !u.Until.After(time.Now()) {
		t.Errorf("with 95 of 100 used: got %+v and %v, want 5 units", u, err)
	}
	if u, err := c.Take(t.Context(), q, throttle.Ask{N: 10}); err != nil || u.N != 0 || !u.Empty || u.Wait <= 0 {
		t.Errorf("with all used: got %+v and %v, want none, and a wait", u, err)
	}
}

func givenBack(t *testing.T, s quotaSuite, all Shared) {
	q, c := quota(40, 0), all.Counters[0]
	first := s.take(t, c, q, throttle.Ask{N: 30}, 0)
	second := s.take(t, c, q, throttle.Ask{N: 30}, 0)
	if first.N != 16 || second.N != 16 {
		t.Fatalf("leases near the end: got %d and %d units, want 16 each", first.N, second.N)
	}
	if u := s.take(t, c, q, throttle.Ask{N: 30, Back: 16, Generation: first.Generation - 1}, 0); u.N != 8 {
		t.Errorf("after units of an older generation were given back: got %d units, want the 8 that are left", u.N)
	}
	if u := s.take(t, c, q, throttle.Ask{Back: 10, Generation: first.Generation}, 0); u.N != 0 {
		t.Errorf("giving back alone: got %+v, want no units", u)
	}
	if u := s.take(t, c, q, throttle.Ask{N: 30}, 0); u.N != 10 {
		t.Errorf("after 10 were given back: got %d units, want 10", u.N)
	}
	if u := s.take(t, c, q, throttle.Ask{N: 1, Back: 1000, Generation: first.Generation}, 0); u.N != 1 {
		t.Errorf("more given back than was leased: got %+v, want 1 unit", u)
	}
	if n, _ := s.drain(t, c, q, false); n != 39 {
		t.Errorf("with 1 of 40 used: got %d units, want 39", n)
	}
}

// drain takes the units that are left. reserved says that the last of them were of the reserve.
func (s quotaSuite) drain(t *testing.T, c throttle.Counter, q throttle.Quota, reserve bool) (n int, reserved bool) {
	for range 20 {
		u := s.take(t, c, q, throttle.Ask{N: 10, Reserve: reserve}, 0)
		if n += u.N; u.N == 0 {
			break
		}
		reserved = u.Reserved
	}
	return n, reserved
}

func reserveKept(t *testing.T, s quotaSuite, all Shared) {
	q, c := quota(100, 20), all.Counters[0]
	if u := s.take(t, c, q, throttle.Ask{N: 10, Reserve: true}, 0); u.N != 10 || u.Reserved {
		t.Fatalf("while there are others: got %+v, want 10 units that are not of the reserve", u)
	}
	if n, reserved := s.drain(t, c, q, false); n != 70 || reserved {
		t.Errorf("marketing: got %d units, of the reserve %v; want 70 and false", n, reserved)
	}
	if n, reserved := s.drain(t, c, q, true); n != 20 || !reserved {
		t.Errorf("not marketing: got %d units, of the reserve %v; want the 20 that are kept and true", n, reserved)
	}
}

func limitChanges(t *testing.T, s quotaSuite, all Shared) {
	q, c := quota(10, 0), all.Counters[0]
	if u := s.take(t, c, q, throttle.Ask{N: 20}, 0); u.N != 10 {
		t.Fatalf("got %d units, want 10", u.N)
	}
	q.Limit = 15
	if u := s.take(t, c, q, throttle.Ask{N: 20}, 0); u.N != 5 {
		t.Errorf("raised by 5: got %d units, want 5", u.N)
	}
	q.Limit = 5
	if u := s.take(t, c, q, throttle.Ask{N: 20}, 0); u.N != 0 || !u.Empty {
		t.Errorf("lowered: got %+v, want none", u)
	}
}

func quotasIndependent(t *testing.T, s quotaSuite, all Shared) {
	one, two := quota(10, 0), quota(10, 0)
	two.Key = "ramp:conn_1"
	for _, q := range []throttle.Quota{one, two} {
		if u := s.take(t, all.Counters[0], q, throttle.Ask{N: 20}, 0); u.N != 10 {
			t.Errorf("%s: got %d units, want 10", q.Key, u.N)
		}
	}
}

func otherPeriod(t *testing.T, _ quotaSuite, all Shared) {
	past, future := quota(10, 0), quota(10, 0)
	past.From, past.To = past.From.Add(-time.Hour), past.To.Add(-time.Hour-time.Second)
	future.From, future.To = future.From.Add(time.Hour+time.Minute), future.To.Add(time.Hour)
	for _, q := range []throttle.Quota{past, future} {
		if u, err := all.Counters[0].Take(t.Context(), q, throttle.Ask{N: 1}); err != nil || u.N != 0 || u.Rebuild != 0 || u.Wait <= 0 {
			t.Errorf("period %v to %v: got %+v and %v, want a wait", q.From, q.To, u, err)
		}
	}
}

// nextPeriod: the count of a period ends with it, without a loss. The two periods overlap, so that
// the case does not depend on how long it takes.
func nextPeriod(t *testing.T, s quotaSuite, all Shared) {
	q := quota(10, 0)
	if u := s.take(t, all.Counters[0], q, throttle.Ask{N: 20}, 0); u.N != 10 {
		t.Fatalf("the first period: got %d units, want 10", u.N)
	}
	q.From, q.To = q.From.Add(time.Minute), q.To.Add(time.Minute)
	for i, c := range all.Counters {
		if u := s.take(t, c, q, throttle.Ask{N: 20}, 3); i == 0 && u.N != 7 || i > 0 && (u.N != 0 || !u.Empty) {
			t.Errorf("the next period, of which 3 are used, counter %d: got %+v, want 7 units and then none", i, u)
		}
	}
}

// strands has a process die with a chunk of three numbers in hand. The others send the rest, and no
// more.
func strands(t *testing.T, s quotaSuite, all Shared) {
	const numbers, limit = 3, 40 * throttle.Chunk
	q := quota(limit, 0)
	dead, sent := 0, 0
	for range numbers {
		dead += s.take(t, all.Counters[0], q, throttle.Ask{N: throttle.Chunk}, 0).N
	}
	for {
		u := s.take(t, all.Counters[len(all.Counters)-1], q, throttle.Ask{N: throttle.Chunk}, 0)
		if sent += u.N; u.Empty {
			break
		}
	}
	if least := limit - numbers*throttle.Chunk; sent < least || sent+dead > limit {
		t.Errorf("got %d units beside the %d of the dead, want %d or more, and at most %d in all", sent, dead, least, limit)
	}
}

func quotaMistakes(t *testing.T, _ quotaSuite, all Shared) {
	good := quota(10, 5)
	for _, change := range []func(*throttle.Quota, *throttle.Ask){
		func(q *throttle.Quota, _ *throttle.Ask) { q.Key = "" },
		func(q *throttle.Quota, _ *throttle.Ask) { q.To = q.From },
		func(q *throttle.Quota, _ *throttle.Ask) { q.Limit = -1 },
		func(q *throttle.Quota, _ *throttle.Ask) { q.Kept = 11 },
		func(q *throttle.Quota, _ *throttle.Ask) { q.Kept = -1 },
		func(_ *throttle.Quota, a *throttle.Ask) { a.N = -1 },
		func(_ *throttle.Quota, a *throttle.Ask) { a.Back = -1 },
	} {
		q, a := good, throttle.Ask{N: 1}
		change(&q, &a)
		if u, err := all.Counters[0].Take(t.Context(), q, a); !errors.Is(err, throttle.ErrQuota) || u.N != 0 {
			t.Errorf("Take(%+v, %+v) = %+v, %v; want ErrQuota", q, a, u, err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if u, err := all.Counters[0].Take(ctx, good, throttle.Ask{N: 1}); err == nil || u.N != 0 {
		t.Errorf("after the end of its context: got %+v, %v; want the context's error", u, err)
	}
}
