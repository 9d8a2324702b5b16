package html

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"campaignd/campaign"
	"campaignd/internal/ledger"
	"campaignd/internal/ledger/postgres"
	"campaignd/internal/ledger/sqlite"
	"campaignd/internal/plot"
	"campaignd/reporting"

	"github.com/google/go-cmp/cmp"
)

func minute(n int) time.Time { return nine.Add(time.Duration(n) * time.Minute) }

func TestTheLimitIsThatOfAllNumbers(t *testing.T) {
	point := func(at int, connection, owner string, by campaign.LimitedBy, rate float64) campaign.LanePoint {
		return campaign.LanePoint{At: minute(at), Connection: connection, Owner: owner, LimitedBy: by, Rate: rate}
	}
	limits, stops := course([]campaign.LanePoint{
		point(0, "a", "one", campaign.ByThroughput, 10),
		point(1, "b", "one", campaign.ByShare, 20),
		point(2, "a", "two", campaign.ByThroughput, 10), // the same number, so the same messages
		point(3, "a", "two", campaign.ByHold, 0),
		point(4, "b", "one", campaign.ByWindow, 20),
		point(5, "a", "one", campaign.ByRunRate, 5),
		point(5, "b", "one", campaign.ByRunRate, 5),
		point(6, "a", "one", campaign.ByStopped, 0),
		point(6, "b", "one", campaign.ByStopped, 0),
	})
	limit := func(at int, rate float64, by campaign.LimitedBy) plot.Limit {
		return plot.Limit{At: minute(at), Value: 60 * rate, Why: string(by)}
	}
	if d := cmp.Diff([]plot.Limit{
		limit(0, 10, campaign.ByThroughput), limit(1, 30, campaign.ByShare), limit(3, 20, campaign.ByShare), limit(4, 0, campaign.ByWindow),
		limit(5, 5, campaign.ByRunRate), limit(6, 0, campaign.ByStopped),
	}, limits); d != "" {
		t.Errorf("limits (-want +got):\n%s", d)
	}
	want := []plot.Band{{From: minute(4), To: minute(5), Name: "window closed"}, {From: minute(6), Name: "no sender"}}
	if d := cmp.Diff(want, stops); d != "" {
		t.Errorf("stops (-want +got):\n%s", d)
	}
}

// On a real ledger the report draws what the ledger told while the run was sent.
func TestAReportDrawsTheHistoryOfItsRun(t *testing.T) {
	ctx := t.Context()
	l, err := ledger.Open(ctx, "sqlite:"+filepath.Join(t.TempDir(), "campaignd.db"), ledger.Options{Sender: true}, sqlite.Open, postgres.Open)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	ok := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	run, err := l.CreateRun(ctx, campaign.Run{Campaign: "spring", ListHash: "1", Header: []string{"phone"}, LaunchedBy: "desk"})
	ok(err)
	ok(l.FinishImport(ctx, run.No, 0, campaign.Ready))
	start := time.Now().Add(-5 * time.Minute)
	lane := func(at time.Duration, by campaign.LimitedBy, rate float64) {
		ok(l.ReportLanes(ctx, "one", []campaign.LaneReport{{Run: run.No, Connection: "conn_1", LimitedBy: by, Rate: rate, At: start.Add(at)}}))
	}
	lane(0, campaign.ByThroughput, 10)
	lane(time.Minute, campaign.ByHold, 0)
	lane(3*time.Minute, campaign.ByThroughput, 20)
	if _, err := l.SetState(ctx, run.No, []campaign.State{campaign.Ready}, campaign.Paused, campaign.PausedByBreaker, "131049"); err != nil {
		t.Fatal(err)
	}
	run, err = l.Run(ctx, run.No)
	ok(err)
	r, err := reporting.Build(ctx, l, run)
	ok(err)
	h, err := l.History(ctx, run.No)
	ok(err)
	f, err := Read(ctx, l, run, r, h, false)
	ok(err)
	f.Summary = campaign.Summary{Step: time.Minute, Series: []campaign.SeriesPoint{{At: start, Accepted: 600}}}
	text := string(written(t, f))
	for _, want := range []string{"limit 600 (throughput)", "limit 1\u202f200 (throughput)", ">held<", ">paused<",
		"Launched by desk", "Paused by its breaker: 131049"} {
		if !strings.Contains(text, want) {
			t.Errorf("got a report of %v, %v and %v without %q, want it", f.Limits, f.Stops, f.History, want)
		}
	}
}
