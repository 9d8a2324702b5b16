package daemon

import (
	"bytes"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// An operator reads the log by lines: each fault of the folder is one, with its place, until it changes.
func TestServeLogsEachFaultOfAScheduleOnceWithItsLine(t *testing.T) {
	dir := t.TempDir()
	const file = "name: spring\nconnections: [conn_1]\ntemplate: {name: a, language: en}\nrecipients: {file: l.csv}\n"
	put := func(name, schedule string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(file+schedule), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	bad := put("bad.yaml", "schedule:\n  timezone: Africa/Lagos\n  cron: \"0 0 31 2 *\"\n")
	worse := put("worse.yaml", "window: {hours: \"9-18\"}\n")
	good := put("good.yaml", "schedule: {cron: \"@daily\"}\n")
	twin := put("twin.yaml", "schedule: {cron: \"@hourly\"}\n")
	put("unscheduled.yaml", "") // run by hand it may have the same name

	var log bytes.Buffer
	l := newLauncher(&Daemon{log: slog.New(slog.NewTextHandler(&log, nil))})
	for range 3 { // the folder is read again and again
		all, err := ReadSchedule(dir)
		if len(all) != 1 || filepath.Base(all[0].File) != "good.yaml" {
			t.Fatalf("schedules %v, want good.yaml alone", all)
		}
		l.sayFaults("folder", "a campaign file is not used", err)
	}
	faults := []string{
		bad + `:7:3: schedule.cron: "0 0 31 2 *": no such date ever comes; choose a day that the month has`,
		twin + `: the name spring is that of ` + good + ` too; give each campaign a name of its own`,
		worse + `:5:10: window.hours: "9-18" are no hours: want 09:00-18:00, each with two digits; the end may be 24:00`,
	}
	for _, fault := range faults {
		if strings.Count(log.String(), "err="+strconv.Quote(fault)+"\n") != 1 {
			t.Errorf("want one line that ends in\n%s\nin\n%s", strconv.Quote(fault), log.String())
		}
	}
	put("worse.yaml", "")
	_, err := ReadSchedule(dir)
	l.sayFaults("folder", "a campaign file is not used", err)
	if n := strings.Count(log.String(), "bad.yaml"); n != 2 {
		t.Errorf("what is left is said %d times, want once more after the change", n-1)
	}
}
