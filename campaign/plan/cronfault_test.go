package plan_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"campaignd/campaign/file"
	"campaignd/campaign/plan"
)

// Everything that ParseCron refuses, with the part of the error that names the remedy.
func TestCronRefusesWhatItWouldMisread(t *testing.T) {
	for _, c := range []struct{ expr, want string }{
		{"", "empty"}, {"   ", "empty"},
		{"TZ=UTC", "schedule.timezone"}, {"TZ=0", "schedule.timezone"}, {"CRON_TZ=", "schedule.timezone"},
		{"TZ=UTC 0 9 * * *", "schedule.timezone"}, {"CRON_TZ=Europe/Berlin 0 9 * * *", "schedule.timezone"},
		{"0 0 31 2 *", "no such date"}, {"0 0 30 FEB *", "no such date"}, {"0 0 31 4,6,9,11 *", "no such date"},
		{"0 9 * * 7", "Sunday is 0"}, {"0 9 * * 5-7", "Sunday is 0"}, {"0 9 * * 1,7", "Sunday is 0"},
		{"@reboot", "campaignd run"}, {"@fortnightly", "five fields"},
		{"0 9 LW * *", "not supported"}, {"0 9 * * FRIL", "numbers or names"}, {"0 9 * 7L *", "numbers or names"},
		{"?-5 9 * * *", "numbers or names"}, {"0 9 ?-5 * *", "numbers or names"},
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
			t.Errorf("%q: read, first firing %v; want a refusal", c.expr, got.Next(time.Unix(0, 0)))
			continue
		}
		if !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "schedule.cron") ||
			strings.Contains(err.Error(), "\n") || len(err.Error()) > 250 {
			t.Errorf("%q: %v; want schedule.cron and %q on one line", c.expr, err, c.want)
		}
	}
	if _, err := plan.ParseCron("0 9 * * *", "Lagos"); err == nil || !strings.Contains(err.Error(), "schedule.timezone") {
		t.Errorf("an unknown zone: got %v, want a fault of schedule.timezone", err)
	}
}

// A step of which one value is left would fire much more often or much less often than it says. A
// step that is the whole field says what it does.
func TestCronStepsBeyondTheirFieldAreRefused(t *testing.T) {
	for expr, want := range map[string]string{
		"*/90 * * * *": `minute "*/90": no second value follows within the field, so it would fire only at minute 0 of each hour; ` +
			"@every 90m fires every 90 minutes",
		"5/70 * * * *": `minute "5/70": no second value follows within the field, so it would fire only at minute 5 of each hour; ` +
			"@every 70m fires every 70 minutes",
		"0,40/25 * * * *": `minute "40/25": no second value follows within the field, so it would fire only at minute 40 of each hour; ` +
			"@every 25m fires every 25 minutes",
		"0 */25 * * *": `hour "*/25": no second value follows within the field, so it would fire only in hour 0 of each day; ` +
			"@every 25h fires every 25 hours",
		"0 8-17/12 * * *": `hour "8-17/12": no second value follows within the field, so it would fire only in hour 8 of each day; ` +
			"@every 12h fires every 12 hours",
		"0 9 */31 * *": `day of month "*/31": no second value follows within the field, so it would fire only on day 1 of each month; ` +
			"give the days, such as 1,15",
		"0 9 1 */18 *": `month "*/18": no second value follows within the field, so it would fire only in month 1 of each year; ` +
			"give the months, such as 1,7",
		"0 9 * * MON/8": `day of week "MON/8": no second value follows within the field, so it would fire only on day 1 of each week; ` +
			"give the days, such as MON,THU",
	} {
		got, err := plan.ParseCron(expr, "")
		if err == nil {
			t.Errorf("%q: read, first firing %v; want a refusal", expr, got.Next(time.Unix(0, 0)))
		} else if want = fmt.Sprintf("schedule.cron: %q: %s", expr, want); err.Error() != want {
			t.Errorf("%q\ngot  %v\nwant %s", expr, err, want)
		}
	}
	for _, expr := range []string{"*/60 * * * *", "10/60 * * * *", "*/45 * * * *", "0 */24 * * *", "0 0 1 */12 *", "0 9 * * */7",
		"0 9 */15 * *", "0 9-17/8 * * *", "*/1 * * * *", "30/29 * * * *", "0 9 * JAN/11 *"} {
		if _, err := plan.ParseCron(expr, ""); err != nil {
			t.Errorf("%q: got %v, want it read", expr, err)
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

func TestAFaultOfAScheduleHasLineAndColumn(t *testing.T) {
	const head = "name: a\nconnections: [conn_1]\ntemplate: {name: hello_world, language: en_US}\n"
	for name, c := range map[string]struct{ schedule, want string }{
		"cron": {"schedule:\n  cron: '0 9 * * 7'\n",
			`c.yaml:5:3: schedule.cron: "0 9 * * 7": day of week "7": Sunday is 0 or SUN`},
		"time zone": {"schedule: {cron: '0 9 * * 1', timezone: Local}\n",
			`c.yaml:4:31: schedule.timezone: time zone "Local" depends on the machine; give an IANA name like Africa/Lagos`},
	} {
		src := []byte(head + c.schedule)
		d := &file.Definition{Schedule: &file.Schedule{Cron: "0 9 * * 7"}}
		if name == "time zone" {
			d.Schedule = &file.Schedule{Cron: "0 9 * * 1", Timezone: "Local"}
		}
		got, err := plan.CronOf("c.yaml", src, d)
		var file *file.Error
		if got != nil || !errors.As(err, &file) || err.Error() != c.want {
			t.Errorf("%s: %v, %T\ngot  %v\nwant %s", name, got, err, err, c.want)
		}
	}
	if got, err := plan.CronOf("c.yaml", []byte(head), &file.Definition{}); got != nil || err != nil {
		t.Errorf("without a schedule: %v, %v, want none and no error", got, err)
	}
	d := &file.Definition{Schedule: &file.Schedule{Cron: "0 9 * * 1", Timezone: "Africa/Lagos"}}
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
		{"skip", time.Hour, time.Minute, plan.Fire},
		{"skip", time.Hour, time.Minute + 1, plan.Skip},
		{"", 0, time.Minute, plan.Fire},
		{"", 0, time.Minute + 1, plan.Skip},
		{"skip", 1, 1, plan.Fire},
		{"skip", 1, 2, plan.Skip},
		{"later", time.Hour, time.Minute + 1, plan.Skip},
		{"run", time.Minute, time.Minute, plan.Fire},
		{"run", time.Minute, time.Minute + 1, plan.Skip},
		{"run", time.Hour, time.Hour, plan.Fire},
		{"run", time.Hour, time.Hour + 1, plan.Skip},
		{"run", 0, 30 * time.Minute, plan.Fire},
		{"run", -1, 30*time.Minute + 1, plan.Skip},
	} {
		if got := plan.Misfire(c.policy, c.grace, due, due.Add(c.late)); got != c.want {
			t.Errorf("policy %q, grace %v, %v late: %s, want %s", c.policy, c.grace, c.late, got, c.want)
		}
	}
}

// Any text of a campaign file is read without a panic, and a schedule always advances.
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
				t.Fatalf("%q: got %s, want a time after %s", expr, next.At, at)
			}
			at = next.At
		}
	})
}
