package daemon

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"campaignd/campaign"
	"campaignd/campaign/control"
	"campaignd/internal/config"
	"campaignd/internal/ledger"
	"campaignd/internal/ledger/ledgertest"
	"campaignd/internal/ledger/sqlite"
)

// stored makes a run of so many rows over conn_1, ready to be sent.
func stored(t *testing.T, l campaign.Ledger, name string, rows int64) campaign.Run {
	t.Helper()
	source := fmt.Sprintf("name: %s\nconnections: [conn_1]\ntemplate: {name: a, language: en, category: UTILITY}\n", name)
	r, err := l.CreateRun(t.Context(), campaign.Run{Campaign: name, ListHash: name, Definition: []byte(source), Wanted: campaign.WantRun})
	if err == nil {
		err = l.AppendRows(t.Context(), r.No, 0, ledgertest.Rows(0, rows), []campaign.Segment{{Run: r.No, Hi: rows}})
	}
	if err == nil {
		err = l.FinishImport(t.Context(), r.No, rows, campaign.Ready)
	}
	if err == nil {
		r, err = l.Run(t.Context(), r.No)
	}
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// A live forecast counts the places of a tier that are taken already.
func TestAForecastKnowsThePlacesThatAreTaken(t *testing.T) {
	l, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "f.db"), ledger.Options{Sender: true})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	cfg := config.Default()
	cfg.Numbers = map[string]config.Number{"conn_1": {Rate: 1, Tier: 30, Portfolio: "main"}}
	sent := stored(t, l, "sent", 20)
	in := campaign.Intent{Lease: ledgertest.ClaimAll(t, l, sent.No)[0], Connection: "conn_1", To: 20,
		Tier: campaign.Tier{Portfolio: "main", Places: 30}}
	if g, err := l.Intend(t.Context(), []campaign.Intent{in}); err != nil || g[0].To != 20 {
		t.Fatalf("intent: %+v, %v; want 20 rows", g, err)
	}
	run := stored(t, l, "next", 100)
	now := time.Now().UTC()
	o, err := newOutlook(t.Context(), l, cfg, nil, now)
	if err != nil {
		t.Fatal(err)
	}
	i, err := o.addRun(t.Context(), l, run)
	if err != nil {
		t.Fatal(err)
	}
	f := o.Forecast(i)
	if len(f.RunsOut) != 1 || f.RunsOut[0].LimitedBy != campaign.ByTier || f.RunsOut[0].Row != 11 || f.LimitedBy != campaign.ByTier {
		t.Errorf("limited by %s, used up %+v; want the tier at row 11", f.LimitedBy, f.RunsOut)
	}
	// 10 now, and 30 on each of three days: the last of them needs places of the third.
	if days := f.Finish.Sub(now).Hours() / 24; math.Abs(days-3) > 0.01 {
		t.Errorf("done after %.3f days, want 3", days)
	}
}

// A run that cannot be read is left out of the forecasts of others. Rows that a hold sent back are
// among those that are left.
func TestAForecastCountsRowsThatCameBack(t *testing.T) {
	l, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "f.db"), ledger.Options{Sender: true})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	odd, err := l.CreateRun(t.Context(), campaign.Run{Campaign: "odd", ListHash: "odd", Definition: []byte("later: 1"),
		Wanted: campaign.WantRun})
	if err == nil {
		err = l.FinishImport(t.Context(), odd.No, 0, campaign.Ready)
	}
	if err != nil {
		t.Fatal(err)
	}
	cfg := config.Default()
	cfg.Numbers = map[string]config.Number{"conn_1": {Rate: 1}}
	run := stored(t, l, "sent", 100)
	lease := ledgertest.ClaimAll(t, l, run.No)[0]
	g, err := l.Intend(t.Context(), []campaign.Intent{{Lease: lease, Connection: "conn_1", To: 60}})
	if err != nil || g[0].To != 60 {
		t.Fatalf("intent: %+v, %v; want 60 rows", g, err)
	}
	if err := l.Release(t.Context(), lease, []int64{0, 1, 2, 3, 4}); err != nil {
		t.Fatal(err)
	}
	o, err := newOutlook(t.Context(), l, cfg, nil, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	i, err := o.addRun(t.Context(), l, run)
	if err != nil {
		t.Fatal(err)
	}
	if f := o.Forecast(i); f.Messages != 45 || fmt.Sprint(o.Unread) != "["+odd.ID()+"]" {
		t.Errorf("%d messages are left beside the unread runs %v, want 45 and [%s]", f.Messages, o.Unread, odd.ID())
	}
	for deadline, want := range map[time.Duration]string{time.Hour: "", time.Second: "1s after the launch cannot be met"} {
		d := campaign.Duration(deadline)
		changed, err := control.ChangeLimits(t.Context(), l, run, campaign.LimitChange{Deadline: &d}, "")
		if err != nil {
			t.Fatal(err)
		}
		f, err := ForecastRun(t.Context(), l, cfg, nil, changed.Run)
		got := ""
		if !f.DeadlineHolds {
			got = f.Missed(d)
		}
		if err != nil || !strings.HasPrefix(got, want) || got != "" && want == "" {
			t.Errorf("with a deadline of %s: %q, %v; want %q", deadline, got, err, want)
		}
	}
}

// A run is forecast beside the firings of the campaigns folder that use its numbers. Those of other
// numbers, of the run's own campaign, and after its end change nothing.
func TestAForecastKnowsTheFiringsOfTheFolder(t *testing.T) {
	l, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "f.db"), ledger.Options{Sender: true})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	cfg := config.Default()
	cfg.Campaigns = t.TempDir()
	cfg.Numbers = map[string]config.Number{"conn_1": {Rate: 1}, "conn_2": {Rate: 1}}
	run := stored(t, l, "sent", 4000)
	done := func() time.Duration {
		now := time.Now().UTC()
		o, err := newOutlook(t.Context(), l, cfg, nil, now)
		if err != nil {
			t.Fatal(err)
		}
		i, err := o.addRun(t.Context(), l, run)
		if err != nil {
			t.Fatal(err)
		}
		f, err := o.foresee(t.Context(), cfg, i)
		if err != nil {
			t.Fatal(err)
		}
		return f.Finish.Sub(now)
	}
	alone := done()
	var list strings.Builder
	list.WriteString("to\n")
	for i := range 300 {
		fmt.Fprintf(&list, "+234803%07d\n", i)
	}
	write := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(cfg.Campaigns, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("list.csv", list.String())
	at := func(d time.Duration) string { return time.Now().Add(d).UTC().Format("2006-01-02T15:04:05") }
	for _, c := range []struct {
		name, connection, at string
		later                time.Duration
	}{
		{"other", "conn_2", at(10 * time.Minute), 0},
		{"sent", "conn_1", at(10 * time.Minute), 0},
		{"far", "conn_1", at(5 * time.Hour), 0},
		{"due", "conn_1", at(10 * time.Minute), 350 * time.Second},
	} {
		write(c.name+".yaml", fmt.Sprintf("name: %s\nconnections: [%s]\ntemplate: {name: a, language: en, category: UTILITY}\n"+
			"recipients: {file: list.csv}\nschedule: {at: %q, timezone: UTC}\n", c.name, c.connection, c.at))
		got := done() - alone
		if want := c.later.Seconds(); got.Seconds() < 0.9*want-2 || got.Seconds() > 1.1*want+2 {
			t.Errorf("with the firing of %s: got done %s later, want %s", c.name, got, c.later)
		}
	}
}
