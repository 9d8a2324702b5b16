package reception

import (
	"testing"
	"time"
)

func TestALiftCountsFromItsFirstReceipt(t *testing.T) {
	t.Parallel()
	first := time.Date(2026, 3, 2, 12, 0, 0, 700e6, time.UTC)
	for _, c := range []struct {
		own, want time.Time
		ok        bool
	}{
		{time.Time{}, time.Time{}, false},
		{first.Add(-time.Hour), first.Add(-time.Hour), true},
		{first, first, true},
		{first.Add(time.Millisecond), first.Truncate(time.Second), true},
		{first.Add(5 * time.Minute), first.Truncate(time.Second), true},
		{first.Add(5*time.Minute + 1), time.Time{}, false},
	} {
		if at, ok := LiftTime(c.own, first); !at.Equal(c.want) || ok != c.ok {
			t.Errorf("an event of %v that came first at %v: %v, %v; want %v, %v", c.own, first, at, ok, c.want, c.ok)
		}
	}
}
