package daemon

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"campaignd/campaign"
	"campaignd/campaign/why"
	"campaignd/internal/schedule"
)

var errFault = errors.New("the database is away")

// faulty is a ledger that fails one call.
type faulty struct {
	campaign.Ledger
	calls int
	at    int // the call that fails, from 1; 0: none
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

func (f *faulty) Firings(ctx context.Context, w campaign.FiringFilter) ([]campaign.Firing, error) {
	if err := f.fault(); err != nil {
		return nil, err
	}
	return f.Ledger.Firings(ctx, w)
}

func (f *faulty) Holds(ctx context.Context, ended bool) ([]campaign.Hold, error) {
	if err := f.fault(); err != nil {
		return nil, err
	}
	return f.Ledger.Holds(ctx, ended)
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

func (f *faulty) SetState(ctx context.Context, no campaign.RunNo, from []campaign.State, to campaign.State,
	reason campaign.PauseReason, detail string) (bool, error) {
	if err := f.fault(); err != nil {
		return false, err
	}
	return f.Ledger.SetState(ctx, no, from, to, reason, detail)

}

// A call of the ledger fails: the method that made it returns the error of the ledger.
func TestAFaultOfTheLedgerIsReturned(t *testing.T) {
	c := newCluster(t, "STANDARD", 15*time.Second)
	run := c.interrupted("spring", 10)
	folder := t.TempDir()
	makeDue(t, c.campaign(folder, "daily", dailySchedule, 3))
	all, err := schedule.Read(folder)
	if err != nil || len(all) != 1 {
		t.Fatalf("ReadSchedule = %v and %v, want one campaign", all, err)
	}
	cfg := *c.config
	cfg.Campaigns = folder
	open := snapshot{run: run, totals: map[campaign.Status]int64{campaign.Queued: 5}}
	for _, tt := range []struct {
		name  string
		calls int // calls of the ledger that can fail
		do    func(l *faulty, d *Daemon) error
	}{
		{"snapshot", 3, func(_ *faulty, d *Daemon) error { _, err := d.snapshot(t.Context(), run.No); return err }},
		{"waiting", 2, func(_ *faulty, d *Daemon) error {
			_, err := why.Sending(t.Context(), d.ledger, open.run, open.totals, open.held, time.Now())
			return err
		}},
		{"count", 2, func(l *faulty, _ *Daemon) error { return (&Quarantined{}).count(t.Context(), l) }},
		{"due", 6, func(_ *faulty, d *Daemon) error {
			_, _, err := d.schedule.Due(t.Context(), all[0], time.Now())
			return err
		}},
		{"ready", 1, func(_ *faulty, d *Daemon) error { _, err := d.ready(); return err }},
		{"closeFirings", 8, func(l *faulty, d *Daemon) error {
			_, err := schedule.New(schedule.Options{Config: &cfg, Ledger: l, Log: d.log}).CloseFirings(t.Context(), c.runs(), false)
			return err
		}},
	} {
		for n := 1; ; n++ {
			l := &faulty{Ledger: c.ledger, at: n}
			d := c.replica()
			d.ledger = l
			d.schedule = d.newScheduler()
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

// A quarantine writes twice for the run that stands for a firing. If it died in between, it left an
// importing run without a list. The repeated quarantine cancels that run.
func TestARepeatedQuarantineClosesTheFiring(t *testing.T) {
	c := newCluster(t, "STANDARD", 15*time.Second)
	makeDue(t, c.campaign(c.dir, "daily", dailySchedule, 3))
	d := c.replica()
	for _, tt := range []struct {
		at     int
		states []campaign.State
	}{{8, []campaign.State{campaign.Importing}}, {0, []campaign.State{campaign.Cancelled}}, {0, []campaign.State{campaign.Cancelled}}} {
		sc := schedule.New(schedule.Options{Config: c.config, Ledger: &faulty{Ledger: c.ledger, at: tt.at}, Log: d.log})
		_, err := sc.CloseFirings(t.Context(), c.runs(), false)
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

// stuck is a ledger whose runs cannot be read. Run returns fault at once; if fault is nil, it
// returns when ctx ends.
type stuck struct {
	campaign.Ledger
	fault error
	reads int
}

func (s *stuck) Run(ctx context.Context, no campaign.RunNo) (campaign.Run, error) {
	s.reads++
	if s.fault != nil {
		return campaign.Run{}, s.fault
	}
	<-ctx.Done()
	return campaign.Run{No: no}, ctx.Err()
}

// EndCancelled returns no error when its budget is over, because the next sender ends the run.
func TestCancelFailsWithTheLedgerNotWithItsBudget(t *testing.T) {
	c := newCluster(t, "STANDARD", 15*time.Second)
	run := c.interrupted("spring", 10)
	for _, tt := range []struct {
		fault  error
		budget time.Duration
	}{{nil, 30 * time.Millisecond}, {errFault, time.Minute}} {
		l := &stuck{Ledger: c.ledger, fault: tt.fault}
		got, err := endCancelled(t.Context(), l, run.No, time.Second, tt.budget)
		if !errors.Is(err, tt.fault) || got.State.Ended() {
			t.Errorf("EndCancelled = %+v and %v, want it not ended and %v", got, err, tt.fault)
		}
		if l.reads != 1 {
			t.Errorf("EndCancelled with %v read the run %d times, want once: it waits for neither a fault nor a budget", tt.fault, l.reads)
		}
	}
}

func TestAQuarantineThatCannotOpenNamesTheReason(t *testing.T) {
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
		t.Errorf("after the sender: Quarantine = %+v and %v, want nothing done", q, err)
	}
	c.Ledger = "sqlite:" + filepath.Join(t.TempDir(), "none", "c.db")
	if _, err := Quarantine(t.Context(), c, QuarantineOptions{}); err == nil || !strings.Contains(err.Error(), "none/c.db") {
		t.Errorf("a missing folder: Quarantine = %v, want an error with its path", err)
	}
}

// Sending ends when the listener fails, because it would miss statuses and opt-outs.
func TestALostListenerEndsTheSending(t *testing.T) {
	c := newCluster(t, "STANDARD", 15*time.Second)
	run := c.interrupted("spring", 10)
	cfg := openable(t)
	cfg.Ledger, cfg.Service.BaseURL = "sqlite:"+filepath.Join(c.dir, "c.db"), c.config.Service.BaseURL
	d, err := New(t.Context(), cfg, Options{})
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
