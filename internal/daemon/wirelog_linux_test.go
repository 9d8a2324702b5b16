package daemon

import (
	"context"
	"errors"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"campaignd/campaign"
	"campaignd/internal/config"
	"campaignd/internal/ledger"
	"campaignd/internal/ledger/ledgertest"
	"campaignd/internal/ledger/sqlite"
	"campaignd/internal/wirelog"
)

// killed leaves a ledger of ten deliveries, of which a process that is dead was granted five, and
// its wire log with these posts.
func killed(t *testing.T, cfg *config.Config, posts ...int64) campaign.Run {
	t.Helper()
	l, err := sqlite.Open(t.Context(), cfg.LedgerFile(), ledger.Options{Sender: true})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	r := ledgertest.Load(t, l, 10)
	s, err := l.Claim(t.Context(), campaign.Claim{Owner: "dead", Connection: "conn_1", Runs: []campaign.RunNo{r.No}, Max: 1, Lease: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := l.Intend(t.Context(), []campaign.Intent{{Lease: s[0], Connection: "conn_1", To: 5}}); err != nil {
		t.Fatal(err)
	}
	dir, name := cfg.WireLog()
	w, err := wirelog.Open(wirelog.Options{Dir: dir, Name: name, Ledger: l.LedgerID(), Owner: "dead"})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	for _, seq := range posts {
		if _, err := w.Note(campaign.Post{Run: r.No, Seq: seq, Attempt: 1}, s[0].Epoch); err != nil {
			t.Fatal(err)
		}
	}
	return r
}

// wireLogs counts the wire logs of a configuration.
func wireLogs(t *testing.T, cfg *config.Config) int {
	t.Helper()
	dir, name := cfg.WireLog()
	all, err := filepath.Glob(filepath.Join(dir, name+".wire-*"))
	if err != nil {
		t.Fatal(err)
	}
	return len(all)
}

func TestAStartStatesWhatWasNotPosted(t *testing.T) {
	for _, dir := range []string{"", t.TempDir()} {
		cfg := openable(t)
		cfg.DataDir = dir
		r := killed(t, cfg, 1, 3)
		d, err := Open(t.Context(), cfg, Options{})
		if err != nil {
			t.Fatal(err)
		}
		got := ledgertest.Totals(t, d.ledger, r.No)
		if got[campaign.InDoubt] != 2 || got[campaign.Queued] != 8 {
			t.Errorf("got %v, want 2 in doubt and 8 queued", got)
		}
		if n := wireLogs(t, cfg); n != 1 {
			t.Errorf("got %d wire logs, want 1: that of the new process", n)
		}
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	}
}

func TestAPostWithoutAnIntentStopsTheStart(t *testing.T) {
	cfg := openable(t)
	r := killed(t, cfg, 1, 7) // the intent of 7 is lost: an older copy of the ledger
	d, err := New(t.Context(), cfg, Options{})
	if d != nil || !errors.Is(err, ledger.ErrRestored) {
		t.Fatalf("New = %v, %v; want nil and %v", d, err, ledger.ErrRestored)
	}
	l, err := OpenLedger(t.Context(), cfg, true, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if got := ledgertest.Totals(t, l, r.No); got[campaign.Queued] != 5 {
		t.Errorf("got %v, want 5 queued as before", got)
	}
}

// away is a ledger that takes no statement for a while.
type away struct {
	campaign.Ledger
	until time.Time
	err   error // afterwards
	told  int
}

func (l *away) LedgerID() string { return "ledger" }

func (l *away) Unposted(context.Context, campaign.WireLog) (int, error) {
	if l.told++; time.Now().Before(l.until) {
		return 0, errFault
	}
	return 0, l.err
}

func TestAStatementIsRepeatedUntilItIsTaken(t *testing.T) {
	for _, want := range []error{nil, ledger.ErrRestored} {
		cfg := openable(t)
		killed(t, cfg)
		dir, name := cfg.WireLog()
		w, err := wirelog.Open(wirelog.Options{Dir: dir, Name: name, Ledger: "ledger", Owner: "dead too"})
		if err != nil {
			t.Fatal(err)
		}
		w.Close()
		synctest.Test(t, func(t *testing.T) {
			l := &away{until: time.Now().Add(5 * time.Second), err: want}
			d, err := Open(t.Context(), cfg, Options{})
			if err != nil {
				t.Fatal(err)
			}
			if err := d.Close(); err != nil {
				t.Fatal(err)
			}
			d.ledger = l
			if err := d.openWire(t.Context()); err != nil {
				t.Fatalf("opening: %v, want no error: it is tried again", err)
			}
			began := time.Now()
			if err := d.restate(t.Context()); !errors.Is(err, want) {
				t.Errorf("restate = %v, want %v", err, want)
			}
			if took := time.Since(began); took != 6*time.Second || l.told != 4 {
				t.Errorf("asked %d times within %v, want 4 within 6s", l.told, took)
			}
			if err := d.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}

// The wire log of a killed process is the only sign that a ledger lost a run, whose number the run
// that stands for a lost firing gets.
func TestTheQuarantineHeedsTheWireLog(t *testing.T) {
	c := newCluster(t, "STANDARD", 15*time.Second)
	cfg := *c.config
	cfg.Ledger, cfg.Campaigns = "sqlite:"+filepath.Join(t.TempDir(), "l.db"), c.dir
	d, err := Open(t.Context(), &cfg, Options{})
	if err != nil {
		t.Fatal(err)
	}
	// It posts row 24 of run 1, which the ledger loses.
	if _, err := d.wire.Note(campaign.Post{Run: 1, Seq: 24, Attempt: 1}, 1); err != nil {
		t.Fatal(err)
	}
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	makeDue(t, c.campaign(c.dir, "spring", dailySchedule, 10))
	opens := func(what string, want error) {
		t.Helper()
		d, err := Open(t.Context(), &cfg, Options{})
		if !errors.Is(err, want) {
			t.Fatalf("%s: got %v, want %v", what, err, want)
		}
		if err == nil {
			err = d.Close()
		}
		if want == nil && err != nil {
			t.Fatal(err)
		}
	}
	opens("a start", ledger.ErrRestored)
	for _, dry := range []bool{true, false} {
		q, err := Quarantine(t.Context(), &cfg, QuarantineOptions{Lost: time.Minute, Ahead: -1, DryRun: dry})
		if err != nil || !q.WentBack || q.Done == dry || len(q.Firings) != 1 {
			t.Errorf("quarantine, dry run %v: got %+v and %v, want that it went back, and one firing closed", dry, q, err)
		}
	}
	opens("a start after the quarantine", nil)
	if q, err := Quarantine(t.Context(), &cfg, QuarantineOptions{Lost: time.Minute, Ahead: -1}); err != nil || q.WentBack {
		t.Errorf("a second quarantine: got %+v and %v, want nothing to do", q, err)
	}
}
