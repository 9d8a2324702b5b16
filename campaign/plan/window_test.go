package plan_test

import (
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"campaignd/campaign/file"
	"campaignd/campaign/plan"
)

func zone(t testing.TB, name string) *time.Location {
	t.Helper()
	loc, err := plan.Zone(name)
	if err != nil {
		t.Fatal(err)
	}
	return loc
}

func window(t testing.TB, w file.Window) *plan.Window {
	t.Helper()
	got, err := plan.ParseWindow(w)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

func instant(t testing.TB, s string) time.Time {
	t.Helper()
	at, err := time.Parse(time.RFC3339, s)
	if err != nil {
		t.Fatal(err)
	}
	return at
}

func TestWindowOpensAndClosesOnTheLocalClock(t *testing.T) {
	office := file.Window{Hours: "09:00-18:00", Days: []string{"mon", "tue", "wed", "thu", "fri"}}
	in := func(w file.Window, zone string) file.Window { w.Timezone = zone; return w }
	for _, c := range []struct {
		name    string
		window  file.Window
		now     string
		open    bool
		changes string // "": never
	}{
		{"during the day", in(office, "Africa/Lagos"), "2026-03-02T08:00:00Z", true, "2026-03-02T17:00:00Z"},
		{"the second of opening", in(office, "Africa/Lagos"), "2026-03-02T09:00:00+01:00", true, "2026-03-02T18:00:00+01:00"},
		{"the second of closing", in(office, "Africa/Lagos"), "2026-03-02T18:00:00+01:00", false, "2026-03-03T09:00:00+01:00"},
		{"over the weekend", in(office, "Africa/Lagos"), "2026-03-06T18:00:00+01:00", false, "2026-03-09T09:00:00+01:00"},
		{"utc by default", office, "2026-03-02T08:59:59Z", false, "2026-03-02T09:00:00Z"},
		{"always", file.Window{}, "2026-03-02T08:00:00Z", true, ""},
		{"all day, some days", file.Window{Days: []string{"Sat", "sun"}}, "2026-03-02T08:00:00Z", false, "2026-03-07T00:00:00Z"},
		{"to the end of the week", file.Window{Days: []string{"sat", "sun"}}, "2026-03-07T10:00:00Z", true, "2026-03-09T00:00:00Z"},
		{"round the end of the week", file.Window{Days: []string{"sun", "mon"}}, "2026-03-08T10:00:00Z", true, "2026-03-10T00:00:00Z"},
		{"to midnight", file.Window{Hours: "20:00-24:00"}, "2026-03-02T23:00:00Z", true, "2026-03-03T00:00:00Z"},
		{"across midnight, before", file.Window{Hours: "22:00-02:00", Days: []string{"fri"}}, "2026-03-06T23:00:00Z",
			true, "2026-03-07T02:00:00Z"},
		{"across midnight, after", file.Window{Hours: "22:00-02:00", Days: []string{"fri"}}, "2026-03-07T01:00:00Z",
			true, "2026-03-07T02:00:00Z"},
		{"the night before is another day's", file.Window{Hours: "22:00-02:00", Days: []string{"fri"}}, "2026-03-06T01:00:00Z",
			false, "2026-03-06T22:00:00Z"},
		{"across midnight and the week", file.Window{Hours: "22:00-02:00", Days: []string{"sun"}}, "2026-03-09T01:59:59Z",
			true, "2026-03-09T02:00:00Z"},

		{"midnight of Monday in the hours of Sunday", file.Window{Hours: "22:00-02:00", Days: []string{"sun"}}, "2026-03-09T00:00:00Z",
			true, "2026-03-09T02:00:00Z"},
		{"Sunday evening to Monday", file.Window{Hours: "22:00-02:00", Days: []string{"sun"}}, "2026-03-08T23:00:00Z",
			true, "2026-03-09T02:00:00Z"},
		{"blanks round the clock", file.Window{Hours: " 09:00 - 18:00 "}, "2026-03-02T08:59:59Z", false, "2026-03-02T09:00:00Z"},
		{"the last minute", file.Window{Hours: "22:59-23:59"}, "2026-03-02T22:58:59Z", false, "2026-03-02T22:59:00Z"},
		{"to the last minute", file.Window{Hours: "22:59-23:59"}, "2026-03-02T23:58:59Z", true, "2026-03-02T23:59:00Z"},
		{"each digit of the clock", file.Window{Hours: "09:19-18:28"}, "2026-03-02T09:18:59Z", false, "2026-03-02T09:19:00Z"},
		{"each digit of its end", file.Window{Hours: "09:19-18:28"}, "2026-03-02T18:27:59Z", true, "2026-03-02T18:28:00Z"},

		// 2026-03-08 02:00 -> 03:00 and 2026-11-01 02:00 -> 01:00 in New York.
		{"a short day keeps its hours", in(file.Window{Hours: "09:00-18:00"}, "America/New_York"), "2026-03-08T01:00:00-05:00", false,
			"2026-03-08T09:00:00-04:00"},
		{"a long day keeps its hours", in(file.Window{Hours: "09:00-18:00"}, "America/New_York"), "2026-11-01T00:30:00-04:00", false,
			"2026-11-01T09:00:00-05:00"},
		{"opening in the missing hour", in(file.Window{Hours: "02:30-06:00"}, "America/New_York"), "2026-03-08T01:59:00-05:00", false,
			"2026-03-08T03:00:00-04:00"},
		{"closing in the missing hour", in(file.Window{Hours: "00:00-02:30"}, "America/New_York"), "2026-03-08T01:59:00-05:00", true,
			"2026-03-08T03:00:00-04:00"},
		{"all of it in the missing hour", in(file.Window{Hours: "02:10-02:50"}, "America/New_York"), "2026-03-08T01:59:00-05:00", false,
			"2026-03-09T02:10:00-04:00"},
		{"the doubled hour, first", in(file.Window{Hours: "01:30-05:00"}, "America/New_York"), "2026-11-01T01:45:00-04:00", true,
			"2026-11-01T01:00:00-05:00"},
		{"the doubled hour, closed again", in(file.Window{Hours: "01:30-05:00"}, "America/New_York"), "2026-11-01T01:10:00-05:00", false,
			"2026-11-01T01:30:00-05:00"},
		{"the doubled hour, second", in(file.Window{Hours: "01:30-05:00"}, "America/New_York"), "2026-11-01T01:45:00-05:00", true,
			"2026-11-01T05:00:00-05:00"},
		// 2026-03-29 02:00 -> 03:00, 2026-10-25 03:00 -> 02:00 in Berlin.
		{"Berlin in spring", in(file.Window{Hours: "02:30-04:00"}, "Europe/Berlin"), "2026-03-29T00:59:59Z", false, "2026-03-29T01:00:00Z"},
		{"Berlin in autumn", in(file.Window{Hours: "22:00-02:30"}, "Europe/Berlin"), "2026-10-25T00:45:00Z", false, "2026-10-25T01:00:00Z"},
		// Half an hour: 2026-04-05 02:00 -> 01:30, 2026-10-04 02:00 -> 02:30 on Lord Howe Island.
		{"Lord Howe in spring", in(file.Window{Hours: "02:10-03:00"}, "Australia/Lord_Howe"), "2026-10-04T01:59:00+10:30", false,
			"2026-10-04T02:30:00+11:00"},
		{"Lord Howe in autumn", in(file.Window{Hours: "01:00-01:45"}, "Australia/Lord_Howe"), "2026-04-05T01:50:00+11:00", false,
			"2026-04-05T01:30:00+10:30"},
		// Samoa has no 2011-12-30.
		{"a day that was skipped", in(file.Window{Days: []string{"fri"}}, "Pacific/Apia"), "2011-12-29T12:00:00-10:00", false,
			"2012-01-06T00:00:00+14:00"},
		{"a holiday", in(file.Window{Hours: "09:00-18:00", Holidays: []string{"2026-03-03", "2026-03-04"}}, "Africa/Lagos"),
			"2026-03-02T18:00:00+01:00", false, "2026-03-05T09:00:00+01:00"},
		{"all day until a holiday", file.Window{Holidays: []string{"2026-12-25"}}, "2026-12-24T10:00:00Z", true, "2026-12-25T00:00:00Z"},
		{"all day after a holiday", file.Window{Holidays: []string{"2026-12-25"}}, "2026-12-25T10:00:00Z", false, "2026-12-26T00:00:00Z"},
		{"a night that begins on a holiday", file.Window{Hours: "22:00-02:00", Holidays: []string{"2026-12-25"}}, "2026-12-26T01:00:00Z",
			false, "2026-12-26T22:00:00Z"},
		{"a night that ends on a holiday", file.Window{Hours: "22:00-02:00", Holidays: []string{"2026-12-25"}}, "2026-12-24T23:00:00Z",
			true, "2026-12-25T00:00:00Z"},
		{"a holiday that is past", file.Window{Holidays: []string{"2020-12-25"}}, "2026-12-25T10:00:00Z", true, ""},
		{"the last day of a leap year far off", in(office, "America/New_York"), "2040-12-31T06:00:00Z", false, "2040-12-31T14:00:00Z"},
		{"a part of a second", file.Window{Hours: "09:00-18:00"}, "2026-03-02T17:59:59.25Z", true, "2026-03-02T18:00:00Z"},
	} {
		t.Run(c.name, func(t *testing.T) {
			open, changes := window(t, c.window).Open(instant(t, c.now), nil)
			if open != c.open {
				t.Errorf("at %s: got open %v, want %v", c.now, open, c.open)
			}
			switch {
			case c.changes == "" && !changes.IsZero():
				t.Errorf("changes at %s, want never", changes)
			case c.changes != "" && !changes.Equal(instant(t, c.changes)):
				t.Errorf("changes at %s, want %s", changes, c.changes)
			}
		})
	}
}

func TestWindowOfTheRecipientNeedsTheirZone(t *testing.T) {
	w := window(t, file.Window{Hours: "09:00-18:00", Timezone: "recipient"})
	now := instant(t, "2026-03-02T08:30:00Z")
	if !w.PerRecipient() {
		t.Error("PerRecipient() = false, want true")
	}
	if other := window(t, file.Window{Hours: "09:00-18:00"}); other.PerRecipient() {
		t.Error("PerRecipient() of a window in UTC = true, want false")
	}
	if open, changes := w.Open(now, zone(t, "Africa/Lagos")); !open || !changes.Equal(instant(t, "2026-03-02T17:00:00Z")) {
		t.Errorf("09:30 in Lagos: got %v until %s, want open until 17:00Z", open, changes)
	}
	if open, changes := w.Open(now, zone(t, "America/New_York")); open || !changes.Equal(instant(t, "2026-03-02T14:00:00Z")) {
		t.Errorf("03:30 in New York: got %v until %s, want closed until 14:00Z", open, changes)
	}
	if open, changes := w.Open(now, nil); open || !changes.IsZero() {
		t.Errorf("without a zone: %v until %s, want always closed", open, changes)
	}
	var none *plan.Window
	if open, changes := none.Open(now, nil); !open || !changes.IsZero() || !none.Always() {
		t.Errorf("no window: %v until %s, want always open", open, changes)
	}
	if none.PerRecipient() || none.String() != "always" {
		t.Errorf("no window: PerRecipient() = %v, String() = %q, want false and always", none.PerRecipient(), none)
	}
}

func TestWindowRefusalsNameTheFieldAndTheRemedy(t *testing.T) {
	for _, c := range []struct {
		window file.Window
		want   string
	}{
		{file.Window{Hours: "9-18"}, "HH:MM"},
		{file.Window{Hours: "09:00"}, "HH:MM"},
		{file.Window{Hours: "09:00-25:00"}, "24:00"},
		{file.Window{Hours: "24:00-06:00"}, "HH:MM"},
		{file.Window{Hours: "09:60-18:00"}, "HH:MM"},
		{file.Window{Hours: "+9:00-18:00"}, "HH:MM"},
		{file.Window{Hours: "09:00-09:00"}, "leave hours out"},
		{file.Window{Days: []string{"montag"}}, "mon tue wed"},
		{file.Window{Holidays: []string{"25.12.2026"}}, "2026-12-25"},
		{file.Window{Timezone: "Lagos"}, "Africa/Lagos"},
		{file.Window{Timezone: "Local"}, "machine"},
		{file.Window{Timezone: "../../etc/passwd"}, "not known"},
	} {
		_, err := plan.ParseWindow(c.window)
		if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "window.") {
			t.Errorf("%+v: %v; want the field and %q", c.window, err, c.want)
		}
	}
}

func TestClocksHaveTwoDigitsAndAColon(t *testing.T) {
	for _, bad := range []string{
		"/9:00", ":9:00", "0/:00", "0::00", "00:/0", "00::0", "00:0/", "00:0:", "09.00", "9:00", "009:00", "24:01", "24:30", "25:00", "09:60", "",
	} {
		for _, hours := range []string{bad + "-08:00", "08:00-" + bad} {
			_, err := plan.ParseWindow(file.Window{Hours: hours})
			want := `window.hours "` + hours + `": want "HH:MM-HH:MM" from 00:00 to 24:00, for example "09:00-18:00"`
			if err == nil || err.Error() != want {
				t.Errorf("got  %v\nwant %s", err, want)
			}
		}
	}
	_, err := plan.ParseWindow(file.Window{Days: []string{"mon", "day"}})
	if want := `window.days: "day" is not a day; want some of mon tue wed thu fri sat sun`; err == nil || err.Error() != want {
		t.Errorf("got  %v\nwant %s", err, want)
	}
}

func TestWindowIsShownAsAPersonWritesIt(t *testing.T) {
	for want, w := range map[string]file.Window{
		"all day, UTC":                  {},
		"09:00-18:00, UTC":              {Hours: "09:00-18:00"},
		"all day mon sun, Africa/Lagos": {Days: []string{"Mon", "SUN"}, Timezone: "Africa/Lagos"},
		"all day except 1 holiday, UTC": {Holidays: []string{"2026-12-25"}},
		"09:00-18:00 tue, recipient":    {Hours: "09:00-18:00", Days: []string{"tue"}, Timezone: "recipient"},
	} {
		if got := window(t, w).String(); got != want {
			t.Errorf("%+v is shown as %q, want %q", w, got, want)
		}
	}
}

var zones = []string{"UTC", "America/New_York", "Europe/Berlin", "Africa/Lagos", "Australia/Lord_Howe",
	"Africa/Casablanca", "America/St_Johns", "Asia/Kathmandu", "Pacific/Apia", "America/Sao_Paulo"}

func drawInstant(t *rapid.T) time.Time {
	from := time.Date(2010, 1, 1, 0, 0, 0, 0, time.UTC)
	return from.Add(time.Duration(rapid.Int64Range(0, 25*365*24*3600).Draw(t, "second")) * time.Second)
}

// The window changes at the moment that Open named, and at no minute before it.
func TestWindowChangesExactlyWhenItSays(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		clock := rapid.Custom(func(t *rapid.T) string {
			m := rapid.IntRange(0, 24*60-1).Draw(t, "minute")
			return time.Unix(int64(m)*60, 0).UTC().Format("15:04")
		})
		hours := clock.Draw(t, "from") + "-" + clock.Draw(t, "to")
		days := rapid.SliceOfDistinct(rapid.SampledFrom([]string{"mon", "tue", "wed", "thu", "fri", "sat", "sun"}),
			rapid.ID[string]).Draw(t, "days")
		w, err := plan.ParseWindow(file.Window{Hours: hours, Days: days, Timezone: rapid.SampledFrom(zones).Draw(t, "zone")})
		if err != nil {
			t.Skip(err)
		}
		now := drawInstant(t)
		open, changes := w.Open(now, nil)
		if changes.IsZero() {
			return
		}
		if !changes.After(now) {
			t.Fatalf("at %s it changes at %s, want a later time", now, changes)
		}
		if then, _ := w.Open(changes, nil); then == open {
			t.Fatalf("%s: open is %v at %s and also at its change %s, want it changed", w, open, now, changes)
		}
		for at := now; at.Before(changes); at = at.Add(max(time.Minute, changes.Sub(now)/500)) {
			if then, again := w.Open(at, nil); then != open || !again.Equal(changes) {
				t.Fatalf("%s: at %s open %v until %s, want it also at %s; got %v until %s", w, now, open, changes, at, then, again)
			}
		}
		if then, _ := w.Open(changes.Add(-time.Nanosecond), nil); then != open {
			t.Fatalf("%s: a nanosecond before %s open is %v, want %v", w, changes, then, open)
		}
	})
}
