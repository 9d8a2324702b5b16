package plan

import (
	"testing"
	"time"
)

// Berlin skips 2026-03-29 02:30, and has 2026-10-25 02:30 twice.
func TestOnceIsOneInstant(t *testing.T) {
	for _, tt := range []struct{ at, zone, want string }{
		{"2026-12-24T09:00", "Africa/Lagos", "2026-12-24T08:00:00Z"},
		{"2026-12-24 09:00", "", "2026-12-24T09:00:00Z"},
		{"2026-12-24T09:00:30", "UTC", "2026-12-24T09:00:30Z"},
		{"2026-12-24T09:00:00+05:30", "Africa/Lagos", "2026-12-24T03:30:00Z"},
		{"2026-03-29T02:30", "Europe/Berlin", "2026-03-29T01:00:00Z"},
		{"2026-10-25T02:30", "Europe/Berlin", "2026-10-25T00:30:00Z"},
	} {
		c, err := parseOnce(tt.at, tt.zone)
		if err != nil {
			t.Errorf("%s in %s: got %v, want no error", tt.at, tt.zone, err)
			continue
		}
		f, ok := c.Once()
		if got := f.At.Format(time.RFC3339); !ok || got != tt.want {
			t.Errorf("%s in %s: got %s, want %s", tt.at, tt.zone, got, tt.want)
		}
		if got := c.Next(f.At.Add(-time.Second)); got != f {
			t.Errorf("%s: the next firing before it is %+v, want %+v", tt.at, got, f)
		}
		if got := c.Next(f.At); !got.At.IsZero() {
			t.Errorf("%s: after it got %+v, want no firing", tt.at, got)
		}
	}
	for _, bad := range []string{"", "soon", "2026-12-24", "2026-13-01T09:00", "09:00", "0001-01-01T00:00"} {
		if _, err := parseOnce(bad, "UTC"); err == nil {
			t.Errorf("%q: got no error, want one", bad)
		}
	}
}
