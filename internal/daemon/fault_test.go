package daemon

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"campaignd/campaign"
)

var errFault = errors.New("the database is away")

// faulty is a ledger whose call number at fails; at 0 none does.
type faulty struct {
	campaign.Ledger
	calls, at int
}

func (f *faulty) fault() error {
	if f.calls++; f.calls == f.at {
		return errFault
	}
	return nil
}

func (f *faulty) Runs(ctx context.Context, w campaign.RunFilter) ([]campaign.Run, error) {
	if err := f.fault(); err != nil {
		return nil, err
	}
	return f.Ledger.Runs(ctx, w)
}

func (f *faulty) Run(ctx context.Context, no campaign.RunNo) (campaign.Run, error) {
	if err := f.fault(); err != nil {
		return campaign.Run{}, err
	}
	return f.Ledger.Run(ctx, no)
}

func (f *faulty) Tallies(ctx context.Context, no campaign.RunNo) ([]campaign.Tally, campaign.Funnel, error) {
	if err := f.fault(); err != nil {
		return nil, campaign.Funnel{}, err
	}
	return f.Ledger.Tallies(ctx, no)
}

func (f *faulty) LastEventAt(ctx context.Context, no campaign.RunNo) (time.Time, error) {
	if err := f.fault(); err != nil {
		return time.Time{}, err
	}
	return f.Ledger.LastEventAt(ctx, no)
}

func (f *faulty) Lanes(ctx context.Context, no campaign.RunNo) ([]campaign.LaneReport, error) {
	if err := f.fault(); err != nil {
		return nil, err
	}
	return f.Ledger.Lanes(ctx, no)
}

func (f *faulty) SegmentStates(ctx context.Context, no campaign.RunNo) ([]campaign.SegmentState, error) {
	if err := f.fault(); err != nil {
		return nil, err
	}
	return f.Ledger.SegmentStates(ctx, no)
}

func (f *faulty) CreateRun(ctx context.Context, r campaign.Run) (campaign.Run, error) {
	if err := f.fault(); err != nil {
		return campaign.Run{}, err
	}
	return f.Ledger.CreateRun(ctx, r)
}

func (f *faulty) SetState(ctx context.Context, no campaign.RunNo, from []campaign.State, to campaign.State, reason campaign.PauseReason, detail string) (bool, error) {
	if err := f.fault(); err != nil {
		return false, err
	}
	return f.Ledger.SetState(ctx, no, from, to, reason, detail)
}

// Each call of the ledger that fails fails what needed it, with its own error.
func TestAFaultOfTheLedgerIsReturned(t *testing.T) {
	c := newCluster(t, "STANDARD", 15*time.Second)
	run := c.interrupted("spring", 10)
	folder := t.TempDir()
	file := c.campaign(folder, "daily", "schedule: {cron: \"0 0 * * *\", timezone: UTC, misfire: run, grace: 48h}\n", 3)
	written := time.Now().AddDate(0, 0, -2) // a day has begun since
	if err := os.Chtimes(file, written, written); err != nil {
		t.Fatal(err)
	}
	all, err := ReadSchedule(folder)
	if err != nil || len(all) != 1 {
		t.Fatalf("ReadSchedule = %v and %v, want one campaign", all, err)
	}
	config := *c.config
	config.Campaigns = folder
	for _, tt := range []struct {
		name  string
		calls int // of those that can fail
		do    func(l *faulty, d *Daemon) error
	}{
		{"look", 3, func(_ *faulty, d *Daemon) error { _, err := d.look(t.Context(), run.No); return err }},
		{"waiting", 2, func(_ *faulty, d *Daemon) error { _, err := d.waiting(t.Context(), run, 5); return err }},
		{"newest", 2, func(l *faulty, _ *Daemon) error { _, err := newest(t.Context(), l, []campaign.Run{run}); return err }},
		{"count", 2, func(l *faulty, _ *Daemon) error { return (&Quarantined{}).count(t.Context(), l) }},
		{"due", 1, func(_ *faulty, d *Daemon) error { _, _, err := d.due(t.Context(), all[0], time.Now()); return err }},
		{"ready", 1, func(_ *faulty, d *Daemon) error { _, err := d.ready(); return err }},
		{"closeFirings", 3, func(l *faulty, d *Daemon) error {
			return (&Quarantined{}).closeFirings(t.Context(), &config, l, c.runs(), d.log)
		}},
	} {
		for n := 1; ; n++ {
			l := &faulty{Ledger: c.ledger, at: n}
			d := c.replica()
			d.ledger = l
			err := tt.do(l, d)
			if l.calls < n {
				if err != nil || n-1 != tt.calls {
					t.Errorf("%s: %v after %d calls, want nil after %d", tt.name, err, n-1, tt.calls)
				}
				break
			}
			if !errors.Is(err, errFault) {
				t.Errorf("%s: call %d of the ledger fails: got %v, want %v", tt.name, n, err, errFault)
			}
		}
	}
}

// A quarantine that died between the two writes of a stand-in leaves an import without a list: repeated, it cancels it.
func TestARepeatedQuarantineClosesTheFiring(t *testing.T) {
	c := newCluster(t, "STANDARD", 15*time.Second)
	file := c.campaign(c.dir, "daily", "schedule: {cron: \"0 0 * * *\", timezone: UTC, misfire: run, grace: 48h}\n", 3)
	written := time.Now().AddDate(0, 0, -2) // a day has begun since
	if err := os.Chtimes(file, written, written); err != nil {
		t.Fatal(err)
	}
	d := c.replica()
	for _, tt := range []struct {
		at     int
		states []campaign.State
	}{{3, []campaign.State{campaign.Importing}}, {0, []campaign.State{campaign.Cancelled}}, {0, []campaign.State{campaign.Cancelled}}} {
		err := (&Quarantined{}).closeFirings(t.Context(), c.config, &faulty{Ledger: c.ledger, at: tt.at}, c.runs(), d.log)
		if (err != nil) != (tt.at > 0) {
			t.Errorf("closeFirings with a fault at %d = %v, want an error if there is a fault", tt.at, err)
		}
		var states []campaign.State
		for _, r := range c.runs() {
			states = append(states, r.State)
		}
		if !slices.Equal(states, tt.states) {
			t.Errorf("after a fault at %d the runs are %v, want %v", tt.at, states, tt.states)
		}
	}
}

// stuck is a ledger whose runs cannot be read: at once with fault, without one not before ctx ends.
type stuck struct {
	campaign.Ledger
	fault error
}

func (s *stuck) Run(ctx context.Context, no campaign.RunNo) (campaign.Run, error) {
	if s.fault != nil {
		return campaign.Run{}, s.fault
	}
	<-ctx.Done()
	return campaign.Run{No: no}, ctx.Err()
}

// A budget that is over is no fault: the next sender ends the run.
func TestCancelFailsWithTheLedgerNotWithItsBudget(t *testing.T) {
	c := newCluster(t, "STANDARD", 15*time.Second)
	run := c.interrupted("spring", 10)
	for _, tt := range []struct {
		fault  error
		budget time.Duration
	}{{nil, 30 * time.Millisecond}, {errFault, time.Minute}} {
		d := c.replica()
		d.ledger = &stuck{c.ledger, tt.fault}
		began := time.Now()
		got, err := d.EndCancelled(t.Context(), run.No, tt.budget)
		if !errors.Is(err, tt.fault) || got.State.Ended() {
			t.Errorf("EndCancelled = %+v and %v, want it not ended and %v", got, err, tt.fault)
		}
		if took := time.Since(began); took > 20*time.Second {
			t.Errorf("EndCancelled with %v took %v, want it to end soon", tt.fault, took)
		}
	}
}

func TestAQuarantineThatCannotOpenSaysWhy(t *testing.T) {
	c := openable(t)
	held, err := OpenLedger(t.Context(), c, true, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Quarantine(t.Context(), c, QuarantineOptions{Force: true}); !errors.Is(err, campaign.ErrLocked) {
		t.Errorf("beside a sender: Quarantine = %v, want %v", err, campaign.ErrLocked)
	}
	if err := held.Close(); err != nil {
		t.Fatal(err)
	}
	if q, err := Quarantine(t.Context(), c, QuarantineOptions{Ahead: -1}); err != nil || q.Done || q.WentBack {
		t.Errorf("after it: Quarantine = %+v and %v, want nothing to do", q, err)
	}
	c.Ledger = "sqlite:" + filepath.Join(t.TempDir(), "none", "c.db")
	if _, err := Quarantine(t.Context(), c, QuarantineOptions{}); err == nil || !strings.Contains(err.Error(), "none/c.db") {
		t.Errorf("a missing folder: Quarantine = %v, want an error with its path", err)
	}
}

// When the intake ends, the sending ends too: it would miss statuses and opt-outs.
func TestALostListenerEndsTheSending(t *testing.T) {
	c := newCluster(t, "STANDARD", 15*time.Second)
	run := c.interrupted("spring", 10)
	config := openable(t)
	config.Ledger, config.Service.BaseURL = "sqlite:"+filepath.Join(c.dir, "c.db"), c.config.Service.BaseURL
	d, err := New(t.Context(), config, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := d.Close(); err != nil {
			t.Errorf("Close = %v, want nil", err)
		}
	}()
	if err := d.public.ln.Close(); err != nil {
		t.Fatal(err)
	}
	err = d.sendUntilSettled(t.Context(), run, RunOptions{Settle: time.Minute, Progress: func(Progress) {}})
	if err == nil || !strings.Contains(err.Error(), "listen.public: ") {
		t.Errorf("sendUntilSettled = %v, want an error that names listen.public", err)
	}
}

func TestServeSaysThatNoWebhooksAreTaken(t *testing.T) {
	for role, want := range map[Role]int{RoleAll: 1, RoleSender: 0} {
		c := openable(t)
		c.Role, c.Webhooks.Secrets = role, nil
		log := &notes{}
		d, err := New(t.Context(), c, Options{Log: noting(log)})
		if err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithCancel(t.Context())
		if err := d.Serve(ctx, func(string, string) { stop() }); err != nil {
			t.Errorf("%s: Serve = %v, want nil", role, err)
		}
		stop()
		if err := d.Close(); err != nil {
			t.Errorf("%s: Close = %v, want nil", role, err)
		}
		if got := len(log.lines("no webhooks are taken: webhooks.secrets is empty")); got != want {
			t.Errorf("%s: the log says %d times that no webhooks are taken, want %d", role, got, want)
		}
		if got := len(log.lines("msg=stopped")); got != 1 {
			t.Errorf("%s: the log says %d times that it stopped, want 1", role, got)
		}
	}
}

func TestWhatTheScheduleDoesIsLogged(t *testing.T) {
	c := newCluster(t, "STANDARD", 15*time.Second)
	folder := t.TempDir()
	c.campaign(folder, "daily", "schedule: {cron: \"0 0 * * *\"}\n", 3)
	bad := filepath.Join(folder, "bad.yaml")
	if err := os.WriteFile(bad, []byte("nme: x\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	all, err := ReadSchedule(folder)
	if err == nil || len(all) != 1 {
		t.Fatalf("ReadSchedule = %v and %v, want one campaign and one fault", all, err)
	}
	log := &notes{}
	d := c.replica()
	d.log = noting(log)
	if err := (&Quarantined{DryRun: true}).closeFirings(t.Context(), &Config{Campaigns: folder}, c.ledger, nil, d.log); err != nil {
		t.Errorf("closeFirings = %v, want nil", err)
	}
	if lines := log.lines("a campaign file is not used"); len(lines) != 1 || !strings.Contains(lines[0], bad) {
		t.Errorf("the log says %q, want one line that names %s", lines, bad)
	}
	e, err := d.engine(0)
	if err != nil {
		t.Fatal(err)
	}
	if err := d.fire(t.Context(), all[0], all[0].Next(time.Now()), e); err != nil {
		t.Fatal(err)
	}
	if lines := log.lines("scheduled campaign launched"); len(lines) != 1 || !strings.Contains(lines[0], "run=daily-1 ") || !strings.Contains(lines[0], "rows=3") {
		t.Errorf("the log says %q, want one launch of daily-1 with 3 rows", lines)
	}
	if err := d.fire(t.Context(), Scheduled{File: bad}, all[0].Next(time.Now()), e); err == nil {
		t.Errorf("fire of a faulty file = %v, want an error", err)
	}
}

func TestADemoThatCannotGoOnSaysWhy(t *testing.T) {
	files := fstest.MapFS{"campaign.yaml": {Data: []byte("nme: demo\n")}, "list.csv": {Data: []byte("phone\n")}}
	w, err := StartDemo(t.Context(), DemoOptions{Dir: t.TempDir(), Files: files}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := w.Close(); err != nil {
			t.Errorf("Close = %v, want nil", err)
		}
	}()
	var file *campaign.FileError
	if _, err := w.Run(t.Context()); !errors.As(err, &file) {
		t.Errorf("Run of a faulty campaign = %v, want what is wrong with its file", err)
	}
	if err := os.Mkdir(filepath.Join(w.Dir, "campaignd.yaml"), 0o700); err != nil {
		t.Fatal(err)
	}
	if path, err := w.WriteConfig(); err == nil || path != "" || !strings.HasPrefix(err.Error(), "demo configuration: ") {
		t.Errorf("WriteConfig over a folder = %q and %v, want an error", path, err)
	}
	started := func(string, string) { t.Error("started is called, want an error before") }
	for _, tt := range []struct{ public, want string }{{"http://[::1", "demo: "}, {"http://" + inUse(t), "listen.public"}} {
		w.Public = tt.public
		if err := w.Serve(t.Context(), Options{}, started); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("Serve at %s = %v, want an error with %q", tt.public, err, tt.want)
		}
	}
}

func TestTheSchemaTellsEveryDefault(t *testing.T) {
	text, err := ConfigSchema()
	if err != nil {
		t.Fatal(err)
	}
	defaults, err := json.Marshal(DefaultConfig())
	if err != nil {
		t.Fatal(err)
	}
	var schema, values map[string]any
	if err := errors.Join(json.Unmarshal(text, &schema), json.Unmarshal(defaults, &values)); err != nil {
		t.Fatal(err)
	}
	leaves := 0
	var walk func(path string, schema, values map[string]any)
	walk = func(path string, schema, values map[string]any) {
		properties, _ := schema["properties"].(map[string]any)
		for key, value := range values {
			property, _ := properties[key].(map[string]any)
			if inner, ok := value.(map[string]any); ok {
				walk(path+key+".", property, inner)
				continue
			}
			if leaves++; value != nil && !reflect.DeepEqual(property["default"], value) {
				t.Errorf("%s%s: the default in the schema is %v, want %v", path, key, property["default"], value)
			}
		}
	}
	walk("", schema, values)
	if leaves < 25 {
		t.Errorf("the schema has %d keys, want every key of the configuration, 25 or more", leaves)
	}
}
