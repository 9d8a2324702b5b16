package plan

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"campaignd/campaign/file"
	"campaignd/internal/sentence"
)

// week is a week in seconds, the unit in which Window computes.
const week = 7 * 24 * 3600

// Window is when sending is allowed. It is a rule about the local clock of the recipient or of the
// campaign: a moment is inside when that clock shows a time inside. So the rule needs no exception
// for a change of offset. A nil *Window is always open.
type Window struct {
	spans     []span           // of the local week; sorted, with gaps between them
	edges     []int64          // seconds of the week at which the window may change
	carried   int64            // seconds of the hours after midnight: they belong to the day before
	holidays  map[int]bool     // local dates on which no hours begin and nothing is sent; by dateOf
	zone      []*time.Location // one; nil for a window of the recipient
	recipient bool
	text      string
}

// span is [from, to) in seconds since local Monday 00:00.
type span struct{ from, to int64 }

// ParseWindow reads the window of a campaign file. Hours are "HH:MM-HH:MM"; they may cross midnight
// or end at 24:00, and belong to the day on which they begin: fri 22:00-02:00 ends on Saturday. No
// hours means the whole day, no days means every day. On a holiday nothing is sent, nor after its
// midnight in hours that began on it. The zone is an IANA name, "" for UTC, or "recipient" for each
// recipient's own zone. An error names the field and the remedy.
func ParseWindow(w file.Window) (*Window, error) {
	from, to, err := parseHours(w.Hours)
	if err != nil {
		return nil, err
	}
	days, err := parseDays(w.Days)
	if err != nil {
		return nil, err
	}
	out := &Window{text: describe(w), carried: max(0, to-24*3600), holidays: map[int]bool{}}
	if strings.EqualFold(w.Timezone, "recipient") {
		out.recipient = true
	} else if zone, err := Zone(w.Timezone); err != nil {
		return nil, fmt.Errorf("window.timezone: %w, or recipient for each recipient's own", err)
	} else {
		out.zone = []*time.Location{zone}
	}
	for _, day := range w.Holidays {
		date, err := time.Parse(time.DateOnly, day)
		if err != nil {
			return nil, fmt.Errorf("window.holidays: %q is not a date; want for example 2026-12-25", day)
		}
		out.holidays[dateOf(date)] = true
	}
	for day, on := range days {
		if on {
			start := int64(day) * 24 * 3600
			out.add(start+from, start+to)
		}
	}
	out.join()
	out.edge()
	return out, nil
}

// Zone loads an IANA time zone; "" is UTC. "Local" is refused, since it differs between machines.
func Zone(name string) (*time.Location, error) {
	if name == "Local" {
		return nil, errors.New(`time zone "Local" depends on the machine; give an IANA name like Africa/Lagos`)
	}
	loc, err := time.LoadLocation(name)
	if err != nil {
		return nil, fmt.Errorf("time zone %q is not known; give an IANA name like Africa/Lagos", name)
	}
	return loc, nil
}

// Zones loads the zones of a window group: the names of one or more, separated by commas. Its
// recipients may be sent to while the window is open in all of them.
func Zones(group string) (zones []*time.Location, err error) {
	for name := range strings.SplitSeq(group, ",") {
		zone, err := Zone(name)
		if err != nil {
			return nil, err
		}
		zones = append(zones, zone)
	}
	return zones, nil
}

// PerRecipient reports whether the window is in each recipient's zone. Open then needs that zone.
func (w *Window) PerRecipient() bool { return w != nil && w.recipient }

// widen is the same window, opened earlier and closed later by d.
func (w *Window) widen(d time.Duration) *Window {
	if w.Always() {
		return w
	}
	by := int64(d / time.Second)
	out := &Window{zone: w.zone, recipient: w.recipient, text: w.text, carried: w.carried, holidays: w.holidays}
	for _, s := range w.spans {
		from, to := s.from-by, min(s.to+by, s.from-by+week)
		if from < 0 {
			from, to = from+week, to+week
		}
		if from >= week {
			from, to = from-week, to-week
		}
		out.add(from, to)
	}
	out.join()
	out.edge()
	return out
}

// Always reports whether the window never closes.
func (w *Window) Always() bool {
	return w == nil || len(w.holidays) == 0 && len(w.spans) == 1 && w.spans[0] == span{0, week}
}

// String is the window as a person writes it: "09:00-18:00 mon tue, recipient".
func (w *Window) String() string {
	if w == nil {
		return "always"
	}
	return w.text
}

// add puts [from, to) into the week. The part after Sunday midnight goes to Monday.
func (w *Window) add(from, to int64) {
	if to > week {
		w.spans = append(w.spans, span{0, to - week})
		to = week
	}
	w.spans = append(w.spans, span{from, to})
}

// join sorts the spans and merges those that touch.
func (w *Window) join() {
	slices.SortFunc(w.spans, func(a, b span) int { return int(a.from - b.from) })
	joined := w.spans[:0]
	for _, s := range w.spans {
		if n := len(joined); n > 0 && s.from <= joined[n-1].to {
			joined[n-1].to = max(joined[n-1].to, s.to)
			continue
		}
		joined = append(joined, s)
	}
	w.spans = joined
}

// parseHours returns seconds of the day; to is more than 24 h when the hours cross midnight.
func parseHours(s string) (from, to int64, err error) {
	if s == "" {
		return 0, 24 * 3600, nil
	}
	a, b, ok := strings.Cut(s, "-")
	if ok {
		from, ok = parseClock(a)
	}
	if ok {
		to, ok = parseClock(b)
	}
	switch {
	case !ok || from == 24*3600:
		return 0, 0, fmt.Errorf(`window.hours %q: want "HH:MM-HH:MM" from 00:00 to 24:00, for example "09:00-18:00"`, s)
	case from == to:
		return 0, 0, fmt.Errorf("window.hours %q begins and ends at the same time; leave hours out for the whole day", s)
	case to < from:
		to += 24 * 3600
	}
	return from, to, nil
}

func parseClock(s string) (int64, bool) {
	s = strings.TrimSpace(s)
	if len(s) != len("00:00") || s[2] != ':' {
		return 0, false
	}
	for _, i := range []int{0, 1, 3, 4} {
		if s[i] < '0' || s[i] > '9' {
			return 0, false
		}
	}
	h, m := int64(s[0]-'0')*10+int64(s[1]-'0'), int64(s[3]-'0')*10+int64(s[4]-'0')
	if h > 24 || m > 59 || h == 24 && m > 0 {
		return 0, false
	}
	return h*3600 + m*60, true
}

// weekdays are in the order of the spans: Monday first, as in ISO 8601.
const weekdays = "mon tue wed thu fri sat sun"

func parseDays(names []string) (days [7]bool, err error) {
	if len(names) == 0 {
		return [7]bool{true, true, true, true, true, true, true}, nil
	}
	for _, name := range names {
		i := slices.Index(strings.Fields(weekdays), strings.ToLower(strings.TrimSpace(name)))
		if i < 0 {
			return days, fmt.Errorf("window.days: %q is not a day; want some of %s", name, weekdays)
		}
		days[i] = true
	}
	return days, nil
}

func describe(w file.Window) string {
	hours, zone := cmp.Or(w.Hours, "all day"), cmp.Or(w.Timezone, "UTC")
	if len(w.Days) > 0 {
		hours += " " + strings.ToLower(strings.Join(w.Days, " "))
	}
	if n := len(w.Holidays); n > 0 {
		hours += " except " + sentence.Count(int64(n), "holiday", "holidays")
	}
	return hours + ", " + zone
}
