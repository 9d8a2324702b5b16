package plan

import (
	"slices"
	"time"
)

// Open reports whether sending is allowed at now, and when that changes next: the closing while
// open, the opening while closed. changes is zero when it does not change within a year. zones are
// the recipient's, and the window is open while it is open in all of them; they are used only when
// the window is PerRecipient, and such a window is always closed without one.
func (w *Window) Open(now time.Time, zones ...*time.Location) (open bool, changes time.Time) {
	if w == nil {
		return true, time.Time{}
	}
	if !w.recipient {
		zones = w.zone
	}
	if len(zones) == 0 || slices.Contains(zones, nil) {
		return false, time.Time{}
	}
	open = w.openIn(now, zones)
	if len(w.spans) == 0 || w.Always() {
		return open, time.Time{}
	}
	limit := now.AddDate(1, 0, 1)
	for at := now; at.Before(limit); {
		next := w.next(at, zones[0])
		for _, zone := range zones[1:] {
			if n := w.next(at, zone); n.Before(next) {
				next = n
			}
		}
		if w.openIn(next, zones) != open {
			return open, next.UTC()
		}
		at = next
	}
	return open, time.Time{} // no local clock shows these hours within a year
}

// openIn reports whether the window is open in all of the zones.
func (w *Window) openIn(at time.Time, zones []*time.Location) bool {
	for _, zone := range zones {
		if !w.covers(at.In(zone)) {
			return false
		}
	}
	return true
}

// covers reports whether a local clock shows a time inside the window.
func (w *Window) covers(local time.Time) bool {
	second := weekSecond(local)
	if !slices.ContainsFunc(w.spans, func(s span) bool { return second >= s.from && second < s.to }) {
		return false
	}
	if len(w.holidays) == 0 {
		return true
	}
	if second%(24*3600) < w.carried && w.holidays[dateOf(local.AddDate(0, 0, -1))] {
		return false
	}
	return !w.holidays[dateOf(local)]
}

// next is the first moment after at at which the window may change in the zone. Between two changes
// of offset the local clock runs evenly, so the next edge can be computed. At a change of offset
// the clock jumps, so the caller looks there too.
func (w *Window) next(at time.Time, zone *time.Location) time.Time {
	local := at.In(zone)
	second, least := weekSecond(local), int64(week)
	for _, edge := range w.edges {
		d := edge - second
		if d <= 0 {
			d += week
		}
		least = min(least, d)
	}
	edge := local.Truncate(time.Second).Add(time.Duration(least) * time.Second)
	if end := offsetUntil(at, zone); !end.IsZero() && !edge.Before(end) {
		return end
	}
	return edge
}

// offsetUntil is a moment after at until which loc keeps its offset; zero when it keeps it for
// ever. The offset does not always change at that moment.
func offsetUntil(at time.Time, loc *time.Location) time.Time {
	_, end := at.In(loc).ZoneBounds()
	if !end.IsZero() && !end.After(at) {
		// For years beyond those in a zone file, ZoneBounds ends each year after 365 days, so the last
		// day of a leap year lies after its own end (Go 1.26, time.tzset).
		return at.Add(time.Hour)
	}
	return end
}

// edge collects the seconds of the week at which the window may change: the ends of its spans and,
// with holidays, each midnight.
func (w *Window) edge() {
	for _, s := range w.spans {
		w.edges = append(w.edges, s.from, s.to%week)
	}
	if len(w.holidays) > 0 {
		for day := range int64(7) {
			w.edges = append(w.edges, day*24*3600)
		}
	}
	slices.Sort(w.edges)
	w.edges = slices.Compact(w.edges)
}

// dateOf is the date that a local clock shows, as a number.
func dateOf(local time.Time) int {
	y, m, d := local.Date()
	return (y*100+int(m))*100 + d
}

// weekSecond is the reading of the local clock, in seconds since Monday 00:00.
func weekSecond(local time.Time) int64 {
	day := (int64(local.Weekday()) + 6) % 7
	h, m, s := local.Clock()
	return day*24*3600 + int64(h)*3600 + int64(m)*60 + int64(s)
}
