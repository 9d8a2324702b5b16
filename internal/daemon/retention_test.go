package daemon

import (
	"context"
	"log/slog"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"campaignd/campaign"
	"campaignd/internal/config"
	"campaignd/internal/ledger"
	"campaignd/internal/ledger/sqlite"
)

func TestServeDeletesOldDeliveriesAndKeepsTotals(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithCancel(t.Context())
		l, err := sqlite.Open(ctx, filepath.Join(t.TempDir(), "test.db"), ledger.Options{})
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		run, err := l.CreateRun(ctx, campaign.Run{Campaign: "spring", ListHash: "h", Header: []string{"to"}, Wanted: campaign.WantRun})
		rows := []campaign.Delivery{{Seq: 0, Row: 1, Skip: campaign.InvalidPhone}, {Seq: 1, Row: 2, Skip: campaign.InvalidPhone}}
		if err == nil {
			err = l.AppendRows(ctx, run.No, 0, rows, []campaign.Segment{{Run: run.No, Hi: 2, Closed: true}})
		}
		if err == nil {
			err = l.FinishImport(ctx, run.No, 2, campaign.Ready)
		}
		if err == nil {
			_, err = l.FinishRuns(ctx)
		}
		if err != nil {
			t.Fatal(err)
		}
		var log strings.Builder
		cfg := config.Default()
		cfg.Retention.Deliveries = campaign.Duration(90 * 24 * time.Hour)
		d := &Daemon{cfg: cfg, ledger: l, owner: "a", log: slog.New(slog.NewTextHandler(&log, nil))}
		time.Sleep(90*24*time.Hour - 90*time.Minute)
		ended := make(chan struct{})
		go func() { d.retain(ctx); close(ended) }()
		for _, want := range []int64{0, 2} { // half an hour before the time, and an hour after
			time.Sleep(time.Hour)
			if r, err := l.Run(ctx, run.No); err != nil || r.Retired.Rows != want {
				t.Errorf("%s after the end: %d rows deleted, %v; want %d", time.Since(run.CreatedAt), r.Retired.Rows, err, want)
			}
			time.Sleep(time.Hour)
		}
		stop()
		<-ended
		if want := "rows=2"; !strings.Contains(log.String(), want) || strings.Count(log.String(), "\n") != 1 {
			t.Errorf("the log says %q; want one line with %s", log.String(), want)
		}
		tallies, _, err := l.Tallies(t.Context(), run.No)
		if err != nil || len(tallies) != 1 || tallies[0].N != 2 || tallies[0].Reason != string(campaign.InvalidPhone) {
			t.Errorf("totals afterwards: %v, %v; want 2 skipped for invalid_phone", tallies, err)
		}
	})
}
