package launch_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"campaignd/campaign/launch"
)

const zonedFile = "name: a\nconnections: [conn_1]\ntemplate: {name: hello_world, language: en_US, category: UTILITY}\n" +
	"recipients: {validate: possible, columns: {timezone: tz}}\n" +
	"schedule: {cron: '@daily', timezone: Africa/Accra}\n"

// The zone of a row is that of its column, else the one that its number's country has or that the
// campaign chooses for it. Rows of a country with several zones, and rows of no country, are
// counted and sent.
func TestRowsWithoutATimeZoneTakeTheirCountrys(t *testing.T) {
	const (
		lagos, london, newYork, ship = "+2348031234501", "+447911123456", "+12125550143", "+881612345678"
		column                       = "add a column timezone, or map it with recipients.columns: {timezone: COLUMN}"
		bad                          = `"Mars/Olympus" is not a time zone: such rows count as rows without one`
	)
	us := "America/Adak,America/Anchorage,America/Boise,America/Chicago,America/Los_Angeles,America/New_York,America/Phoenix,Pacific/Honolulu"
	for name, c := range map[string]struct {
		window string
		rows   string
		zones  map[string]int64
		want   []string
	}{
		"the column":               {"", lagos + ",Africa/Accra\n", map[string]int64{"Africa/Accra": 1}, nil},
		"one zone":                 {"", lagos + ",\n", map[string]int64{"Africa/Lagos": 1}, nil},
		"several zones, one clock": {"", london + ",\n", map[string]int64{"Europe/Guernsey": 1}, nil},
		"several zones": {"", newYork + ",\n+13105550143,\n+12125550144,America/New_York\n", map[string]int64{us: 2, "America/New_York": 1},
			[]string{"window.timezone: 2 rows of US name no time zone: sent only while the window is open in all 8 zones of the country; " + column +
				"; or choose one clock: window.countries: {US: America/New_York}"}},
		"several zones, chosen": {", countries: {US: America/Chicago}", newYork + ",\n", map[string]int64{"America/Chicago": 1}, nil},
		"the column of a chosen country": {", countries: {US: America/Chicago}", newYork + ",America/New_York\n",
			map[string]int64{"America/New_York": 1}, nil},
		"Canada is not the US": {", countries: {US: America/Chicago, CA: America/Toronto}", "+14165550143,\n",
			map[string]int64{"America/Toronto": 1}, nil},
		"Kazakhstan is not Russia": {", hours: '09:00-18:00'", "+77011234567,\n", map[string]int64{"Asia/Almaty": 1}, nil},
		"no country": {"", ship + ",\n", map[string]int64{"Africa/Accra": 1},
			[]string{"window.timezone: 1 row has no time zone, and its number no country: sent by the clock of Africa/Accra; " + column}},
		"a bad one": {"", lagos + ",Mars/Olympus\n", map[string]int64{"Africa/Lagos": 1},
			[]string{bad + "; write IANA names such as Africa/Lagos"}},
		"two bad ones": {"", lagos + ",Mars/Olympus\n+2348031234502,Local\n", map[string]int64{"Africa/Lagos": 2},
			[]string{bad + "; write IANA names such as Africa/Lagos", "window.timezone: 2 rows name a time zone that does not exist"}},
		"a skipped row": {"", lagos + ",\n" + lagos + ",Mars/Olympus\n", map[string]int64{"Africa/Lagos": 1}, nil},
		"never open in all": {", hours: '09:00-18:00'", "+79161234567,\n", nil,
			[]string{"window.timezone: 1 row of RU names no time zone, and the country's zones lie 10h apart: " +
				"09:00-18:00 is never in all of them; " + column + "; or choose one clock: window.countries: {RU: Europe/Moscow}"}},
	} {
		in := springInput(t, zonedFile+"window: {timezone: recipient"+c.window+"}\n", "to,tz\n"+c.rows)
		in.Service = nil
		p := preflight(t, in)
		var got []string
		for _, f := range p.Findings {
			f.Where = ""
			got = append(got, f.String())
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s: findings -want +got:\n%s", name, diff)
		}
		if never := strings.HasPrefix(name, "never"); never != (len(p.Errors()) > 0) {
			t.Errorf("%s: got %d errors, want one: %v", name, len(p.Errors()), never)
		}
		if diff := cmp.Diff(c.zones, p.Zones); c.zones != nil && diff != "" {
			t.Errorf("%s: zones -want +got:\n%s", name, diff)
		}
	}
}

// The segments of an import are of one window group each, by the same rule.
func TestAnImportGroupsRowsByTheirCountrysZone(t *testing.T) {
	l := openLedger(t)
	file := zonedFile + "window: {timezone: recipient, countries: {US: America/Chicago}}\n"
	path := writeFile(t, "zones.csv",
		"to,tz\n+2348031234501,\n+12125550143,\n+12125550144,America/New_York\n+881612345678,\n+2348031234502,\n")
	d := parse(t, file)
	run := newRun(t, l, d, path)
	if _, err := launch.Import(t.Context(), launch.ImportInput{Ledger: l, Run: run, Definition: d, List: path}); err != nil {
		t.Fatal(err)
	}
	segments, err := l.SegmentStates(t.Context(), run.No)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]int64{}
	for _, s := range segments {
		got[s.Group] += s.Hi - s.Lo
	}
	want := map[string]int64{"Africa/Lagos": 2, "America/Chicago": 1, "America/New_York": 1, "Africa/Accra": 1}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("rows by window group -want +got:\n%s", diff)
	}
}
