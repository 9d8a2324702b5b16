package plan_test

import (
	"fmt"
	"math"
	"testing"
	"time"

	"campaignd/campaign"
	"campaignd/campaign/file"
	"campaignd/campaign/plan"
)

func TestAForecastCountsOnlyOpenHours(t *testing.T) {
	office := window(t, file.Window{Hours: "09:00-18:00", Days: []string{"mon", "tue", "wed", "thu", "fri"}, Timezone: "Africa/Lagos"})
	never := window(t, file.Window{Hours: "09:00-18:00", Timezone: "recipient"})
	local := window(t, file.Window{Hours: "09:00-12:00", Timezone: "recipient"})
	lagos, newYork := zone(t, "Africa/Lagos"), zone(t, "America/New_York")
	for _, c := range []struct {
		name    string
		now     string
		rate    float64
		window  *plan.Window
		groups  []plan.Group
		finish  string // "": never
		waiting time.Duration
	}{
		{"no window", "2026-03-02T08:00:00Z", 10, nil, []plan.Group{{Remaining: 36000}}, "2026-03-02T09:00:00Z", 0},
		{"nothing left", "2026-03-02T08:00:00Z", 0, nil, []plan.Group{{}}, "2026-03-02T08:00:00Z", 0},
		{"inside one day", "2026-03-02T08:00:00Z", 1, office, []plan.Group{{Remaining: 9 * 3600}}, "2026-03-02T17:00:00Z", 0},
		{"one more than a day holds", "2026-03-02T08:00:00Z", 1, office, []plan.Group{{Remaining: 9*3600 + 1}},
			"2026-03-03T08:00:01Z", 15 * time.Hour},
		{"from Friday evening", "2026-03-06T18:00:00Z", 1, office, []plan.Group{{Remaining: 3600}}, "2026-03-09T09:00:00Z", 62 * time.Hour},
		{"no rate", "2026-03-02T08:00:00Z", 0, nil, []plan.Group{{Remaining: 1}}, "", 0},
		{"a window that never opens", "2026-03-02T08:00:00Z", 10, never, []plan.Group{{Remaining: 1}}, "", 0},
		{"a window that never opens, and nothing left", "2026-03-02T08:00:00Z", 10, never, []plan.Group{{}}, "2026-03-02T08:00:00Z", 0},
		{"less than nothing left", "2026-03-02T08:00:00Z", 1, nil, []plan.Group{{Remaining: -60}, {Remaining: 60}}, "2026-03-02T08:01:00Z", 0},
		{"no group", "2026-03-02T08:00:00Z", 0, nil, nil, "2026-03-02T08:00:00Z", 0},
		{"no number of messages per second", "2026-03-02T08:00:00Z", math.NaN(), nil, []plan.Group{{Remaining: 1}}, "", 0},
		{"below nothing per second", "2026-03-02T08:00:00Z", -1, nil, []plan.Group{{Remaining: 1}}, "", 0},
		{"as fast as can be", "2026-03-02T08:00:00Z", math.Inf(1), nil, []plan.Group{{Remaining: 1000}}, "2026-03-02T08:00:00Z", 0},
		{"a year to the second", "2026-03-02T00:00:00Z", 1, nil, []plan.Group{{Remaining: 366 * 24 * 3600}}, "2027-03-03T00:00:00Z", 0},
		{"a second more than a year", "2026-03-02T00:00:00Z", 1, nil, []plan.Group{{Remaining: 366*24*3600 + 1}}, "", 0},
		// Both are open from 08:00Z to 11:00Z and share the rate in proportion, so both finish last.
		{"two groups at once", "2026-03-02T08:00:00Z", 1, local,
			[]plan.Group{{Remaining: 3600, Zones: []*time.Location{lagos}},
				{Remaining: 1800, Zones: []*time.Location{lagos}}}, "2026-03-02T09:30:00Z", 0},
		{"more than a year", "2026-03-02T08:00:00Z", 0.001, nil, []plan.Group{{Remaining: 1 << 40}}, "", 0},
		// Lagos is open 08:00Z to 11:00Z, New York 14:00Z to 17:00Z: each has an hour of work of its own.
		{"two zones, one after the other", "2026-03-02T08:00:00Z", 1, local,
			[]plan.Group{{Remaining: 3600, Zones: []*time.Location{lagos}},
				{Remaining: 3600, Zones: []*time.Location{newYork}}}, "2026-03-02T15:00:00Z", 5 * time.Hour},
	} {
		t.Run(c.name, func(t *testing.T) {
			now := instant(t, c.now)
			s := plan.Situation{Now: now, Numbers: []plan.Number{{ID: "a", Pace: c.rate}},
				Runs: []plan.Run{{ID: "run", Numbers: []string{"a"}, Groups: c.groups, Window: c.window, Budget: -1}}}
			got := s.Forecast(0)
			if c.finish == "" {
				if !got.Never {
					t.Fatalf("finishes at %s, want never", got.Finish)
				}
				return
			}
			if off := got.Finish.Sub(instant(t, c.finish)); got.Never || off < -time.Millisecond || off > time.Millisecond {
				t.Errorf("finishes at %s (never: %v), want %s", got.Finish, got.Never, c.finish)
			}
			var waiting time.Duration
			for _, h := range got.Hours {
				if h.LimitedBy == campaign.ByWindow {
					waiting += time.Hour
				}
			}
			if waiting != c.waiting {
				t.Errorf("waits %v, want %v", waiting, c.waiting)
			}
		})
	}
}

func ExampleSituation_Forecast() {
	w, err := plan.ParseWindow(file.Window{Hours: "09:00-18:00", Timezone: "Africa/Lagos"})
	if err != nil {
		fmt.Println(err)
		return
	}
	s := plan.Situation{
		Now:     time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC),
		Numbers: []plan.Number{{ID: "conn_1", Pace: 4}},
		Runs:    []plan.Run{{ID: "spring-1", Numbers: []string{"conn_1"}, Groups: []plan.Group{{Remaining: 100_000}}, Window: w, Budget: -1}},
	}
	f := s.Forecast(0)
	fmt.Println("done at", f.Finish.Format(time.RFC3339))
	fmt.Println("the first hour:", f.Hours[0].Messages, "limited by", f.Hours[0].LimitedBy)
	for _, h := range f.Helps {
		fmt.Printf("%s: %.1f hours less\n", h.Sentence, h.Hours)
	}
	// Output:
	// done at 2026-03-03T09:56:40Z
	// the first hour: 14400 limited by throughput
	// one more number like its fastest: 18.5 hours less
	// a window that opens an hour earlier and closes an hour later: 2.0 hours less
}
