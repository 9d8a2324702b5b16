package campaign

import (
	"testing"
	"time"
)

// A limit of one message in eleven days and a long list: more than a time.Duration holds.
func TestTheTimeThatSendingTakesDoesNotOverflow(t *testing.T) {
	for _, c := range []struct {
		rows int64
		rate float64
		want time.Duration
	}{{11_001, 0.000001, 100 * 365 * 24 * time.Hour}, {1000, 0.01, 100_000 * time.Second}, {1000, 40, 25 * time.Second}} {
		k := &check{p: &Preflight{Rows: c.rows, Sendable: c.rows}, d: &Definition{Limits: Limits{Rate: c.rate}}}
		k.totals()
		if k.p.Duration != c.want || k.p.Seconds != c.want.Seconds() {
			t.Errorf("%d rows at %g/s take %v (%g s), want %v", c.rows, c.rate, k.p.Duration, k.p.Seconds, c.want)
		}
	}
}
