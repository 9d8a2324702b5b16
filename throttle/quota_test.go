package throttle_test

import (
	"testing"
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
