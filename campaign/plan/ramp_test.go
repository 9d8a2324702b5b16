package plan_test

import (
	"fmt"
	"math"
	"testing"
	"time"

	"campaignd/campaign/plan"
)

func TestARampGrowsAndObeysTheQuality(t *testing.T) {
	r := plan.Ramp{Start: 100, Step: 50, Ceiling: 220}
	s := plan.RampState{}
	var got []string
	for _, day := range []struct {
		day     int64
		quality string
		sent    bool
	}{
		{7, "GREEN", false},   // the first day
		{7, "GREEN", true},    // again
		{8, "UNKNOWN", true},  // a step
		{9, "GREEN", false},   // nothing was sent the day before
		{10, "GREEN", true},   // a step
		{10, "YELLOW", true},  // holds
		{11, "YELLOW", true},  // holds
		{12, "GREEN", true},   // the ceiling
		{13, "GREEN", true},   // stays there
		{13, "RED", true},     // one back
		{13, "RED", true},     // and no other one on this day
		{13, "GREEN", true},   // not given back on the same day
		{14, "RED", true},     // one back
		{16, "RED", true},     // one back
		{17, "RED", true},     // at the start
		{18, "GREEN", true},   // a step
		{118, "YELLOW", true}, // holds
	} {
		s = r.Next(s, day.day, day.quality, day.sent)
		got = append(got, fmt.Sprint(s.Day, ":", r.Daily(s.Steps)))
	}
	want := "[7:100 7:100 8:150 9:150 10:200 10:200 11:200 12:220 13:220 13:200 13:200 13:200 14:150 16:100 17:100 18:150 118:150]"
	if fmt.Sprint(got) != want {
		t.Errorf("places by day:\n got %v\nwant %v", got, want)
	}
	for quality, want := range map[string]int64{"GREEN": 220, "YELLOW": 150, "RED": 100} {
		if got := r.On(s, 2, quality); got != want {
			t.Errorf("two days on with quality %s: %d places, want %d", quality, got, want)
		}
	}
	if got := (plan.Ramp{Start: 1, Step: math.MaxInt64, Ceiling: 10}).Daily(math.MaxInt64); got != 10 {
		t.Errorf("places far above the ceiling: %d, want 10", got)
	}
}

func TestTheDaysOfARampAreThoseOfUTC(t *testing.T) {
	at := time.Date(2026, 3, 2, 23, 59, 59, 0, time.FixedZone("", 3600))
	from, to := plan.RampPeriod(at)
	if want := time.Date(2026, 3, 2, 0, 0, 0, 0, time.UTC); !from.Equal(want) || to.Sub(from) != 24*time.Hour {
		t.Errorf("the day of %v is %v to %v, want 24h from %v", at, from, to, want)
	}
	if a, b := plan.RampDay(from), plan.RampDay(to); b != a+1 || plan.RampDay(to.Add(-1)) != a {
		t.Errorf("days %d and %d, want the second to follow the first", a, b)
	}
}
