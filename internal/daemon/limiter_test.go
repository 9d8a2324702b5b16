package daemon

import (
	"path/filepath"
	"testing"
	"time"

	"campaignd/throttle"
	"campaignd/throttle/redistest"
)

// The counts of quotas on Redis are those of the ledger that rebuilds them.
func TestTheLimiterKnowsItsLedger(t *testing.T) {
	c := newCluster(t, "STANDARD", 15*time.Second)
	redis := redistest.Start(t)
	cfg := *c.config
	cfg.Redis, cfg.Ledger = redis.URL(0), "sqlite:"+filepath.Join(c.dir, "limiter.db")
	d, err := New(t.Context(), &cfg, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = d.Close() }()
	q := throttle.Quota{Key: "plan:co", From: time.Now().Add(-time.Hour), To: time.Now().Add(time.Hour), Limit: 1}
	if _, err := d.limiter.Take(t.Context(), q, throttle.Ask{N: 1}); err != nil {
		t.Fatal(err)
	}
	if key := "{c:" + d.ledger.LedgerID() + ":plan:co}:units"; redis.Do("EXISTS", key) != ":1" {
		t.Errorf("the count is not in %s, want it there", key)
	}
}
