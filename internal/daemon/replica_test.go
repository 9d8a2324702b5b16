package daemon

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"campaignd/campaign"
	"campaignd/campaign/file"
	"campaignd/internal/clock"
	"campaignd/internal/config"
	"campaignd/internal/ledger"
	"campaignd/internal/ledger/ledgertest"
	"campaignd/internal/ledger/sqlite"
	"campaignd/internal/ledger/sqlite/sqlitetest"
	"campaignd/internal/messaging"
	"campaignd/internal/messaging/connector"
	"campaignd/internal/notify"
	"campaignd/internal/numbers"
	"campaignd/internal/numbers/numberstest"
	"campaignd/internal/sandbox"
	"campaignd/internal/schedule"
	"campaignd/recipients"
	"campaignd/throttle"
)

// cluster is one ledger, one service and one limiter, which any number of daemons in this process
// share.
type cluster struct {
	*testing.T
	ledger  campaign.Ledger
	limiter limiter
	service *sandbox.Sandbox
	config  *config.Config
	dir     string
	first   int          // number of the first recipient of the next list
	log     *slog.Logger // of live; nil: none
}

// aged is a ledger whose unfinished runs seem an hour older, so that no import is left to its
// creator.
type aged struct{ campaign.Ledger }

func (a aged) Runs(ctx context.Context, f campaign.RunFilter) ([]campaign.Run, error) {
	runs, err := a.Ledger.Runs(ctx, f)
	for i := range runs {
		if f.Unfinished {
			runs[i].CreatedAt = runs[i].CreatedAt.Add(-time.Hour)
		}
	}
	return runs, err
}

// newCluster starts the service with numbers of a throughput level. lease is the lease of segments
// and jobs.
func newCluster(t *testing.T, throughput string, lease time.Duration) *cluster {
	t.Helper()
	c := &cluster{T: t, limiter: throttle.NewLocal(), dir: ledgertest.Folder(t), config: config.Default()}
	o := sandbox.Demo()
	for i := range o.Connections {
		o.Connections[i].Throughput = throughput
	}
	var err error
	if c.service, err = sandbox.New(o); err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(c.service)
	t.Cleanup(func() {
		server.Close()
		if err := c.service.Close(); err != nil {
			t.Error(err)
		}
	})
	path := filepath.Join(c.dir, "c.db")
	sqlitetest.New(t, path)
	if c.ledger, err = sqlite.Open(t.Context(), path, ledger.Options{}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.ledger.Close(); err != nil {
			t.Error(err)
		}
	})
	c.config.Campaigns = c.dir
	c.config.Service.BaseURL, c.config.Service.APIKey = server.URL, messaging.NewSecret(sandbox.DemoKey)
	c.config.Sending.Lease = campaign.Duration(lease)
	return c
}

// replica returns a daemon of the cluster, without a log.
func (c *cluster) replica() *Daemon {
	c.Helper()
	cfg := *c.config
	client, err := config.NewClient(&cfg)
	if err != nil {
		c.Fatal(err)
	}
	d := numbers.NewDirectory(&cfg)
	numberstest.Tell(c, d, nil) // the pace of conn_1 is that of STANDARD
	log := slog.New(slog.DiscardHandler)
	notifier, err := notify.New(notify.Options{Ledger: c.ledger, Log: log})
	if err != nil {
		c.Fatal(err)
	}
	r := &Daemon{
		cfg: &cfg, log: log, ledger: c.ledger, client: &connector.Set{Service: client}, limiter: c.limiter, notifier: notifier,
		directory: d, quotas: numbers.NewQuotas(&cfg, d, c.ledger, log), changed: make(chan struct{}, 1), owner: ownerName(),
		clock: clock.New(clock.Options{Ledger: c.ledger, Shared: true}),
	}
	r.schedule = r.newScheduler()
	r.holds = newHoldWatch(r)
	return r
}

// campaign writes a campaign file, whose text ends in more, and its list. It returns the path.
func (c *cluster) campaign(dir, name, more string, rows int) string {
	c.Helper()
	var list strings.Builder
	list.WriteString("phone,first_name,order\n")
	for i := range rows {
		fmt.Fprintf(&list, "+234803%07d,Name %d,A-%d\n", c.first+i, i, i)
	}
	file := filepath.Join(dir, name+".yaml")
	for path, text := range map[string]string{
		filepath.Join(dir, name+".csv"): list.String(),
		file: fmt.Sprintf(`name: %s
connections: [conn_1]
template: {name: order_update, language: en_US, category: UTILITY, body: ["{{ .first_name }}", "{{ .order }}"]}
recipients: {file: %[1]s.csv, columns: {to: phone}}
%s`, name, more),
	} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			c.Fatal(err)
		}
	}
	return file
}

// runs returns the runs of the ledger.
func (c *cluster) runs() []campaign.Run {
	c.Helper()
	all, err := c.ledger.Runs(c.Context(), campaign.RunFilter{})
	if err != nil {
		c.Fatal(err)
	}
	return all
}

// A campaign is due at eight replicas at once. Half of them have another list of it.
func TestReplicasFireACampaignOnceWithListsThatDiffer(t *testing.T) {
	c := newCluster(t, "STANDARD", 15*time.Second)
	files := []string{c.campaign(c.dir, "spring", dailySchedule, 10), c.campaign(t.TempDir(), "spring", dailySchedule, 11)}
	for _, f := range files {
		makeDue(t, f)
	}
	var firing sync.WaitGroup
	for i := range 8 {
		d := c.replica()
		d.cfg.Campaigns = filepath.Dir(files[i%2])
		all, err := schedule.Read(d.cfg.Campaigns)
		if err != nil || len(all) != 1 {
			t.Fatalf("%d schedules and %v, want 1", len(all), err)
		}
		e, err := d.engine(0)
		if err != nil {
			t.Fatal(err)
		}
		firing.Go(func() {
			if err := d.lookAndFire(t.Context(), all[0], e); err != nil && !errors.Is(err, campaign.ErrTaken) {
				t.Error(err)
			}
		})
	}
	firing.Wait()
	runs := c.runs()
	if len(runs) != 1 || runs[0].State != campaign.Ready || !strings.HasPrefix(runs[0].Launch, campaign.FiringKey) {
		t.Fatalf("got runs %+v, want one of the schedule, ready", runs)
	}
	if n := runs[0].Rows; n != 10 && n != 11 {
		t.Errorf("got %d rows, want 10 or 11, those of one list", n)
	}
}

// interrupted makes a run whose importer died half-way: the ledger has the first half of its list.
func (c *cluster) interrupted(name string, rows int64) campaign.Run {
	c.Helper()
	path := c.campaign(c.dir, name, "", int(rows))
	list := filepath.Join(c.dir, name+".csv")
	hash, _, err := recipients.Hash(list)
	if err != nil {
		c.Fatal(err)
	}
	_, source, err := file.Load(path)
	if err != nil {
		c.Fatal(err)
	}
	run, err := c.ledger.CreateRun(c.Context(), campaign.Run{
		Campaign: name, ListHash: hash, ListName: list, Definition: source,
		Header: []string{"phone", "first_name", "order"}, Template: "order_update", Language: "en_US",
	})
	if err != nil {
		c.Fatal(err)
	}
	var half []campaign.Delivery
	for i := range rows / 2 {
		half = append(half, campaign.Delivery{
			Seq: i, Row: i + 1, To: fmt.Sprintf("+234803%07d", i), Key: 2348030000000 + i,
			Cells: []string{fmt.Sprintf("+234803%07d", i), fmt.Sprint("Name ", i), fmt.Sprint("A-", i)},
		})
	}
	if err := c.ledger.AppendRows(c.Context(), run.No, 0, half, []campaign.Segment{{Run: run.No, Hi: rows / 2}}); err != nil {
		c.Fatal(err)
	}
	return run
}

func TestADeadImportIsResumedWhereItsListIs(t *testing.T) {
	t.Parallel()
	const lease = 15 * time.Second
	c := newCluster(t, "STANDARD", lease)
	here, elsewhere := c.interrupted("here", 100), c.interrupted("elsewhere", 100)
	if err := os.WriteFile(elsewhere.ListName, []byte("phone,first_name,order\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	d := c.replica()
	e, err := d.engine(0)
	if err != nil {
		t.Fatal(err)
	}
	resume := func() {
		l := schedule.NewLauncher(d.schedule)
		d.schedule.ResumeImports(t.Context(), l, e, nil)
		l.Wait()
	}
	state := func(r campaign.Run) campaign.Run {
		t.Helper()
		r, err := c.ledger.Run(t.Context(), r.No)
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	if resume(); state(here).State != campaign.Importing && time.Since(here.CreatedAt) < lease {
		t.Errorf("a young run: got %s, want importing, because its importer may just have begun", state(here).State)
	}
	d.ledger = aged{c.ledger}
	d.schedule = d.newScheduler()
	held, ok, err := c.ledger.AcquireJob(t.Context(), fmt.Sprintf("import %d", here.No), "the importer", time.Hour)
	if err != nil || !ok {
		t.Fatalf("acquired %v and %v, want the job", ok, err)
	}
	if resume(); state(here).State != campaign.Importing {
		t.Errorf("with a live importer: got %s, want importing", state(here).State)
	}
	if err := c.ledger.ReleaseJob(t.Context(), held); err != nil {
		t.Fatal(err)
	}
	resume()
	if r := state(here); r.State != campaign.Ready || r.Rows != 100 {
		t.Errorf("a list of this machine: got %s with %d rows, want ready with 100", r.State, r.Rows)
	}
	if r := state(elsewhere); r.State != campaign.Importing || r.Rows != 50 {
		t.Errorf("a list of another machine: got %s with %d rows, want importing with 50", r.State, r.Rows)
	}
	problems, _, err := c.ledger.Audit(t.Context(), here.No, 5)
	if err != nil || len(problems) > 0 {
		t.Errorf("audit = %v and %v, want no problem", problems, err)
	}
}

func TestOneReplicaSweepsUntilItEnds(t *testing.T) {
	c := newCluster(t, "STANDARD", time.Hour)
	turns := make([]*turn, 3)
	for i := range turns {
		turns[i] = &turn{job: c.replica().job("sweep")}
	}
	asked := func() (ours []int) {
		for i, x := range turns {
			if x != nil && x.ours(t.Context()) {
				ours = append(ours, i)
			}
		}
		return ours
	}
	if got := fmt.Sprint(asked(), asked()); got != "[0] [0]" {
		t.Errorf("got the turns %s, want those of the first, [0] [0]", got)
	}
	if err := turns[0].end(); err != nil {
		t.Fatal(err)
	}
	turns[0] = nil
	if got := fmt.Sprint(asked()); got != "[1]" {
		t.Errorf("after the end of the first: got the turn of %s, want [1]", got)
	}
}

// Without Redis each process has limits of its own, so a second sender must wait.
func TestWithoutRedisOneProcessSendsFromASharedLedger(t *testing.T) {
	c := newCluster(t, "STANDARD", time.Hour)
	c.config.Ledger, c.config.Replicas = "postgres://declared/only", 1
	a, b := c.replica(), c.replica()
	ctx, stop := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer stop()
	err := a.alone(t.Context(), func(context.Context) error {
		return b.alone(ctx, func(context.Context) error {
			t.Error("got two senders at once, want one")
			return nil
		})
	})
	if err != nil {
		t.Error(err)
	}
	sent := false
	if err := b.alone(t.Context(), func(context.Context) error { sent = true; return nil }); err != nil || !sent {
		t.Errorf("after the end of the first: got %v, sent %v, want nil and true", err, sent)
	}
}
