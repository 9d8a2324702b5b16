//go:build mutants

package throttle_test

import (
	"testing"
	"time"

	"campaignd/internal/mutant"
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
	mutant.Set("missing_key_full_bucket")
	defer mutant.Set("")
	worst := throttletest.WorstSecond(incident(t, server.URL(1), limit, 3*time.Second, empty))
	t.Logf("with the mutation the worst second has %d messages, limit %d", worst, limit)
	if worst <= limit {
		t.Errorf("a missing key taken for a full bucket goes unnoticed: worst second %d, want more than %d", worst, limit)
	}
}
