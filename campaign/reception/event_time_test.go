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

func TestAnEventHasItsOwnTimeUnlessItsClockIsWrong(t *testing.T) {
	t.Parallel()
	received := time.Date(2026, 3, 2, 13, 0, 0, 700e6, time.FixedZone("", 3600))
	for _, c := range []struct {
		own, want time.Time
		clamped   bool
	}{
		{time.Time{}, received, false},
		{received.Add(-240 * time.Hour), received.Add(-240 * time.Hour), false},
		{received.Add(time.Second), received.Add(time.Second), false},
		{received.Add(5 * time.Minute), received.Add(5 * time.Minute), false},
		{received.Add(5*time.Minute + 1), received, true},
	} {
		at, clamped := EventTime(c.own, received)
		if !at.Equal(c.want) || clamped != c.clamped || at.Location() != time.UTC {
			t.Errorf("an event of %v, received %v: got %v, %v; want %v in UTC, %v", c.own, received, at, clamped, c.want, c.clamped)
		}
	}
}
