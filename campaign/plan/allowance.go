package plan

import (
	"sort"
	"time"
)

// Allowance is the messages that a plan allows in a month (docs/limits.md#allowance).
type Allowance struct {
	Messages int64 // 0: not known
	// Reserve is the share of Messages that only templates that are not marketing use.
	Reserve float64
	// Day of the month on which a new month begins, 1 to 28, at midnight in Zone.
	Day  int
	Zone *time.Location
}

// Period returns the month of the plan in which t lies; to is exclusive.
func (a Allowance) Period(t time.Time) (from, to time.Time) {
	year, month, _ := t.In(a.Zone).Date()
	from = dayBegins(year, month, a.Day, a.Zone)
	if from.After(t) {
		return dayBegins(year, month-1, a.Day, a.Zone), from
	}
	return from, dayBegins(year, month+1, a.Day, a.Zone)
}

// Kept is how many of the month's messages are kept for templates that are not marketing.
func (a Allowance) Kept() int64 { return int64(float64(a.Messages) * a.Reserve) }

// Left returns how many messages the allowance has left at t. used were sent in the month of now;
// nothing of a later month is used. Marketing templates may not use what is kept for others.
func (a Allowance) Left(t, now time.Time, used int64, marketing bool) int64 {
	left := a.Messages
	if marketing {
		left -= a.Kept()
	}
	if _, to := a.Period(now); t.Before(to) {
		left -= used
	}
	return max(left, 0)
}

// dayBegins is the first instant of a day, or of the next one in a zone that skipped it. Midnight
// itself may not exist: in some zones the clock is put forward then.
func dayBegins(year int, month time.Month, day int, zone *time.Location) time.Time {
	want := time.Date(year, month, day, 0, 0, 0, 0, time.UTC) // normalises the month
	// Zones are at most 14 hours ahead of UTC and 12 behind.
	first := want.Add(-15 * time.Hour)
	seconds := sort.Search(int(30*time.Hour/time.Second), func(s int) bool {
		y, m, d := first.Add(time.Duration(s) * time.Second).In(zone).Date()
		return !time.Date(y, m, d, 0, 0, 0, 0, time.UTC).Before(want)
	})
	return first.Add(time.Duration(seconds) * time.Second)
}
