package throttle_test

import (
	"testing"
	"testing/synctest"
	"time"

	"campaignd/throttle"
	"campaignd/throttle/redistest"
	"campaignd/throttle/throttletest"
)

func TestLocalCountsQuotas(t *testing.T) {
	throttletest.RunQuotasVirtual(t, func(*testing.T) throttletest.Shared {
		return throttletest.Shared{Counters: []throttle.Counter{throttle.NewLocal()}}
	})
}

func TestRedisCountsQuotas(t *testing.T) {
	t.Parallel()
	const rebuild = 300 * time.Millisecond
	throttletest.RunQuotas(t, rebuild, func(t *testing.T) throttletest.Shared {
		return counters(t, redistest.Start(t), 3, rebuild)
	})
}

func TestLocalQuotasAreExact(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		another := func() throttle.Counter { return throttle.NewLocal() }
		if err := throttletest.Exact(t.Context(), throttle.NewLocal(), another); err != nil {
			t.Errorf("got %v, want none", err)
		}
	})
}

func TestRedisQuotasAreExact(t *testing.T) {
	t.Parallel()
	all := counters(t, redistest.Start(t), 1, 300*time.Millisecond)
	if err := throttletest.Exact(t.Context(), all.Counters[0], func() throttle.Counter {
		all.Lose()
		return all.Counters[0]
	}); err != nil {
		t.Errorf("got %v, want none", err)
	}
}

// counters is those of n processes that share a server.
func counters(t *testing.T, server *redistest.Server, n int, rebuild time.Duration) throttletest.Shared {
	t.Helper()
	all := throttletest.Shared{Lose: func() { server.Do("FLUSHALL") }}
	for range n {
		r := connect(t, server.URL(0))
		r.RebuildAfter(rebuild)
		all.Counters = append(all.Counters, r)
	}
	return all
}
