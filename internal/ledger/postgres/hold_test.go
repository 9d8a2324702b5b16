//go:build unix

package postgres

import (
	"sync"
	"testing"
	"time"

	"campaignd/campaign"
	"campaignd/internal/ledger"
	"campaignd/internal/ledger/ledgertest"
)

func TestAHoldIsObeyedByEveryReplica(t *testing.T) {
	t.Parallel()
	dsn := migrated(t)
	a, b := openAt(t, dsn, ledger.Options{Sender: true}), openAt(t, dsn, ledger.Options{Sender: true})
	if granted := ledgertest.GrantedDespiteAHold(t, a, b); granted {
		t.Errorf("an intent of another replica is granted: %v; want it held", granted)
	}
}

// Replicas meet a fault at the same time. Each of them reports it, and one of them begins the hold.
func TestReplicasBeginAHoldOnce(t *testing.T) {
	t.Parallel()
	dsn := migrated(t)
	const replicas, rounds = 3, 20
	var all [replicas]*Ledger
	for i := range all {
		all[i] = openAt(t, dsn, ledger.Options{Sender: true})
	}
	trip := campaign.Hold{Scope: campaign.HoldConnection, Reason: "breaker", Source: campaign.HoldByBreaker, Since: time.Now()}
	for round := range rounds {
		trip.ID = "conn_" + string(rune('a'+round))
		var began [replicas][]campaign.Hold
		var reports sync.WaitGroup
		for i, l := range all {
			reports.Go(func() {
				var err error
				if began[i], err = l.AddHolds(t.Context(), []campaign.Hold{trip}); err != nil {
					t.Errorf("replica %d: %v; want no error", i, err)
				}
			})
		}
		reports.Wait()
		n := 0
		for _, hs := range began {
			n += len(hs)
		}
		if n != 1 {
			t.Fatalf("%s: it began %d times: %+v; want once", trip.ID, n, began)
		}
	}
	held, err := all[0].Holds(t.Context(), false)
	if err != nil || len(held) != rounds {
		t.Fatalf("%d holds, %v; want %d", len(held), err, rounds)
	}
	for _, h := range held {
		if h.Count != 1 {
			t.Errorf("%+v; want Count 1", h)
		}
	}
}
