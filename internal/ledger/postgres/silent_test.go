//go:build long && unix

package postgres

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"campaignd/campaign"
	"campaignd/internal/ledger/ledgertest"
	"campaignd/internal/ledger/postgres/connect"
	"campaignd/throttle/throttletest"
)

// Queries to a host that died silently give their connections back, and results go over new ones.
func TestASilentServerHoldsNoConnectionForLong(t *testing.T) {
	t.Parallel()
	wire := newBadWire(t)
	l := wire.open(t)
	r := ledgertest.Load(t, l, 100)
	lease := ledgertest.ClaimAll(t, l, r.No)[0]
	if _, err := l.Intend(t.Context(), []campaign.Intent{{Lease: lease, Connection: "conn_1", To: 100}}); err != nil {
		t.Fatal(err)
	}
	l.sender.Within, l.reports.Within = 3*time.Second, 3*time.Second // all queries begin within this time
	fill := func() {                                                 // fills the pool with idle connections and makes them silent
		t.Helper()
		var taken []*connect.Conn
		for range connect.PoolSize {
			c, err := l.sender.Acquire(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			taken = append(taken, c)
		}
		for _, c := range taken {
			l.sender.Release(c)
		}
		wire.silent.Store(wire.opened.Load())
	}
	ask := func() {
		began, watched := time.Now(), throttletest.Watch()
		_, err := l.Deliveries(context.Background(), r.No, 0, 100)
		if !errors.Is(err, errSilent) || errors.Is(err, context.DeadlineExceeded) || strings.Contains(fmt.Sprint(err), "\n") {
			t.Errorf("a query to a silent server: %v; want errSilent in a line", err)
		}
		throttletest.Soon(t, "the query", time.Since(began), callTime/2, watched())
	}
	record := func(from, to int64) {
		t.Helper()
		began, watched := time.Now(), throttletest.Watch()
		if err := l.Record(context.Background(), ledgertest.Acceptances(lease, from, to)); err != nil {
			t.Errorf("recorded: %v; want no error", err)
		}
		throttletest.Soon(t, "recording", time.Since(began), callTime/2, watched())
	}

	fill()
	var asking sync.WaitGroup
	for range connect.PoolSize {
		asking.Go(ask)
	}
	for end := time.Now().Add(callTime); wire.unheard.Load() < connect.PoolSize && time.Now().Before(end); {
		time.Sleep(time.Millisecond) // until no connection is free
	}
	record(0, 50)
	asking.Wait()

	fill()
	ask() // one failure makes the pool forget the other connections
	record(50, 100)

	// The connections for reports were opened before and are silent too.
	one := func(t *tx) error { return t.do(stmt(nil, `SELECT 1`)) }
	if err := l.snapshot(context.Background(), l.reports, one); !errors.Is(err, errSilent) {
		t.Errorf("a snapshot of a silent server: %v; want errSilent", err)
	}
	wire.silent.Store(0)
	l.sender.Within, l.reports.Within = callTime, slowTime
	if got := ledgertest.Totals(t, l, r.No); got[campaign.Accepted] != 100 {
		t.Errorf("got %v; want Accepted: 100", got)
	}
}
