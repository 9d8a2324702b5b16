package main

import (
	"encoding/json"
	"os"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func TestScheduleListsTheNextFirings(t *testing.T) {
	d := &fixture{t: t, dir: t.TempDir(), env: map[string]string{}}
	d.env["CAMPAIGND_CAMPAIGNS"] = d.dir
	d.write("c.yaml", campaignFile+"schedule: {cron: \"0 9 * * MON\", timezone: Africa/Lagos}\n")
	var firings []struct{ Campaign, Local string }
	if err := json.Unmarshal([]byte(d.want(0, "schedule", "--next", "2", "-o", "json").stdout), &firings); err != nil {
		t.Fatal(err)
	}
	monday := regexp.MustCompile(`^Mon .* 09:00 WAT$`)
	if len(firings) != 2 || firings[0].Campaign != "orders" || !monday.MatchString(firings[0].Local) {
		t.Errorf("got firings %+v, want two of orders, on Mondays at 09:00 in Lagos", firings)
	}
	d.write("bad.yaml", "name: [\n")
	r := d.want(2, "schedule")
	wantIn(t, "schedule with a faulty file", r.stdout, "orders")
	wantIn(t, "schedule with a faulty file", r.stderr, "bad.yaml")
}

func TestScheduleSaysThatItsFolderIsMissing(t *testing.T) {
	d := &fixture{t: t, dir: t.TempDir(), env: map[string]string{}}
	d.env["CAMPAIGND_CAMPAIGNS"] = d.path("absent")
	r := d.want(0, "schedule", "-o", "json")
	want := "campaignd: there is no campaigns folder " + d.path("absent") +
		": no schedule fires; make it, or name another in the configuration (campaigns)\n"
	if r.stderr != want || r.stdout != "[]\n" {
		t.Errorf("got %q and %q, want %q and an empty list", r.stderr, r.stdout, want)
	}
	d.env["CAMPAIGND_CAMPAIGNS"] = d.write("c.yaml", campaignFile)
	wantIn(t, "a file for a folder", d.want(0, "schedule").stderr, "is a file: no schedule fires; name a folder")
}

// Each command that reads a faulty schedule prints the same line, with the position of the fault.
func TestAScheduleThatCannotFireIsNamedWithItsLine(t *testing.T) {
	t.Parallel()
	d := newFixture(t, nil)
	if err := os.Mkdir(d.path("campaigns"), 0o700); err != nil {
		t.Fatal(err)
	}
	bad := d.write("campaigns/bad.yaml", campaignFile+"schedule:\n  timezone: Africa/Lagos\n  cron: \"0 9 * * 7\"\n")
	worse := d.write("campaigns/worse.yaml", campaignFile+"window: {hours: \"9-18\"}\n")
	d.write("campaigns/list.csv", listOf(1))
	faults := []string{
		bad + `:7:3: schedule.cron: "0 9 * * 7": day of week "7": Sunday is 0 or SUN`,
		worse + `:5:10: window.hours: "9-18" are no hours: want 09:00-18:00, each with two digits; the end may be 24:00`,
	}
	if got, want := d.want(2, "schedule").stderr, "campaignd: "+faults[0]+"\ncampaignd: "+faults[1]+
		"\ncampaignd: a `serve` that read an earlier version of such a file uses that one until it starts again\n"; got != want {
		t.Errorf("schedule: got\n%swant\n%s", got, want)
	}
	for _, command := range []string{"check", "run"} {
		if got, want := d.want(2, command, bad).stderr, "campaignd: "+faults[0]+"\n"; got != want {
			t.Errorf("%s: got\n%swant\n%s", command, got, want)
		}
	}
}

// The clock of a synctest bubble starts on 1 January 2000, a Saturday.
func TestScheduleIsATableOfTheNextFirings(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &fixture{t: t, dir: t.TempDir(), env: map[string]string{}}
		d.env["CAMPAIGND_CAMPAIGNS"] = d.dir
		file := d.write("c.yaml", campaignFile+"schedule: {cron: \"0 9 * * MON\", timezone: Africa/Lagos}\n")
		table := func(days ...string) string {
			file, heads := file+"\n", "CAMPAIGN  NEXT                      SCHEDULE     ZONE          FILE\n"
			for _, day := range days {
				heads += "orders    Mon 2000-" + day + " 09:00 WAT  0 9 * * MON  Africa/Lagos  " + file
			}
			return heads
		}
		d.says(0, table("01-03", "01-10", "01-17"), "", "schedule")
		d.says(0, table("01-03"), "", "schedule", "--next", "1")
		d.says(0, "CAMPAIGN  NEXT  SCHEDULE  ZONE  FILE\n", "", "schedule", "--next", "0")
		for _, tt := range []struct {
			next  string
			lines int
		}{{"999", 1000}, {"1000", 1001}} {
			if got := strings.Count(d.want(0, "schedule", "--next", tt.next).stdout, "\n"); got != tt.lines {
				t.Errorf("--next %s: %d lines, want %d", tt.next, got, tt.lines)
			}
		}
		d.says(0, `[
  {
    "campaign": "orders",
    "file": "`+file+`",
    "schedule": "0 9 * * MON",
    "timezone": "Africa/Lagos",
    "at": "2000-01-03T08:00:00Z",
    "local": "Mon 2000-01-03 09:00 WAT",
    "outcome": "next"
  }
]
`, "", "schedule", "--next", "1", "-o", "json")
		d.write("c.yaml", campaignFile+"schedule: {at: \"2000-01-03T09:00:05\", timezone: Africa/Lagos}\n")
		d.says(0, "CAMPAIGN  NEXT                         SCHEDULE             ZONE          FILE\n"+
			"orders    Mon 2000-01-03 09:00:05 WAT  2000-01-03T09:00:05  Africa/Lagos  "+file+"\n", "", "schedule")
		if err := os.Remove(file); err != nil {
			t.Fatal(err)
		}
		d.says(0, "[]\n", "", "schedule", "-o", "json")
	})
}

// The outcomes of the last firings are listed below the next ones.
func TestScheduleSaysWhatBecameOfTheLastFirings(t *testing.T) {
	t.Parallel()
	d := newFixture(t, nil)
	if err := os.Mkdir(d.path("campaigns"), 0o700); err != nil {
		t.Fatal(err)
	}
	file := d.write("campaigns/c.yaml", campaignFile+"schedule: {cron: \"0 9 * * *\", timezone: Africa/Lagos}\n")
	d.write("campaigns/list.csv", listOf(1))
	written := time.Now().AddDate(0, 0, -3)
	if err := os.Chtimes(file, written, written); err != nil {
		t.Fatal(err)
	}
	d.serveUntil(func() bool { return strings.Contains(d.run("schedule").stdout, "OUTCOME") })
	wantIn(t, "schedule", d.want(0, "schedule").stdout, "  missed  ", "no process fired it in time; first seen ",
		"; 2 before it missed since ")
	wantIn(t, "schedule", d.want(0, "schedule", "--next", "0", "-o", "json").stdout, `"outcome": "missed"`, `"missed": 2`, `"missed_since": "`)
	if got := d.want(0, "schedule", "--last", "0").stdout; strings.Contains(got, "OUTCOME") {
		t.Errorf("--last 0: got %s, want no past firings", got)
	}
}

// The last good version of a broken file still fires, so its last firings are listed beside the
// fault.
func TestScheduleShowsTheFiringsOfABrokenFile(t *testing.T) {
	t.Parallel()
	d := newFixture(t, nil)
	if err := os.Mkdir(d.path("campaigns"), 0o700); err != nil {
		t.Fatal(err)
	}
	file := d.write("campaigns/c.yaml", campaignFile+"schedule: {cron: \"* * * * *\", timezone: UTC, misfire: run}\n")
	d.write("campaigns/list.csv", listOf(1))
	written := time.Now().Add(-2 * time.Minute)
	if err := os.Chtimes(file, written, written); err != nil {
		t.Fatal(err)
	}
	d.serveUntil(func() bool { return strings.Contains(d.run("schedule").stdout, "  launched  ") })
	d.write("campaigns/c.yaml", campaignFile+"schedule: {cron: \"* * * * *\n")
	r := d.want(2, "schedule")
	wantIn(t, "schedule with a broken file", r.stdout, "orders ", "  launched  ", "orders-1")
	wantIn(t, "the fault", r.stderr, "c.yaml:", "uses that one until it starts again\n")
}
