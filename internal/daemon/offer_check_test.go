package daemon

import (
	"strings"
	"testing"
	"time"

	"campaignd/campaign/file"
	"campaignd/campaign/launch"
)

// A discount that ends and orders that expire too early are told with the instant.
func TestWhatEndsTooEarlyIsWarnedOf(t *testing.T) {
	now := time.Date(2026, 11, 20, 20, 0, 0, 0, time.UTC) // Friday evening
	hours := &file.Window{Hours: "09:00-18:00", Timezone: "Europe/Paris"}
	for _, c := range []struct {
		name     string
		window   *file.Window
		discount time.Time
		expires  time.Time
		want     []string
	}{
		{"nothing ends", hours, time.Time{}, time.Time{}, nil},
		{"before the window opens", hours, now.Add(time.Hour), time.Time{},
			[]string{`audience.discount: "TEN" ends at 2026-11-20 22:00 CET, before sending begins at 2026-11-21 09:00 CET; prolong it`}},
		{"while it is sent", hours, now.Add(13 * time.Hour), time.Time{},
			[]string{`"TEN" ends at 2026-11-21 10:00 CET, and sending lasts until about 2026-11-21 11:00 CET`}},
		{"after it was sent", hours, now.Add(14*time.Hour + time.Minute), now.Add(21*time.Hour + time.Minute), nil},
		{"before the window closes", hours, time.Time{}, now.Add(20 * time.Hour),
			[]string{"audience.from: 1 order expires before the window closes at 2026-11-21 18:00 CET, and the message may be too late"}},
		{"without a window", nil, now.Add(time.Hour), now.Add(time.Hour),
			[]string{`"TEN" ends at 2026-11-20 21:00 UTC`, "1 order expires before sending ends at 2026-11-20 22:00 UTC"}},
	} {
		offer := &launch.Offer{Discount: "TEN", DiscountEnds: c.discount}
		if !c.expires.IsZero() {
			offer.Expires(c.expires)
		}
		found := &launch.Preflight{Sendable: 5, Zones: map[string]int64{"": 5}, Duration: 2 * time.Hour, Offer: offer}
		if err := checkOffer(&file.Definition{Window: c.window}, found, now); err != nil {
			t.Fatalf("%s: %v; want no error", c.name, err)
		}
		var got []string
		for _, f := range found.Warnings() {
			got = append(got, f.String())
		}
		if len(got) != len(c.want) {
			t.Errorf("%s: got %q; want %q", c.name, got, c.want)
			continue
		}
		for i := range got {
			if !strings.Contains(got[i], c.want[i]) {
				t.Errorf("%s: got %q; want %q", c.name, got[i], c.want[i])
			}
		}
	}
}
