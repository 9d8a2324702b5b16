package plan_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"campaignd/campaign"
	"campaignd/campaign/plan"
)

func parseCron(t testing.TB, expr, zone string) *plan.Cron {
	t.Helper()
	c, err := plan.ParseCron(expr, zone)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestCronFiresOnTheLocalClock(t *testing.T) {
	for _, c := range []struct {
		name, expr, zone, after string
		want                    []string // "instant key"
	}{
		{"a weekday morning", "0 9 * * MON", "Africa/Lagos", "2026-03-01T00:00:00Z",
			[]string{"2026-03-02T08:00:00Z 2026-03-02T09:00", "2026-03-09T08:00:00Z 2026-03-09T09:00"}},
		{"strictly after", "0 9 * * MON", "Africa/Lagos", "2026-03-02T08:00:00Z",
			[]string{"2026-03-09T08:00:00Z 2026-03-09T09:00"}},
		{"just before", "0 9 * * MON", "Africa/Lagos", "2026-03-02T07:59:59.999999999Z",
			[]string{"2026-03-02T08:00:00Z 2026-03-02T09:00"}},
		{"utc by default", "@daily", "", "2026-03-02T07:00:00Z", []string{"2026-03-03T00:00:00Z 2026-03-03T00:00"}},
		{"a leap day", "0 12 29 FEB *", "", "2026-03-01T00:00:00Z", []string{"2028-02-29T12:00:00Z 2028-02-29T12:00", "2032-02-29T12:00:00Z 2032-02-29T12:00"}},
		{"the last day of a leap year far off", "30 9 31 12 *", "America/New_York", "2040-12-31T06:00:00Z", []string{"2040-12-31T14:30:00Z 2040-12-31T09:30"}},
		{"every hour of that day", "0 * * * *", "America/New_York", "2040-12-31T06:00:00Z", []string{"2040-12-31T07:00:00Z 2040-12-31T07:00:00Z"}},
		{"eight years without a leap day", "0 12 29 2 *", "", "2096-03-01T00:00:00Z", []string{"2104-02-29T12:00:00Z 2104-02-29T12:00"}},

		{"a leap day beyond a year that has none", "0 12 29 2 *", "", "2098-06-01T00:00:00Z", []string{"2104-02-29T12:00:00Z 2104-02-29T12:00"}},
		{"July", "0 9 1 JUL *", "", "2026-03-01T00:00:00Z", []string{"2026-07-01T09:00:00Z 2026-07-01T09:00"}},
		{"July in a list", "0 9 1 apr,jul *", "", "2026-05-01T00:00:00Z", []string{"2026-07-01T09:00:00Z 2026-07-01T09:00"}},
		{"the shortest interval", "@every 1s", "", "2026-03-02T08:12:34.5Z", []string{"2026-03-02T08:12:35Z 2026-03-02T08:12:35Z", "2026-03-02T08:12:36Z 2026-03-02T08:12:36Z"}},
		{"every hour of a day beyond a change of offset", "0 * 1 1 *", "America/New_York", "2026-10-01T00:00:00Z", []string{"2027-01-01T05:00:00Z 2027-01-01T05:00:00Z"}},
		{"every hour of a day beyond two changes of offset", "0 * 1 7 *", "America/New_York", "2026-10-01T00:00:00Z", []string{"2027-07-01T04:00:00Z 2027-07-01T04:00:00Z"}},

		// robfig/cron#541: skipped by the library. The day before and after keep their hour.
		{"New York, a time that does not exist", "30 2 * * *", "America/New_York", "2026-03-07T00:00:00-05:00",
			[]string{"2026-03-07T07:30:00Z 2026-03-07T02:30", "2026-03-08T07:00:00Z 2026-03-08T02:30", "2026-03-09T06:30:00Z 2026-03-09T02:30"}},
		{"New York, a time that exists twice", "30 1 * * *", "America/New_York", "2026-10-31T12:00:00-04:00",
			[]string{"2026-11-01T05:30:00Z 2026-11-01T01:30", "2026-11-02T06:30:00Z 2026-11-02T01:30"}},
		{"New York, between the two", "30 1 * * *", "America/New_York", "2026-11-01T01:15:00-05:00",
			[]string{"2026-11-02T06:30:00Z 2026-11-02T01:30"}},
		{"Berlin, a time that does not exist", "30 2 * * *", "Europe/Berlin", "2026-03-28T12:00:00+01:00",
			[]string{"2026-03-29T01:00:00Z 2026-03-29T02:30", "2026-03-30T00:30:00Z 2026-03-30T02:30"}},
		{"Berlin, two that do not exist and one that does, at one instant", "0,30 2,3 * * *", "Europe/Berlin", "2026-03-28T12:00:00+01:00",
			[]string{"2026-03-29T01:00:00Z 2026-03-29T02:00", "2026-03-29T01:30:00Z 2026-03-29T03:30", "2026-03-30T00:00:00Z 2026-03-30T02:00"}},
		{"Berlin, a time that exists twice", "30 2 * * *", "Europe/Berlin", "2026-10-24T12:00:00+02:00",
			[]string{"2026-10-25T00:30:00Z 2026-10-25T02:30", "2026-10-26T01:30:00Z 2026-10-26T02:30"}},
		{"Lord Howe, half an hour that does not exist", "15 2 * * *", "Australia/Lord_Howe", "2026-10-03T12:00:00+10:30",
			[]string{"2026-10-03T15:30:00Z 2026-10-04T02:15", "2026-10-04T15:15:00Z 2026-10-05T02:15"}},
		{"Lord Howe, half an hour that exists twice", "45 1 * * *", "Australia/Lord_Howe", "2026-04-04T12:00:00+11:00",
			[]string{"2026-04-04T14:45:00Z 2026-04-05T01:45", "2026-04-05T15:15:00Z 2026-04-06T01:45"}},
		{"Samoa, a day that was skipped", "0 9 * * *", "Pacific/Apia", "2011-12-29T12:00:00-10:00",
			[]string{"2011-12-30T10:00:00Z 2011-12-30T09:00", "2011-12-30T19:00:00Z 2011-12-31T09:00"}},
		{"São Paulo, a midnight that does not exist", "@daily", "America/Sao_Paulo", "2018-11-03T12:00:00-03:00",
			[]string{"2018-11-04T03:00:00Z 2018-11-04T00:00", "2018-11-05T02:00:00Z 2018-11-05T00:00"}},

		{"every hour, through the doubled one", "0 * * * *", "America/New_York", "2026-11-01T00:30:00-04:00",
			[]string{"2026-11-01T05:00:00Z 2026-11-01T05:00:00Z", "2026-11-01T06:00:00Z 2026-11-01T06:00:00Z", "2026-11-01T07:00:00Z 2026-11-01T07:00:00Z"}},
		{"every hour, over the missing one", "@hourly", "America/New_York", "2026-03-08T01:30:00-05:00",
			[]string{"2026-03-08T07:00:00Z 2026-03-08T07:00:00Z", "2026-03-08T08:00:00Z 2026-03-08T08:00:00Z"}},
		{"quarter hours on Lord Howe", "*/15 * * * *", "Australia/Lord_Howe", "2026-10-04T01:40:00+10:30",
			[]string{"2026-10-03T15:15:00Z 2026-10-03T15:15:00Z", "2026-10-03T15:30:00Z 2026-10-03T15:30:00Z", "2026-10-03T15:45:00Z 2026-10-03T15:45:00Z"}},
		{"half past on Lord Howe, at the jump itself", "30 0-23 * * *", "Australia/Lord_Howe", "2026-10-04T01:40:00+10:30",
			[]string{"2026-10-03T15:30:00Z 2026-10-03T15:30:00Z", "2026-10-03T16:30:00Z 2026-10-03T16:30:00Z"}},

		{"an interval, the same on each replica", "@every 90m", "Africa/Lagos", "2026-03-02T08:12:34Z",
			[]string{"2026-03-02T09:00:00Z 2026-03-02T09:00:00Z", "2026-03-02T10:30:00Z 2026-03-02T10:30:00Z"}},
		{"an interval before 1970", "@every 1h", "", "1969-12-31T22:30:00Z", []string{"1969-12-31T23:00:00Z 1969-12-31T23:00:00Z", "1970-01-01T00:00:00Z 1970-01-01T00:00:00Z"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			schedule := parseCron(t, c.expr, c.zone)
			at := instant(t, c.after)
			for _, want := range c.want {
				got := schedule.Next(at)
				if text := got.At.Format(time.RFC3339Nano) + " " + got.Key; text != want {
					t.Fatalf("after %s: %s, want %s", at.Format(time.RFC3339), text, want)
				}
				at = got.At
			}
		})
	}
}

// Every refusal of ecosystem.md 2.11, and what the library reads as something else.
func TestCronRefusesWhatWouldSurprise(t *testing.T) {
	for _, c := range []struct{ expr, want string }{
		{"", "empty"}, {"   ", "empty"},
		{"TZ=UTC", "schedule.timezone"}, {"TZ=0", "schedule.timezone"}, {"CRON_TZ=", "schedule.timezone"},
		{"TZ=UTC 0 9 * * *", "schedule.timezone"}, {"CRON_TZ=Europe/Berlin 0 9 * * *", "schedule.timezone"},
		{"0 0 31 2 *", "no such date"}, {"0 0 30 FEB *", "no such date"}, {"0 0 31 4,6,9,11 *", "no such date"},
		{"0 9 * * 7", "Sunday is 0"}, {"0 9 * * 5-7", "Sunday is 0"}, {"0 9 * * 1,7", "Sunday is 0"},
		{"@reboot", "campaignd run"}, {"@fortnightly", "five fields"},
		{"0 9 LW * *", "not supported"}, {"0 9 * * FRIL", "numbers or names"}, {"0 9 * 7L *", "numbers or names"}, {"?-5 9 * * *", "numbers or names"}, {"0 9 ?-5 * *", "numbers or names"},
		{"0 9 L * *", "not supported"}, {"0 9 * * 5L", "not supported"}, {"0 9 15W * *", "not supported"}, {"0 9 * * 1#2", "not supported"},
		{"@every -5m", "second or more"}, {"@every 0s", "second or more"}, {"@every 10ms", "second or more"},
		{"@every 1500ms", "whole seconds"}, {"@every", "@every 90m"}, {"@every soon", "duration"},
		{"0 9 1-7 * 1", "either day"}, {"0 9 */2 * 1", "either day"},
		{"0 0 9 * * *", "6 fields"}, {"0 9 * *", "4 fields"},
		{",, 9 * * *", "minute"}, {"0, 9 * * *", "minute"}, {"*-5 9 * * *", "minute"}, {"+5 9 * * *", "minute"},
		{"60 9 * * *", "above maximum"}, {"0 24 * * *", "above maximum"}, {"0 9 0 * *", "below minimum"}, {"0 9 * 13 *", "above maximum"},
		{"30-10 9 * * *", "beyond end"}, {"*/0 9 * * *", "positive"}, {"0 9 * FOO *", "parse int"}, {"0 9 ¼ * *", "day of month"},
		{strings.Repeat("1,", 400) + "1 9 * * *", "bytes long"},
	} {
		got, err := plan.ParseCron(c.expr, "")
		if err == nil {
			t.Errorf("%q was read as %v", c.expr, got.Next(time.Unix(0, 0)))
			continue
		}
		if !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "schedule.cron") || strings.Contains(err.Error(), "\n") || len(err.Error()) > 250 {
			t.Errorf("%q: %v; want schedule.cron and %q on one line", c.expr, err, c.want)
		}
	}
	if _, err := plan.ParseCron("0 9 * * *", "Lagos"); err == nil || !strings.Contains(err.Error(), "schedule.timezone") {
		t.Errorf("an unknown zone: %v", err)
	}
}

var honest = []string{"0 9 * * MON", "30 2 * * *", "*/15 * * * *", "0 */2 * * *", "5,35 1-3 * * *", "0 0 1 * *", "@hourly", "@daily",
	"@monthly", "@yearly", "@every 7m", "@every 25h", "0 9 29 2 *", "30 1 * * SUN", "* 2 * * *", "0 9-17/2 * * MON-FRI", "45 23 ? * ?"}

// Each firing is later than the last and has a key of its own; asking from in between, or from the
// instant before, gives the same firing.
func TestCronAdvances(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c, err := plan.ParseCron(rapid.SampledFrom(honest).Draw(t, "expr"), rapid.SampledFrom(zones).Draw(t, "zone"))
		if err != nil {
			t.Fatal(err)
		}
		at := drawInstant(t)
		keys := map[string]bool{}
		for range 60 {
			next := c.Next(at)
			if next.At.IsZero() {
				t.Fatalf("%s in %s: nothing after %s", c, c.Zone(), at)
			}
			if !next.At.After(at) {
				t.Fatalf("%s in %s: %s is not after %s", c, c.Zone(), next.At, at)
			}
			if keys[next.Key] {
				t.Fatalf("%s in %s: %s fires twice", c, c.Zone(), next.Key)
			}
			keys[next.Key] = true
			if again := c.Next(next.At.Add(-1)); again != next {
				t.Fatalf("%s in %s: after %s comes %v, but a nanosecond before it %v", c, c.Zone(), at, next, again)
			}
			if half := c.Next(at.Add(next.At.Sub(at) / 2)); half != next && next.At.Sub(at) > 1 {
				t.Fatalf("%s in %s: after %s comes %v, but from half-way %v", c, c.Zone(), at, next, half)
			}
			at = next.At
		}
	})
}

// A fixed hour fires once for each of its civil days, whatever the clocks do.
func TestCronFixedHourFiresOncePerDay(t *testing.T) {
	for _, name := range zones {
		for _, expr := range []string{"30 2 * * *", "0 0 * * *", "30 1 * * *", "59 23 * * *"} {
			c := parseCron(t, expr, name)
			at := time.Date(2016, 6, 1, 12, 0, 0, 0, time.UTC)
			day := time.Time{}
			for range 3 * 365 {
				next := c.Next(at)
				civil, err := time.Parse("2006-01-02T15:04", next.Key)
				if err != nil {
					t.Fatal(err)
				}
				if !day.IsZero() && civil.Sub(day) != 24*time.Hour {
					t.Fatalf("%s in %s: %s follows %s", expr, name, next.Key, day)
				}
				day, at = civil, next.At
			}
		}
	}
}

func TestCronLatestCountsWhatWasMissed(t *testing.T) {
	daily := parseCron(t, "0 9 * * *", "Africa/Lagos")
	last, missed, ok := daily.Latest(instant(t, "2026-03-01T12:00:00Z"), instant(t, "2026-03-05T08:00:00Z"))
	if !ok || missed != 3 || last.Key != "2026-03-05T09:00" {
		t.Errorf("four days away: %v, %d missed, %v", last, missed, ok)
	}
	if last, missed, ok := daily.Latest(instant(t, "2026-03-05T08:00:00Z"), instant(t, "2026-03-06T07:59:59Z")); ok {
		t.Errorf("nothing was due, but %v (%d missed)", last, missed)
	}
	minutes := parseCron(t, "* * * * *", "")
	last, missed, ok = minutes.Latest(instant(t, "2020-01-01T00:00:00Z"), instant(t, "2026-03-05T08:00:30Z"))
	if !ok || missed != 1000 || last.Key != "2026-03-05T08:00:00Z" {
		t.Errorf("six years of minutes: %v, %d missed, %v", last, missed, ok)
	}
}

// The newest firing counts, also when two lie close together long ago.
func TestCronLatestIsTheNewestOfThousands(t *testing.T) {
	for _, c := range []struct {
		expr, zone, after, now, want string
		missed                       int
	}{
		{"0,1 9 * * *", "", "2020-01-01T00:00:00Z", "2026-03-05T12:00:00Z", "2026-03-05T09:01", 1000},
		{"0,1 9 * * *", "", "2020-01-01T00:00:00Z", "2026-03-05T09:00:30Z", "2026-03-05T09:00", 1000},
		{"0,1 9 * * *", "", "2020-01-01T00:00:00Z", "2026-03-05T09:01:00Z", "2026-03-05T09:01", 1000},
		{"* * * * *", "", "2026-03-01T00:00:00Z", "2026-03-01T16:40:00Z", "2026-03-01T16:40:00Z", 999},
		{"* * * * *", "", "2026-03-01T00:00:00Z", "2026-03-01T16:41:00Z", "2026-03-01T16:41:00Z", 1000},
		{"* * * * *", "", "2026-03-01T00:00:00Z", "2026-03-01T16:42:00Z", "2026-03-01T16:42:00Z", 1000},
		{"0 9 * * *", "", "2026-03-01T09:00:00Z", "2026-03-02T09:00:00Z", "2026-03-02T09:00", 0},
	} {
		last, missed, ok := parseCron(t, c.expr, c.zone).Latest(instant(t, c.after), instant(t, c.now))
		if !ok || last.Key != c.want || missed != c.missed {
			t.Errorf("%s at %s: %s, %d missed, %v, want %s, %d, true", c.expr, c.now, last.Key, missed, ok, c.want, c.missed)
		}
	}
}

// In an hour that exists twice, each minute fires in the first of the two.
func TestCronFiresTheFirstTimeOfADoubledHour(t *testing.T) {
	for _, c := range []struct {
		zone, hour, after string
		first             string // 01:00 or 02:00 the first time
	}{
		{"America/New_York", "1", "2026-11-01T02:00:00Z", "2026-11-01T05:00:00Z"},
		{"Europe/Berlin", "2", "2026-10-24T12:00:00Z", "2026-10-25T00:00:00Z"},
	} {
		for minute := range 60 {
			got := parseCron(t, fmt.Sprintf("%d %s * * *", minute, c.hour), c.zone).Next(instant(t, c.after))
			if want := instant(t, c.first).Add(time.Duration(minute) * time.Minute); !got.At.Equal(want) {
				t.Errorf("%s, minute %d: %s, want %s", c.zone, minute, got.At, want)
			}
		}
	}
}

func TestCronExpressionsHaveALengthLimit(t *testing.T) {
	long := func(n int) string { return strings.Repeat("1,", (n-9)/2) + "11"[:1+(n-9)%2] + " 9 * * *" }
	if _, err := plan.ParseCron(long(512), ""); err != nil {
		t.Errorf("512 bytes: %v, want them read", err)
	}
	_, err := plan.ParseCron(long(513), "")
	want := `schedule.cron: "` + strings.Repeat("1,", 28) + `1...": it is 513 bytes long, want at most 512`
	if err == nil || err.Error() != want {
		t.Errorf("513 bytes\ngot  %v\nwant %s", err, want)
	}
	for n, want := range map[int]string{
		60: `schedule.cron: "` + strings.Repeat("x", 60) + `": 1 fields, want five: minute, hour, day of month, month, day of week`,
		61: `schedule.cron: "` + strings.Repeat("x", 57) + `...": 1 fields, want five: minute, hour, day of month, month, day of week`,
	} {
		if _, err := plan.ParseCron(strings.Repeat("x", n), ""); err == nil || err.Error() != want {
			t.Errorf("%d letters\ngot  %v\nwant %s", n, err, want)
		}
	}
}

func TestCronIsShownAsWritten(t *testing.T) {
	for in, want := range map[string]string{" 0 9 * * MON ": "0 9 * * MON", "@every 90m": "@every 90m", "@daily": "@daily"} {
		c := parseCron(t, in, "Africa/Lagos")
		if c.String() != want || c.Zone().String() != "Africa/Lagos" {
			t.Errorf("%q is shown as %q in %s, want %q in Africa/Lagos", in, c, c.Zone(), want)
		}
	}
}

func TestAFaultOfAScheduleHasItsPlace(t *testing.T) {
	const head = "name: a\nconnections: [conn_1]\ntemplate: {name: hello_world, language: en_US}\n"
	for name, c := range map[string]struct{ schedule, want string }{
		"cron": {"schedule:\n  cron: '0 9 * * 7'\n",
			`c.yaml:5:3: schedule.cron: "0 9 * * 7": day of week "7": Sunday is 0 or SUN`},
		"time zone": {"schedule: {cron: '0 9 * * 1', timezone: Local}\n",
			`c.yaml:4:31: schedule.timezone: time zone "Local" depends on the machine; give an IANA name like Africa/Lagos`},
	} {
		src := []byte(head + c.schedule)
		d := &campaign.Definition{Schedule: &campaign.Schedule{Cron: "0 9 * * 7"}}
		if name == "time zone" {
			d.Schedule = &campaign.Schedule{Cron: "0 9 * * 1", Timezone: "Local"}
		}
		got, err := plan.CronOf("c.yaml", src, d)
		var file *campaign.FileError
		if got != nil || !errors.As(err, &file) || err.Error() != c.want {
			t.Errorf("%s: %v, %T\ngot  %v\nwant %s", name, got, err, err, c.want)
		}
	}
	if got, err := plan.CronOf("c.yaml", []byte(head), &campaign.Definition{}); got != nil || err != nil {
		t.Errorf("without a schedule: %v, %v, want none and no error", got, err)
	}
	d := &campaign.Definition{Schedule: &campaign.Schedule{Cron: "0 9 * * 1", Timezone: "Africa/Lagos"}}
	got, err := plan.CronOf("c.yaml", []byte(head), d)
	if err != nil {
		t.Fatal(err)
	}
	if next := got.Next(instant(t, "2026-03-01T00:00:00Z")).Key; next != "2026-03-02T09:00" || got.Zone().String() != "Africa/Lagos" {
		t.Errorf("fires %s in %s, want 2026-03-02T09:00 in Africa/Lagos", next, got.Zone())
	}
}

func TestScheduleFaultsNameTheirField(t *testing.T) {
	for want, c := range map[string]struct{ cron, zone string }{
		"schedule.cron": {"0 9 * *", ""}, "schedule.timezone": {"0 9 * * *", "Mars/Olympus"},
	} {
		_, err := plan.ParseCron(c.cron, c.zone)
		var field *plan.FieldError
		if !errors.As(err, &field) || field.Field != want || errors.Unwrap(err) == nil || errors.Unwrap(err) != field.Err {
			t.Errorf("%+v: got %#v, want a fault of %s that wraps its cause", c, err, want)
		}
	}
}

func TestMisfirePolicies(t *testing.T) {
	due := instant(t, "2026-03-02T08:00:00Z")
	for _, c := range []struct {
		policy string
		grace  time.Duration
		late   time.Duration
		want   plan.Verdict
	}{
		{"skip", time.Hour, -time.Nanosecond, plan.NotYet},
		{"run", time.Hour, -time.Second, plan.NotYet},
		{"skip", time.Hour, 0, plan.Fire},
		{"skip", time.Hour, time.Hour, plan.Fire},
		{"skip", time.Hour, time.Hour + 1, plan.Skip},
		{"", 0, 30 * time.Minute, plan.Fire},
		{"", 0, 30*time.Minute + 1, plan.Skip},
		{"", -1, 30 * time.Minute, plan.Fire},
		{"skip", 1, 1, plan.Fire},
		{"skip", 1, 2, plan.Skip},
		{"later", time.Minute, time.Minute + 1, plan.Skip},
		{"run", time.Minute, 48 * time.Hour, plan.Fire},
	} {
		if got := plan.Misfire(c.policy, c.grace, due, due.Add(c.late)); got != c.want {
			t.Errorf("policy %q, grace %v, %v late: %s, want %s", c.policy, c.grace, c.late, got, c.want)
		}
	}
	for policy, want := range map[string]string{"": "skip", "skip": "skip", "run": "run"} {
		if got, err := plan.ParseMisfire(policy); got != want || err != nil {
			t.Errorf("misfire %q is read as %q, %v, want %q", policy, got, err, want)
		}
	}
	const want = `schedule.misfire "later": want run (launch late) or skip (leave it out)`
	if got, err := plan.ParseMisfire("later"); got != "" || err == nil || err.Error() != want {
		t.Errorf("misfire later: got %q, %v, want %s", got, err, want)
	}
}

// Whatever a campaign file says, reading it neither panics nor gives a schedule that stands still.
func FuzzParseCron(f *testing.F) {
	for _, s := range append(honest, "TZ=", "CRON_TZ=0", "@every -1h", "0 0 31 2 *", "*-5 * * * *", "@every 9223372036s") {
		f.Add(s, "Europe/Berlin")
	}
	f.Fuzz(func(t *testing.T, expr, zone string) {
		c, err := plan.ParseCron(expr, zone)
		if err != nil {
			return
		}
		at := time.Date(2026, 3, 28, 12, 0, 0, 0, time.UTC)
		for range 5 {
			next := c.Next(at)
			if !next.At.After(at) {
				t.Fatalf("%q: %s after %s", expr, next.At, at)
			}
			at = next.At
		}
	})
}

func ExampleCron() {
	schedule, err := plan.ParseCron("30 2 * * *", "Europe/Berlin")
	if err != nil {
		fmt.Println(err)
		return
	}
	// On 29 March 2026 Berlin's clocks go from 02:00 to 03:00: 02:30 fires when they do.
	at := time.Date(2026, 3, 27, 12, 0, 0, 0, time.UTC)
	for range 3 {
		next := schedule.Next(at)
		fmt.Println(next.Key, "is", next.At.Format(time.RFC3339))
		at = next.At
	}
	// Output:
	// 2026-03-28T02:30 is 2026-03-28T01:30:00Z
	// 2026-03-29T02:30 is 2026-03-29T01:00:00Z
	// 2026-03-30T02:30 is 2026-03-30T00:30:00Z
}
