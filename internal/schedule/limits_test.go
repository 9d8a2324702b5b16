package schedule

import (
	"bytes"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"campaignd/campaign"
	"campaignd/campaign/file"
)

// Tries as far apart as restAfter says make at most 30 requests in an hour, or are one try.
func TestAFailingLaunchAsksTheServiceSeldom(t *testing.T) {
	for calls := int64(0); calls <= 120; calls++ {
		rest := restAfter(calls)
		tries := int64((time.Hour-1)/rest) + 1
		if rest < launchAgain || tries > 1 && tries*calls > managementCalls {
			t.Errorf("%d requests a try: %d tries an hour, %v apart, want at most %d requests", calls, tries, rest, managementCalls)
		}
	}
}

// Each fault of the folder is logged as one line with its place, and again only after a change.
func TestServeLogsEachFaultOfAScheduleOnceWithItsLine(t *testing.T) {
	dir := t.TempDir()
	put := func(name, schedule string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(springFile+schedule), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	bad := put("bad.yaml", "schedule:\n  timezone: Africa/Lagos\n  cron: \"0 0 31 2 *\"\n")
	worse := put("worse.yaml", "window: {hours: \"9-18\"}\n")
	put("good.yaml", "schedule: {cron: \"@daily\"}\n")
	put("unscheduled.yaml", "") // a campaign without a schedule may have the same name

	var log bytes.Buffer
	l := NewLauncher(New(Options{Log: slog.New(slog.NewTextHandler(&log, nil))}))
	for range 3 {
		all, err := Read(dir)
		if len(all) != 1 || filepath.Base(all[0].File) != "good.yaml" {
			t.Fatalf("schedules %v, want good.yaml alone", all)
		}
		l.logFindingsOnce("folder", "a campaign file is not used", err)
	}
	faults := []string{
		bad + `:7:3: schedule.cron: "0 0 31 2 *": no such date ever comes; choose a day that the month has`,
		worse + `:5:10: window.hours: "9-18" are no hours: want 09:00-18:00, each with two digits; the end may be 24:00`,
	}
	for _, fault := range faults {
		if strings.Count(log.String(), "err="+strconv.Quote(fault)+"\n") != 1 {
			t.Errorf("got\n%s\nwant one line that ends in\n%s", log.String(), strconv.Quote(fault))
		}
	}
	put("worse.yaml", "")
	_, err := Read(dir)
	l.logFindingsOnce("folder", "a campaign file is not used", err)
	if n := strings.Count(log.String(), "bad.yaml"); n != 2 {
		t.Errorf("the fault that is left is logged %d times after the change, want 1", n-1)
	}
}

func TestTheDefinitionsInMemoryAreBounded(t *testing.T) {
	c := &policies{defs: map[campaign.RunNo]*file.Definition{}}
	for no := range campaign.RunNo(2*mostDefs + 1) {
		c.definition(campaign.Run{No: no})
		if _, kept := c.defs[no]; !kept || len(c.defs) > mostDefs {
			t.Fatalf("run %d: got %d definitions, its own %v; want its own among at most %d", no, len(c.defs), kept, mostDefs)
		}
	}
}
