package webhooks

import (
	"testing"
	"testing/synctest"
	"time"
)

// A sweep deletes by the time that it is given, and nothing while the clock may be wrong. Then the
// ledger is not told that webhooks are taken either: the window of no doubt runs.
func TestAWrongClockDeletesNoOrphans(t *testing.T) {
	for name, c := range map[string]struct {
		known bool
		apart time.Duration
	}{"right": {true, 0}, "wrong": {false, 25 * time.Hour}, "not known": {false, 0}} {
		synctest.Test(t, func(t *testing.T) {
			m, at := &memory{}, time.Now().Add(-30*time.Second)
			i := newIntake(t, m, Options{Expiry: func() (time.Time, bool) { return at, c.known }, Apart: func() time.Duration { return c.apart }})
			stop := start(t, i)
			time.Sleep(time.Minute)
			if err := stop(); err != nil {
				t.Errorf("%s: got %v, want no error", name, err)
			}
			if len(m.by) == 0 || m.by[0].IsZero() == c.known || c.known && !m.by[0].Equal(at) || (len(m.listened) > 0) == (c.apart != 0) {
				t.Errorf("%s: swept by %v, and %d records that webhooks are taken; want by %s: %v, and records: %v", name, m.by, len(m.listened), at,
					c.known, c.apart == 0)
			}
		})
	}
}
