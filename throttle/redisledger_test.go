package throttle_test

import (
	"testing"
	"time"

	"campaignd/throttle"
	"campaignd/throttle/redistest"
)

// Two ledgers over one server share the slots of a number. The counts of quotas and the rates of
// runs are each ledger's own: neither is set to what the other ledger has sent.
func TestLedgersShareNothingButTheNumbers(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	now := time.Now().Truncate(time.Millisecond)
	q := throttle.Quota{Key: "plan:co", From: now.Add(-time.Hour), To: now.Add(time.Hour), Limit: 10}
	for ledger, left := range map[string]int64{"one": 7, "other": 4} {
		r, err := throttle.NewRedis(t.Context(), server.URL(0), throttle.Options{Ledger: ledger})
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = r.Close() }()
		r.Patient()
		r.RebuildAfter(time.Millisecond)
		u := throttle.Units{}
		for tries := 0; u.N == 0 && !u.Empty && tries < 1000; tries++ {
			if u, err = r.Take(t.Context(), q, throttle.Ask{N: 10}); err != nil {
				t.Fatal(err)
			}
			time.Sleep(min(u.Wait, time.Millisecond))
			if u.Rebuild != 0 {
				if _, err := r.Restore(t.Context(), q, u.Rebuild, q.Limit-left); err != nil {
					t.Fatal(err)
				}
			}
		}
		if int64(u.N) != left {
			t.Errorf("ledger %s: got %d units, want the %d that it has left", ledger, u.N, left)
		}
		if n, _, err := r.Allow(t.Context(), "run:spring-1", 0.01, 1); n != 1 || err != nil {
			t.Errorf("ledger %s: got %d permissions and %v, want 1 for its run", ledger, n, err)
		}
		if _, err := r.Lease(t.Context(), "conn_1", 10, 1); err != nil {
			t.Fatal(err)
		}
		if got := server.Do("EXISTS", "{n:"+ledger+":conn_1}:tat"); got != ":0" {
			t.Errorf("ledger %s has slots of its own: got %s, want :0", ledger, got)
		}
	}
	if got := server.Do("EXISTS", "{n:conn_1}:tat"); got != ":1" {
		t.Errorf("the cursor of the number: got %s, want :1", got)
	}
}
