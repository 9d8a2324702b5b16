//go:build mutants

package throttle_test

import (
	"os"
	"testing"
	"testing/synctest"
	"time"

	"campaignd/internal/mutant"
	"campaignd/throttle"
	"campaignd/throttle/redistest"
	"campaignd/throttle/throttletest"
)

// The mutation is the mistake that most limiters make: a missing key is a full bucket. Each time
// Redis is emptied, the leases in hand are handed out again. The test is not parallel, because a
// mutation is on for the whole process.
func TestFullBucketForAMissingKeyIsCaught(t *testing.T) {
	server := redistest.Start(t)
	empty := func() {
		for range 4 {
			server.Do("FLUSHALL")
			<-time.After(150 * time.Millisecond)
		}
	}
	const limit = 80
	if worst := throttletest.WorstSecond(incident(t, server.URL(0), limit, 3*time.Second, empty)); worst > limit {
		t.Errorf("without the mutation %d messages in one second, want at most %d", worst, limit)
	}
	defer mutant.Set(os.Getenv("CAMPAIGND_MUTANT"))
	mutant.Set("missing_key_full_bucket")
	worst := throttletest.WorstSecond(incident(t, server.URL(1), limit, 3*time.Second, empty))
	t.Logf("with the mutation the worst second has %d messages, limit %d", worst, limit)
	if worst <= limit {
		t.Errorf("a missing key taken for a full bucket goes unnoticed: worst second %d, want more than %d", worst, limit)
	}
}

// The mutation keeps the rate of a throttled number in each process: three of four replicas go on
// at full rate.
func TestARateThatIsNotSharedIsCaught(t *testing.T) {
	server := redistest.Start(t)
	if got := shared(t, server, 0); got[0] != 56 {
		t.Errorf("without the mutation the replicas send at %v per second, want 56", got)
	}
	defer mutant.Set(os.Getenv("CAMPAIGND_MUTANT"))
	mutant.Set("cubic_unshared")
	if got := shared(t, server, 1); got[0] == 56 {
		t.Errorf("a rate that is not shared goes unnoticed: the replicas send at %v per second, want more than 56", got)
	}
}

// Each mutation breaks one rule of counted limits. The scene finds it with both counters.
func TestMutationsOfQuotasAreCaught(t *testing.T) {
	defer mutant.Set(os.Getenv("CAMPAIGND_MUTANT"))
	const rebuild = 300 * time.Millisecond
	for _, name := range []string{"", "unit_not_charged", "unit_not_refunded", "unit_charged_twice", "unit_marker_ignored",
		"unit_reserve_ignored"} {
		if name != "" { // else that of CAMPAIGND_MUTANT, which the gate applies
			mutant.Set(name)
		}
		synctest.Test(t, func(t *testing.T) {
			err := throttletest.Exact(t.Context(), throttle.NewLocal(), func() throttle.Counter { return throttle.NewLocal() })
			if (err != nil) != (name != "") {
				t.Errorf("Local with mutation %q: got %v, want a fault exactly with a mutation", name, err)
			}
		})
		all := counters(t, redistest.Start(t), 1, rebuild)
		if err := throttletest.Exact(t.Context(), all.Counters[0], func() throttle.Counter {
			all.Lose()
			return all.Counters[0]
		}); (err != nil) != (name != "") {
			t.Errorf("Redis with mutation %q: got %v, want a fault exactly with a mutation", name, err)
		}
	}
}
