package daemon

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"campaignd/campaign"
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

// Each replica looks for interrupted imports every 5 s, the importing one too: one that is alive costs none of them a
// request to the service, a look at the list or a line in the log.
func TestReplicasLeaveAnImportThatIsAliveAlone(t *testing.T) {
	t.Parallel()
	const lease, looks = 500 * time.Millisecond, 4 // those of 20 s; one that finds an import taken is not put off
	c := newCluster(t, "STANDARD", lease)
	c.config.Service.Timeout = campaign.Duration(400 * time.Millisecond)
	var calls atomic.Int64
	counted := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		calls.Add(1)
		c.service.ServeHTTP(w, r)
	}))
	defer counted.Close()
	c.config.Service.BaseURL = counted.URL
	run := c.interrupted("alive", 100)
	time.Sleep(time.Until(run.CreatedAt.Add(lease + 10*time.Millisecond)))

	log := &notes{}
	replicas := make([]*Daemon, 3)
	launchers := make([]*launcher, len(replicas))
	for i := range replicas {
		replicas[i] = c.replica()
		replicas[i].log = slog.New(slog.NewTextHandler(log, nil))
		launchers[i] = newLauncher(replicas[i])
	}
	look := func() {
		for i, d := range replicas {
			e, err := d.engine(0)
			if err != nil {
				t.Fatal(err)
			}
			d.takeUp(t.Context(), launchers[i], e)
		}
		for _, l := range launchers {
			l.running.Wait()
		}
	}
	// The first of them is the importer, in a launch of its own.
	err := replicas[0].job(fmt.Sprintf("import %d", run.No)).Do(t.Context(), func(context.Context) error {
		for range looks {
			look()
		}
		if err := os.Rename(run.ListName, run.ListName+".away"); err != nil { // who reads the list says that it is elsewhere
			return err
		}
		for range looks {
			look()
		}
		return os.Rename(run.ListName+".away", run.ListName)
	})
	if err != nil {
		t.Fatal(err)
	}
	if n := calls.Load(); n != 0 {
		t.Errorf("%d requests to the service about an import that is alive", n)
	}
	if said := log.lines(""); len(said) != 0 {
		t.Errorf("said of an import that is alive: %q", said)
	}

	look() // its importer has gone
	if r, err := c.ledger.Run(t.Context(), run.No); err != nil || r.State != campaign.Ready || r.Rows != 100 {
		t.Errorf("taken up: %s with %d rows, %v", r.State, r.Rows, err)
	}
	if said := log.lines("interrupted import finished"); len(said) != 1 {
		t.Errorf("%d replicas say that they finished the import, want one: %q", len(said), said)
	}
}

// The schedule of a process takes up what another left, and says what it cannot launch.
func TestTheScheduleTakesUpAnAbandonedImport(t *testing.T) {
	t.Parallel()
	const lease = 500 * time.Millisecond
	c := newCluster(t, "STANDARD", lease)
	c.config.Campaigns = t.TempDir()
	run := c.interrupted("left", 100)
	file := c.campaign(c.config.Campaigns, "daily", "schedule: {cron: \"0 0 * * *\", timezone: UTC, misfire: run, grace: 48h}\n", 10)
	written := time.Now().AddDate(0, 0, -2) // a day has begun since
	if err := os.Chtimes(file, written, written); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(strings.TrimSuffix(file, ".yaml") + ".csv"); err != nil {
		t.Fatal(err)
	}
	time.Sleep(time.Until(run.CreatedAt.Add(lease + 10*time.Millisecond)))
	log, d := &notes{}, c.replica()
	d.log = noting(log)
	c.config.Sending.Lease = DefaultConfig().Sending.Lease
	e, err := c.replica().engine(0) // it is only told that there is work
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() { d.schedule(ctx, e); close(ended) }()
	c.until(20*time.Second, "the import is taken up, and the fault said", func() bool {
		r, err := c.ledger.Run(t.Context(), run.No)
		if err != nil {
			t.Fatal(err)
		}
		return r.State == campaign.Ready && len(log.lines("a launch failed")) == 1
	})
	stop()
	<-ended
	due := time.Now().UTC().Truncate(24 * time.Hour).Format(time.RFC3339)
	if said := log.lines("a launch failed")[0]; !strings.Contains(said, `err="`+file+", due "+due+": ") {
		t.Errorf("it says %s, want the file and that it was due %s", said, due)
	}
}
