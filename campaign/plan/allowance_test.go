package plan_test

import (
	"testing"
	"time"

	"campaignd/campaign/plan"
)

// Over twelve years, an hour at a time, in zones that put the clock forward at midnight, skip a day
// or lie far from UTC: the months follow each other without a gap, and each begins with the first
// instant of its day.
func TestMonthsOfAPlanMeetWithoutAGap(t *testing.T) {
	for _, name := range []string{"UTC", "Pacific/Auckland", "America/New_York", "Australia/Lord_Howe",
		"Pacific/Apia", "America/Havana", "Asia/Beirut"} {
		zone, err := plan.Zone(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, day := range []int{1, 28} {
			a := plan.Allowance{Day: day, Zone: zone}
			at := time.Date(2011, 11, 3, 0, 30, 0, 0, time.UTC)
			from, to := a.Period(at)
			for ; at.Year() < 2023; at = at.Add(7 * time.Hour) {
				f, u := a.Period(at)
				if f.After(at) || !u.After(at) {
					t.Fatalf("%s, day %d: the month of %v is %v to %v, want one around it", name, day, at, f, u)
				}
				if !f.Equal(from) && !f.Equal(to) {
					t.Fatalf("%s, day %d: after the month %v to %v comes that from %v, want no gap", name, day, from, to, f)
				}
				if f.In(zone).Day() != day || f.Add(-time.Second).In(zone).Day() == day {
					t.Fatalf("%s: a month begins at %v, want the first instant of day %d", name, f.In(zone), day)
				}
				from, to = f, u
			}
		}
	}
}

func TestTheMonthTurnsAtMidnightInAuckland(t *testing.T) {
	zone, err := plan.Zone("Pacific/Auckland")
	if err != nil {
		t.Fatal(err)
	}
	a := plan.Allowance{Messages: 1000, Reserve: 0.05, Day: 1, Zone: zone}
	// April begins in summer time (UTC+13), May and October in winter time (UTC+12).
	for _, turn := range []string{"2026-03-31T11:00:00Z", "2026-04-30T12:00:00Z", "2026-09-30T11:00:00Z", "2026-10-31T11:00:00Z"} {
		at, err := time.Parse(time.RFC3339, turn)
		if err != nil {
			t.Fatal(err)
		}
		_, to := a.Period(at.Add(-time.Millisecond))
		from, _ := a.Period(at)
		if want := time.Date(at.In(zone).Year(), at.In(zone).Month(), 1, 0, 0, 0, 0, zone); !to.Equal(want) || !from.Equal(want) {
			t.Errorf("around %s: a month ends at %v, the next begins at %v; want both at %v", turn, to, from, want)
		}
	}
	now := time.Date(2026, 4, 10, 0, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		t         time.Time
		marketing bool
		want      int64
	}{{now, true, 50}, {now, false, 100}, {now.AddDate(0, 1, 0), true, 950}, {now.AddDate(0, 1, 0), false, 1000}} {
		if got := a.Left(c.t, now, 900, c.marketing); got != c.want {
			t.Errorf("left at %v, marketing %v: %d, want %d", c.t, c.marketing, got, c.want)
		}
	}
}
