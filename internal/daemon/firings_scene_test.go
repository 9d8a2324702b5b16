//go:build mutants

package daemon

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"campaignd/campaign"
	"campaignd/internal/config"
	"campaignd/internal/ledger"
	"campaignd/internal/ledger/sqlite"
	"campaignd/internal/messaging"
	"campaignd/internal/messaging/connector"
	"campaignd/internal/messaging/service"
	"campaignd/internal/numbers"
	"campaignd/internal/numbers/numberstest"
	"campaignd/internal/sandbox"
	"campaignd/internal/schedule"
	"campaignd/throttle"
)

var (
	sceneLength = flag.Duration("scene", 12*time.Minute, "virtual time of TestEachFiringAndFileIsTakenOnce")
	sceneCron   = flag.String("scene-cron", "* * * * *", "schedule of its campaign that fires again and again")
	sceneFiles  = flag.Int("scene-files", 6, "number of files that are dropped")
	sceneSeed   = flag.Uint64("scene-seed", 1, "seed of its restarts")
)

// inProcess passes requests to a handler without a connection.
type inProcess struct{ http.Handler }

func (d inProcess) RoundTrip(r *http.Request) (*http.Response, error) {
	answer := httptest.NewRecorder()
	d.ServeHTTP(answer, r)
	return answer.Result(), r.Context().Err()
}

// A folder with three campaigns: one fires again and again, one once, and one for each dropped
// file. Three replicas over one ledger start and stop at random instants, under virtual time.
func TestEachFiringAndFileIsTakenOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) { playScene(t) })
}

func playScene(t *testing.T) {
	c := &cluster{T: t, limiter: throttle.NewLocal(), dir: t.TempDir(), config: config.Default()}
	draw := rand.New(rand.NewPCG(*sceneSeed, 2)) //nolint:gosec // repeatable
	var mu sync.Mutex
	upTo := func(d time.Duration) time.Duration {
		mu.Lock()
		defer mu.Unlock()
		return time.Duration(draw.Int64N(int64(d)))
	}
	o := sandbox.Demo()
	o.WebhookURL, o.Statuses.Unreachable = "", 0 // each row is accepted
	service, err := sandbox.New(o)
	if err != nil {
		t.Fatal(err)
	}
	defer service.Close() //nolint:errcheck // in memory
	c.service = service
	if c.ledger, err = sqlite.Open(t.Context(), filepath.Join(c.dir, "c.db"), ledger.Options{}); err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := c.ledger.Close(); err != nil {
			t.Error(err)
		}
	}()
	inbox := filepath.Join(c.dir, "inbox")
	c.config.Campaigns = filepath.Join(c.dir, "campaigns")
	c.config.Service.BaseURL, c.config.Service.APIKey = "http://127.0.0.1", messaging.NewSecret(sandbox.DemoKey)
	c.config.Drops = []config.Drop{{Bucket: "file://" + filepath.ToSlash(inbox), Campaign: "dropped"}}
	c.config.Sending.Tick = campaign.Duration(5 * time.Second) // each launch pokes the engine
	for _, dir := range []string{inbox, c.config.Campaigns} {
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	began := time.Now()
	once := began.Add(*sceneLength / 3).UTC().Truncate(time.Second)
	for name, schedule := range map[string]string{
		"again":   fmt.Sprintf("schedule: {cron: %q, timezone: UTC, misfire: run, grace: 30m, overlap: queue}\n", *sceneCron),
		"once":    fmt.Sprintf("schedule: {at: %q, misfire: run, grace: 30m}\n", once.Format(time.RFC3339)),
		"dropped": "",
	} {
		c.first += 10
		file := c.campaign(c.config.Campaigns, name, schedule, 1)
		if err := os.Chtimes(file, began, began); err != nil {
			t.Fatal(err)
		}
	}

	ctx, stop := context.WithCancel(t.Context())
	var replicas sync.WaitGroup
	restarts := 0
	for i := range 3 {
		replicas.Go(func() {
			for ctx.Err() == nil {
				life, end := context.WithTimeout(ctx, 20*time.Second+upTo(10*time.Minute))
				c.process(life, i)
				end()
				time.Sleep(upTo(15 * time.Second))
				mu.Lock()
				restarts++
				mu.Unlock()
			}
		})
	}
	lists := map[string]int{} // rows of each file
	for i := range *sceneFiles {
		name := fmt.Sprintf("list%d.csv", i)
		lists[name] = 1 + i%4
		var text strings.Builder
		text.WriteString("phone,first_name,order\n")
		for row := range lists[name] {
			fmt.Fprintf(&text, "+23480400%05d,A,B\n", 10*i+row)
		}
		put(t, filepath.Join(inbox, "."+name), text.String())
		if err := os.Rename(filepath.Join(inbox, "."+name), filepath.Join(inbox, name)); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Until(began.Add(*sceneLength * time.Duration(i+1) / time.Duration(*sceneFiles))))
	}
	firings := make(chan []campaign.Firing, 1)
	time.AfterFunc(30*time.Second, func() { // of the time of the scene alone
		all, err := c.ledger.Firings(t.Context(), campaign.FiringFilter{Campaign: "again"})
		if err != nil {
			t.Error(err)
		}
		firings <- all
	})
	time.Sleep(5 * time.Minute)
	stop()
	replicas.Wait()
	c.judgeScene(<-firings, began, lists, filepath.Join(inbox, "done"))
	t.Logf("%v with %d restarts", *sceneLength, restarts)
}

// process is one process until its end.
func (c *cluster) process(ctx context.Context, no int) {
	cfg := *c.config
	cfg.Ledger = fmt.Sprintf("sqlite:%s/replica%d.db", c.dir, no) // names the folder in which lists are read
	client, err := service.New(service.Options{BaseURL: cfg.Service.BaseURL, APIKey: cfg.Service.APIKey, AllowHTTP: true,
		Transport: inProcess{c.service}})
	if err != nil {
		c.Error(err)
		return
	}
	known := numbers.NewDirectory(&cfg)
	numberstest.Tell(c, known, nil)
	log := slog.New(slog.DiscardHandler)
	d := &Daemon{cfg: &cfg, log: log, ledger: c.ledger, client: &connector.Set{Service: client}, limiter: c.limiter, directory: known,
		quotas: numbers.NewQuotas(&cfg, known, c.ledger, log), changed: make(chan struct{}, 1), owner: ownerName()}
	d.schedule = d.newScheduler()
	e, err := d.engine(0)
	if err != nil {
		c.Error(err)
		return
	}
	w, err := d.watcher(e)
	if err != nil {
		c.Error(err)
		return
	}
	var work sync.WaitGroup
	work.Go(func() { w.Run(ctx) })
	work.Go(func() { d.schedule.Run(ctx, e, schedule.Every) })
	work.Go(func() {
		if err := e.Run(ctx); err != nil && ctx.Err() == nil {
			c.Errorf("engine: got %v, want it to run until its end", err)
		}
	})
	work.Wait()
}

// judgeScene compares the ledger, the service's messages and the reports with what was due.
func (c *cluster) judgeScene(again []campaign.Firing, began time.Time, lists map[string]int, done string) {
	c.Helper()
	runs := map[string]int{} // of each campaign
	keys := map[string]bool{}
	for _, r := range c.runs() {
		runs[r.Campaign]++
		if r.State != campaign.Finished || keys[r.Campaign+r.Launch] {
			c.Errorf("got %s (%s) in state %s, want it finished, and one run for its key", r.ID(), r.Launch, r.State)
		}
		keys[r.Campaign+r.Launch] = true
	}
	cron, err := readScheduled(filepath.Join(c.config.Campaigns, "again.yaml"))
	if err != nil {
		c.Fatal(err)
	}
	found := map[string]campaign.Firing{}
	for _, f := range again {
		found[f.Key] = f
	}
	due := 0
	for f := cron.Next(began); f.At.Before(began.Add(*sceneLength)); f = cron.Next(f.At) {
		due++
		if got := found[f.Key]; len(again) < 1000 && got.Outcome != campaign.FiringLaunched || !keys["again"+schedule.CronKey+f.Key] {
			c.Errorf("the firing of %s: got %+v, want it launched", f.At, got)
		}
	}
	if runs["again"] < due || runs["once"] != 1 || runs["dropped"] != len(lists) {
		c.Errorf("got the runs %v, want %d or more of again, one of once and %d of dropped", runs, due, len(lists))
	}
	messages := map[string]int{}
	for m := range c.service.Messages() {
		messages[m.To]++
	}
	sent := 0
	for to, n := range messages {
		if strings.HasPrefix(to, "+23480400") && n != 1 {
			c.Errorf("%s of a file got %d messages, want 1", to, n)
		}
		sent += n
	}
	want := runs["again"] + 1
	for name, rows := range lists {
		want += rows
		text, err := os.ReadFile(filepath.Join(done, name+".report.json"))
		var report struct {
			Rows   int
			Run    struct{ State string }
			Totals map[string]int
		}
		if err != nil || json.Unmarshal(text, &report) != nil || report.Rows != rows || report.Totals["accepted"] != rows ||
			report.Run.State != "finished" {
			c.Errorf("%s: got the report %s and %v, want %d accepted rows of a finished run", name, text, err, rows)
		}
		if text, err := os.ReadFile(filepath.Join(done, name+".report.csv")); err != nil || strings.Count(string(text), "\n") != rows+1 {
			c.Errorf("%s: got the report %q and %v, want a header and %d lines", name, text, err, rows)
		}
	}
	if sent != want {
		c.Errorf("the service got %d messages, want %d: one for each row of each run", sent, want)
	}
}
