//go:build mutants

package harness

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/minio/minio-go/v7"

	"campaignd/internal/drops/s3test"
)

var (
	sceneTime  = flag.Duration("scene", 15*time.Second, "time for which replicas are killed while files are dropped and schedules fire")
	sceneFiles = flag.Int("scene-files", 4, "number of files that are dropped in that time")
)

// listedFiring is a firing as `campaignd schedule` lists it.
type listedFiring struct {
	Campaign, Outcome, Run string
	At                     time.Time
	Missed                 int
}

// Three replicas over one ledger are killed at random instants: a campaign fires each minute, one
// fires once, and files come to a bucket. Each firing has one run, each file has one run and its
// reports, and nobody got a run's message twice.
func TestClusterFiringsAndFilesSurviveKills(t *testing.T) {
	t.Parallel()
	draw := drawOf(t)
	c := newCluster(t, 3, standard, nil)
	server := s3test.Start(t, nil)
	client := s3test.Client(t, server).Client
	c.world.env = append(c.world.env, "AWS_ACCESS_KEY_ID="+s3test.Key, "AWS_SECRET_ACCESS_KEY="+s3test.Secret,
		fmt.Sprintf("CAMPAIGND_DROPS=[{bucket: 's3://%s?endpoint=%s', prefix: in/, campaign: bucket}]", s3test.Bucket, server.URL))
	const minuteRows, onceRows = 3, 5
	at := time.Now().Add(*sceneTime / 3).Truncate(time.Second).UTC()
	for name, schedule := range map[string]string{
		"minute": `schedule: {cron: "* * * * *", timezone: UTC, misfire: run, grace: 10m, overlap: queue}`,
		"once":   fmt.Sprintf("schedule: {at: %q, misfire: run, grace: 10m}", at.Format(time.RFC3339)),
		"bucket": "",
	} {
		list := people(map[string]int{"minute": 0, "once": 1000}[name], map[string]int{"minute": minuteRows, "once": onceRows}[name])
		c.write("campaigns/"+name+".csv", fileOf(list))
		c.write("campaigns/"+name+".yaml", fmt.Sprintf(`name: %s
connections: [conn_1, conn_2, conn_3, conn_4]
template: {name: newsletter, language: en_US, %s}
recipients: {file: %[1]s.csv, columns: {to: phone}}
policies: {%[3]s}
%[4]s
`, name, fillings["newsletter"], strings.Join(held, ", "), schedule))
	}
	began := time.Now()
	c.startAll()
	defer c.killAll()

	rows := map[string]int{} // of each file
	var dropping sync.WaitGroup
	dropping.Go(func() {
		for i := range *sceneFiles {
			name := fmt.Sprintf("list%02d.csv", i)
			rows[name] = 5 + i
			text := fileOf(people(10_000+100*i, rows[name]))
			if _, err := client.PutObject(t.Context(), s3test.Bucket, "in/"+name, strings.NewReader(text), int64(len(text)),
				minio.PutObjectOptions{}); err != nil {
				t.Errorf("drop %s: %v", name, err)
			}
			time.Sleep(time.Until(began.Add(*sceneTime * time.Duration(i+1) / time.Duration(*sceneFiles))))
		}
	})
	kills := 0
	for time.Since(began) < *sceneTime {
		r := c.replicas[draw.IntN(len(c.replicas))]
		time.Sleep(time.Duration(draw.Int64N(int64(3 * time.Second))))
		r.busy.Store(true)
		if r.process().kill() {
			kills++
		}
		time.Sleep(time.Duration(draw.Int64N(int64(2 * time.Second))))
		r.revive()
		r.busy.Store(false)
	}
	dropping.Wait()

	read := func(key string) []byte {
		o, err := client.GetObject(t.Context(), s3test.Bucket, key, minio.GetObjectOptions{})
		if err != nil {
			return nil
		}
		defer o.Close() //nolint:errcheck // read only
		text, err := io.ReadAll(o)
		if err != nil {
			return nil
		}
		return text
	}
	type result struct {
		Rows   int
		Run    struct{ ID, State string }
		Totals map[string]int
	}
	results := map[string]result{}
	for name := range rows {
		c.until(3*time.Minute, name+" has the report of a finished run", func() bool {
			var r result
			err := json.Unmarshal(read("in/done/"+name+".report.json"), &r)
			results[name] = r
			return err == nil && r.Run.State == "finished" && r.Totals["queued"]+r.Totals["sending"]+r.Totals["in_doubt"] == 0
		})
	}
	c.until(3*time.Minute, "the other runs are finished", func() bool {
		var runs []fired
		c.asJSON(&runs, "runs")
		once := 0
		for _, r := range runs {
			if r.State != "finished" {
				return false
			}
			if r.Campaign == "once" {
				once++
			}
		}
		return once > 0
	})
	c.stopAll()

	runOf := map[string]string{}
	for name, r := range results {
		if other := runOf[r.Run.ID]; other != "" || r.Rows != rows[name] {
			t.Errorf("%s: got the run %s with %d rows (also of %q), want one of its own with %d", name, r.Run.ID, r.Rows, other, rows[name])
		}
		runOf[r.Run.ID] = name
		for suffix, lines := range map[string]int{"": rows[name] + 1, ".report.csv": rows[name] + 1} {
			if got := bytes.Count(read("in/done/"+name+suffix), []byte("\n")); got != lines {
				t.Errorf("%s%s has %d lines, want %d", name, suffix, got, lines)
			}
		}
	}
	var runs []fired
	c.asJSON(&runs, "runs")
	var firings []listedFiring
	c.asJSON(&firings, "schedule", "--next", "0", "--last", "1000")
	byCampaign := map[string]int{}
	for _, r := range runs {
		byCampaign[r.Campaign]++
	}
	launched := map[string]int{}
	seen := map[time.Time]bool{}
	for _, f := range firings {
		if f.Outcome == "launched" {
			launched[f.Campaign]++
		} else if f.Outcome != "skipped" {
			t.Errorf("got the firing %+v, want it launched or skipped", f)
		}
		if f.Campaign == "minute" {
			if seen[f.At] || f.Missed > 0 {
				t.Errorf("got the firing %+v twice or after missed ones, want each minute once", f)
			}
			seen[f.At] = true
		}
	}
	if byCampaign["bucket"] != *sceneFiles || byCampaign["once"] != 1 || launched["once"] != 1 || byCampaign["minute"] != launched["minute"] {
		t.Errorf("got the runs %v of %d files and the firings %v, want one run for each", byCampaign, *sceneFiles, launched)
	}
	got := map[string]int{}
	for _, m := range c.sent("newsletter") {
		got[m.To]++
	}
	for i := range minuteRows {
		if n := got[phoneOf(i)]; n > launched["minute"] {
			t.Errorf("%s got %d messages of %d firings, want one of each at most", phoneOf(i), n, launched["minute"])
		}
		delete(got, phoneOf(i))
	}
	for to, n := range got {
		if n > 1 {
			t.Errorf("%s got %d messages, want one", to, n)
		}
	}
	t.Logf("%d kills in %v, %d files taken once, %d firings launched", kills, *sceneTime, len(rows), launched["minute"]+launched["once"])
}
