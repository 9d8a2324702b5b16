package launch_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"campaignd/campaign"
	"campaignd/campaign/control"
	"campaignd/campaign/launch"
	"campaignd/recipients"
)

// thousandSent imports 1,000 rows, and sends and delivers all of them.
func thousandSent(t *testing.T, l campaign.Ledger) campaign.Run {
	t.Helper()
	path := writeFile(t, "stops.csv", canaryList(1000))
	d := parse(t, minimal+"recipients: {validate: none}\n")
	run := newRun(t, l, d, path)
	if _, err := launch.Import(t.Context(), launch.ImportInput{Ledger: l, Run: run, Definition: d, List: path}); err != nil {
		t.Fatal(err)
	}
	if err := l.FinishImport(t.Context(), run.No, 1000, campaign.Ready); err != nil {
		t.Fatal(err)
	}
	sendCanary(t, l, run, 0)
	var delivered []campaign.StatusEvent
	for seq := range int64(1000) {
		delivered = append(delivered, campaign.StatusEvent{MessageID: fmt.Sprintf("wamid.%d.%d", run.No, seq), Connection: "conn_1",
			Status: campaign.Delivered, At: time.Now(), ReceivedAt: time.Now()})
	}
	if _, err := l.Apply(t.Context(), campaign.Events{Statuses: delivered}); err != nil {
		t.Fatal(err)
	}
	run, err := l.Run(t.Context(), run.No)
	if err != nil {
		t.Fatal(err)
	}
	return run
}

// A run whose recipients opt out is paused once: not below 50 opt-outs, not at the share that is
// allowed, and not again after an operator resumed it.
func TestManyOptOutsPauseARunOnce(t *testing.T) {
	l := openLedger(t)
	count := 0
	optOut := func(n int) {
		t.Helper()
		var stops []campaign.Suppression
		for ; count < n; count++ {
			to := fmt.Sprintf("+234803%07d", count)
			stops = append(stops, campaign.NewSuppression(recipients.Key(to), to, campaign.ScopeMarketing, "stop", time.Now().Add(time.Second)))
		}
		if _, err := l.Suppress(t.Context(), stops); err != nil {
			t.Fatal(err)
		}
	}
	run := thousandSent(t, l)
	var delivered int64
	judge := func(most float64) launch.OptOutVerdict {
		t.Helper()
		v, err := launch.CheckOptOuts(t.Context(), l, run, most, delivered, "a")
		if err != nil {
			t.Fatal(err)
		}
		delivered = v.Delivered
		return v
	}
	for _, c := range []struct {
		optOuts int
		most    float64
		counted bool
	}{
		{49, 0.01, false}, {49, 0, false}, {50, 0, false}, {50, 0.05, true}, {50, 0.05, false}, {100, 0.10, false},
	} {
		optOut(c.optOuts)
		if v := judge(c.most); v.Paused || v.Counted != c.counted {
			t.Errorf("%d opt-outs of 1000, at most %g: got %+v, want it not paused, counted %v", c.optOuts, c.most, v, c.counted)
		}
	}
	if delivered != 1000 {
		t.Errorf("got %d delivered, want 1000", delivered)
	}
	optOut(101)
	v := judge(0.10)
	if want := "101 of the 1000 recipients to whom it delivered since "; !v.Paused || !strings.HasPrefix(v.Sentence, want) {
		t.Fatalf("got %+v, want a pause that says %q", v, want)
	}
	run, err := l.Run(t.Context(), run.No)
	if err != nil || run.State != campaign.Paused || run.Reason != campaign.PausedByBreaker || run.Detail != v.Sentence {
		t.Fatalf("got %+v, %v; want it paused by the breaker with that sentence", run, err)
	}
	resumed, err := control.Resume(t.Context(), l, run, "")
	if err != nil {
		t.Fatal(err)
	}
	run = resumed.Run
	optOut(200)
	if v := judge(0.10); v.Paused {
		t.Errorf("after resume: got %+v, want no second pause", v)
	}
}

// An opt-out from one company counts where the run sends for that company: the configured one of a
// connection, else the one that the service tells.
func TestPreflightCountsOptOutsOfConfiguredCompanies(t *testing.T) {
	l := openLedger(t)
	stop := func(to, company string) campaign.Suppression {
		s := campaign.NewSuppression(recipients.Key(to), to, campaign.ScopeMarketing, "stop", time.Now())
		s.Company = company
		return s
	}
	if _, err := l.Suppress(t.Context(), []campaign.Suppression{
		stop("+2348031234501", "co_own"), stop("+2348031234502", "co_of_conn_1"), stop("+33612345678", "co_of_conn_2"),
	}); err != nil {
		t.Fatal(err)
	}
	own := func(connection string) string { return map[string]string{"conn_1": "co_own"}[connection] }
	for _, c := range []struct {
		name    string
		company func(string) string
		want    int64
	}{{"configured", own, 2}, {"told", nil, 2}, {"none configured", func(string) string { return "" }, 2}} {
		in := springInput(t, springFile, springList)
		in.Service, in.Suppressions, in.Company = &clients{account: service()}, l, c.company
		p := preflight(t, in)
		at := map[string]bool{}
		for _, e := range p.Examples {
			at[e.To] = at[e.To] || e.Reason == campaign.OptedOut
		}
		own := c.name == "configured"
		if p.Skipped[campaign.OptedOut] != c.want || at["+2348031234501"] != own || at["+2348031234502"] == own {
			t.Errorf("%s: skipped %v, with %v; want %d opted out", c.name, p.Skipped, p.Examples, c.want)
		}
	}
}

// Opt-outs from between the launch and the start of a run say nothing of its messages.
func TestOptOutsCountFromTheStart(t *testing.T) {
	l := openLedger(t)
	run, now := thousandSent(t, l), time.Now()
	run.CreatedAt, run.StartedAt = now.Add(-3*time.Hour), now.Add(-time.Hour)
	var stops []campaign.Suppression
	for i := range 100 { // of its recipients before its start, and of others since
		for n, at := range map[int]time.Time{i: now.Add(-2 * time.Hour), 1_000_000 + i: now} {
			to := fmt.Sprintf("+234803%07d", n)
			stops = append(stops, campaign.NewSuppression(recipients.Key(to), to, campaign.ScopeMarketing, "stop", at))
		}
	}
	if _, err := l.Suppress(t.Context(), stops); err != nil {
		t.Fatal(err)
	}
	v, err := launch.CheckOptOuts(t.Context(), l, run, 0.05, 1000, "a")
	if err != nil || !v.Counted || v.Paused {
		t.Errorf("got %+v, %v; want it counted and not paused", v, err)
	}
}
