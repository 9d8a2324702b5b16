package plan

import (
	"testing"
	"time"

	"campaignd/campaign/file"
)

func TestAnOpeningCountsWhoMayBeSentToNow(t *testing.T) {
	zone := func(name string) *time.Location {
		loc, err := Zone(name)
		if err != nil {
			t.Fatal(err)
		}
		return loc
	}
	lagos, berlin, tokyo := zone("Africa/Lagos"), zone("Europe/Berlin"), zone("Asia/Tokyo")
	now := time.Date(2026, 7, 1, 7, 30, 0, 0, time.UTC) // Wednesday: Lagos 08:30, Berlin 09:30, Tokyo 16:30
	at := func(h, m int) time.Time { return time.Date(2026, 7, 1, h, m, 0, 0, time.UTC) }
	in := func(zones ...*time.Location) []*time.Location { return zones }
	groups := []Group{{Remaining: 3, Zones: in(lagos)}, {Remaining: 5, Zones: in(berlin)}, {Remaining: 7, Zones: in(tokyo)}}
	for _, c := range []struct {
		window *file.Window
		want   Opening
	}{
		{nil, Opening{Open: 15}},
		{&file.Window{Timezone: "Africa/Lagos"}, Opening{Open: 15}},
		{&file.Window{Hours: "09:00-18:00", Timezone: "Africa/Lagos"}, Opening{Closed: 15, Opens: at(8, 0), Zone: lagos}},
		{&file.Window{Hours: "08:00-18:00", Timezone: "Africa/Lagos"}, Opening{Open: 15, Closes: at(17, 0), Zone: lagos}},
		{&file.Window{Hours: "09:00-18:00", Timezone: "recipient"},
			Opening{Open: 12, Closed: 3, Closes: at(9, 0), Opens: at(8, 0), Zone: lagos}},
	} {
		var window *Window
		if c.window != nil {
			var err error
			if window, err = ParseWindow(*c.window); err != nil {
				t.Fatal(err)
			}
		}
		got := OpeningAt(now, window, groups...)
		if got.Open != c.want.Open || got.Closed != c.want.Closed || !got.Opens.Equal(c.want.Opens) || !got.Closes.Equal(c.want.Closes) ||
			(got.Zone == nil) != (c.want.Zone == nil) || got.Zone != nil && got.Zone.String() != c.want.Zone.String() {
			t.Errorf("window %s: got %+v, want %+v", window, got, c.want)
		}
	}
}
