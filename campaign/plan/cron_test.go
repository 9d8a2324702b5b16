package plan_test

import (
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"

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
		{"a leap day", "0 12 29 FEB *", "", "2026-03-01T00:00:00Z",
			[]string{"2028-02-29T12:00:00Z 2028-02-29T12:00", "2032-02-29T12:00:00Z 2032-02-29T12:00"}},
		{"the last day of a leap year far off", "30 9 31 12 *", "America/New_York", "2040-12-31T06:00:00Z",
			[]string{"2040-12-31T14:30:00Z 2040-12-31T09:30"}},
		{"every hour of that day", "0 * * * *", "America/New_York", "2040-12-31T06:00:00Z",
			[]string{"2040-12-31T07:00:00Z 2040-12-31T07:00:00Z"}},
		{"eight years without a leap day", "0 12 29 2 *", "", "2096-03-01T00:00:00Z", []string{"2104-02-29T12:00:00Z 2104-02-29T12:00"}},

		{"a leap day beyond a year that has none", "0 12 29 2 *", "", "2098-06-01T00:00:00Z", []string{"2104-02-29T12:00:00Z 2104-02-29T12:00"}},
		{"July", "0 9 1 JUL *", "", "2026-03-01T00:00:00Z", []string{"2026-07-01T09:00:00Z 2026-07-01T09:00"}},
		{"July in a list", "0 9 1 apr,jul *", "", "2026-05-01T00:00:00Z", []string{"2026-07-01T09:00:00Z 2026-07-01T09:00"}},
		{"the shortest interval", "@every 1s", "", "2026-03-02T08:12:34.5Z",
			[]string{"2026-03-02T08:12:35Z 2026-03-02T08:12:35Z", "2026-03-02T08:12:36Z 2026-03-02T08:12:36Z"}},
		{"every hour of a day beyond a change of offset", "0 * 1 1 *", "America/New_York", "2026-10-01T00:00:00Z",
			[]string{"2027-01-01T05:00:00Z 2027-01-01T05:00:00Z"}},
		{"every hour of a day beyond two changes of offset", "0 * 1 7 *", "America/New_York", "2026-10-01T00:00:00Z",
			[]string{"2027-07-01T04:00:00Z 2027-07-01T04:00:00Z"}},

		// The library skips this firing (https://github.com/robfig/cron/issues/541). The days before and
		// after keep their hour.
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
			[]string{"2026-11-01T05:00:00Z 2026-11-01T05:00:00Z", "2026-11-01T06:00:00Z 2026-11-01T06:00:00Z",
				"2026-11-01T07:00:00Z 2026-11-01T07:00:00Z"}},
		{"every hour, over the missing one", "@hourly", "America/New_York", "2026-03-08T01:30:00-05:00",
			[]string{"2026-03-08T07:00:00Z 2026-03-08T07:00:00Z", "2026-03-08T08:00:00Z 2026-03-08T08:00:00Z"}},
		{"quarter hours on Lord Howe", "*/15 * * * *", "Australia/Lord_Howe", "2026-10-04T01:40:00+10:30",
			[]string{"2026-10-03T15:15:00Z 2026-10-03T15:15:00Z", "2026-10-03T15:30:00Z 2026-10-03T15:30:00Z",
				"2026-10-03T15:45:00Z 2026-10-03T15:45:00Z"}},
		{"half past on Lord Howe, at the jump itself", "30 0-23 * * *", "Australia/Lord_Howe", "2026-10-04T01:40:00+10:30",
			[]string{"2026-10-03T15:30:00Z 2026-10-03T15:30:00Z", "2026-10-03T16:30:00Z 2026-10-03T16:30:00Z"}},

		{"an interval, the same on each replica", "@every 90m", "Africa/Lagos", "2026-03-02T08:12:34Z",
			[]string{"2026-03-02T09:00:00Z 2026-03-02T09:00:00Z", "2026-03-02T10:30:00Z 2026-03-02T10:30:00Z"}},
		{"an interval before 1970", "@every 1h", "", "1969-12-31T22:30:00Z",
			[]string{"1969-12-31T23:00:00Z 1969-12-31T23:00:00Z", "1970-01-01T00:00:00Z 1970-01-01T00:00:00Z"}},
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

var honest = []string{"0 9 * * MON", "30 2 * * *", "*/15 * * * *", "0 */2 * * *", "5,35 1-3 * * *", "0 0 1 * *", "@hourly", "@daily",
	"@monthly", "@yearly", "@every 7m", "@every 25h", "0 9 29 2 *", "30 1 * * SUN", "* 2 * * *", "0 9-17/2 * * MON-FRI", "45 23 ? * ?"}

// Each firing is later than the one before and has a key of its own. Next gives the same firing
// from any instant between the two.
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
				t.Fatalf("%s in %s: no firing after %s, want one", c, c.Zone(), at)
			}
			if !next.At.After(at) {
				t.Fatalf("%s in %s: got %s, want a time after %s", c, c.Zone(), next.At, at)
			}
			if keys[next.Key] {
				t.Fatalf("%s in %s: key %s fires twice, want once", c, c.Zone(), next.Key)
			}
			keys[next.Key] = true
			if again := c.Next(next.At.Add(-1)); again != next {
				t.Fatalf("%s in %s: a nanosecond before the firing got %v, want %v as after %s", c, c.Zone(), again, next, at)
			}
			if half := c.Next(at.Add(next.At.Sub(at) / 2)); half != next && next.At.Sub(at) > 1 {
				t.Fatalf("%s in %s: from half-way got %v, want %v as after %s", c, c.Zone(), half, next, at)
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
					t.Fatalf("%s in %s: %s follows %s, want the next day", expr, name, next.Key, day)
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
		t.Errorf("four days away: %v, %d missed, %v; want 2026-03-05T09:00, 3, true", last, missed, ok)
	}
	if last, missed, ok := daily.Latest(instant(t, "2026-03-05T08:00:00Z"), instant(t, "2026-03-06T07:59:59Z")); ok {
		t.Errorf("nothing was due: got %v (%d missed), want none", last, missed)
	}
	minutes := parseCron(t, "* * * * *", "")
	last, missed, ok = minutes.Latest(instant(t, "2020-01-01T00:00:00Z"), instant(t, "2026-03-05T08:00:30Z"))
	if !ok || missed != 1000 || last.Key != "2026-03-05T08:00:00Z" {
		t.Errorf("six years of minutes: %v, %d missed, %v; want 2026-03-05T08:00:00Z, 1000, true", last, missed, ok)
	}
}

// Latest is the newest firing, also when two firings of a day lie close together.
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

func TestCronIsShownAsWritten(t *testing.T) {
	for in, want := range map[string]string{" 0 9 * * MON ": "0 9 * * MON", "@every 90m": "@every 90m", "@daily": "@daily"} {
		c := parseCron(t, in, "Africa/Lagos")
		if c.String() != want || c.Zone().String() != "Africa/Lagos" {
			t.Errorf("%q is shown as %q in %s, want %q in Africa/Lagos", in, c, c.Zone(), want)
		}
	}
}

func ExampleCron() {
	schedule, err := plan.ParseCron("30 2 * * *", "Europe/Berlin")
	if err != nil {
		fmt.Println(err)
		return
	}
	// On 29 March 2026 Berlin's clocks go from 02:00 to 03:00. On that day 02:30 fires at 03:00.
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
