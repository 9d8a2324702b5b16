package plan_test

import (
	"testing"
	"time"

	"campaignd/campaign/file"
)

// A year of openings, one after the other: each local date has exactly one, from 09:00 to 18:00 by
// the clock on the wall, also on the days on which that clock is changed.
func TestNoDayIsSkippedOrDoubledByAClockChange(t *testing.T) {
	for _, c := range []struct {
		zone    string
		year    int
		missing string // a date that the zone never had
	}{
		{"America/New_York", 2026, ""}, {"Africa/Lagos", 2026, ""}, {"Asia/Kolkata", 2026, ""}, {"Australia/Lord_Howe", 2026, ""},
		{"Pacific/Apia", 2026, ""}, {"Pacific/Apia", 2019, ""}, {"Pacific/Apia", 2011, "2011-12-30"},
	} {
		loc := zone(t, c.zone)
		w := window(t, file.Window{Hours: "09:00-18:00", Timezone: "recipient"})
		now, end := time.Date(c.year, 1, 1, 0, 0, 0, 0, loc), time.Date(c.year+1, 1, 1, 0, 0, 0, 0, loc)
		days, open := map[string]int{}, false
		for now.Before(end) {
			is, changes := w.Open(now, loc)
			if is != open {
				t.Fatalf("%s: at %s got open %v, want %v", c.zone, now.In(loc), is, open)
			}
			local := changes.In(loc).Format(time.DateOnly + " 15:04:05")
			want := map[bool]string{false: "09:00:00", true: "18:00:00"}[open]
			if got := local[len(local)-len(want):]; got != want {
				t.Errorf("%s: open %v changes at %s, want at %s", c.zone, open, local, want)
			}
			if !open && changes.Before(end) {
				days[local[:len(time.DateOnly)]]++
			}
			now, open = changes, !open
		}
		for day := time.Date(c.year, 1, 1, 12, 0, 0, 0, time.UTC); day.Year() == c.year; day = day.AddDate(0, 0, 1) {
			date, want := day.Format(time.DateOnly), 1
			if date == c.missing {
				want = 0
			}
			if got := days[date]; got != want {
				t.Errorf("%s opens %d times on %s, want %d", c.zone, got, date, want)
			}
		}
	}
}

// The clock on the wall is looked at every five minutes of a year: the window is open exactly while
// it shows a time inside, on a day that is no holiday, for hours that are in the changed hour, that
// cross midnight, and in several zones at once.
func TestNobodyIsSentToOutsideTheWindowInAYear(t *testing.T) {
	holidays := []string{"2026-03-08", "2026-04-05", "2026-10-04", "2026-11-01", "2026-12-25"}
	for _, c := range []struct {
		hours string
		zones []string
	}{
		{"09:00-18:00", []string{"America/New_York"}}, {"01:15-02:45", []string{"America/New_York"}}, {"22:00-02:00", []string{"Asia/Kolkata"}},
		{"01:30-02:10", []string{"Australia/Lord_Howe"}}, {"23:00-01:45", []string{"Australia/Lord_Howe"}},
		{"00:00-24:00", []string{"Africa/Lagos"}},
		{"09:00-18:00", []string{"Pacific/Apia"}},
		{"09:00-18:00", []string{"America/New_York", "America/Phoenix", "Pacific/Honolulu"}},
		{"22:00-04:00", []string{"Australia/Lord_Howe", "Asia/Kolkata"}},
	} {
		w := window(t, file.Window{Hours: c.hours, Timezone: "recipient", Holidays: holidays})
		off := map[string]bool{}
		for _, h := range holidays {
			off[h] = true
		}
		var zones []*time.Location
		for _, name := range c.zones {
			zones = append(zones, zone(t, name))
		}
		inside := func(at time.Time) bool {
			for _, loc := range zones {
				local := at.In(loc)
				clock, date, from, to := local.Format("15:04"), local, c.hours[:5], c.hours[6:]
				switch {
				case off[local.Format(time.DateOnly)]:
					return false
				case from < to && (clock < from || clock >= to), from > to && clock >= to && clock < from:
					return false
				case from > to && clock < to:
					date = local.AddDate(0, 0, -1) // the hours began the day before
				}
				if off[date.Format(time.DateOnly)] {
					return false
				}
			}
			return true
		}
		begin := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
		var until time.Time
		var open bool
		for at := begin; at.Before(begin.AddDate(1, 0, 0)); at = at.Add(5 * time.Minute) {
			if !at.Before(until) {
				open, until = w.Open(at, zones...)
			}
			if want := inside(at); open != want {
				t.Fatalf("%s in %s: at %s open is %v, want %v", c.hours, c.zones, at, open, want)
			}
		}
	}
}
