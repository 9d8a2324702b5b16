package daemon

import (
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"campaignd/campaign"
	"campaignd/campaign/file"
	"campaignd/campaign/launch"
	"campaignd/internal/config"
	"campaignd/internal/ledger"
	"campaignd/internal/ledger/sqlite"
	"campaignd/internal/messaging"
	"campaignd/internal/numbers"
	"campaignd/internal/numbers/numberstest"
)

// A forecast that is asked for again and again does not use up the calls that the service allows.
func TestAForecastOfAServeAsksTheServiceNothing(t *testing.T) {
	l, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "f.db"), ledger.Options{Sender: true})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	var asked atomic.Int64
	service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		asked.Add(1)
		w.WriteHeader(http.StatusNotFound)
	}))
	defer service.Close()
	cfg := config.Default()
	cfg.Service.BaseURL, cfg.Service.APIKey = service.URL, messaging.NewSecret("k")
	run := stored(t, l, "polled", 100)
	known := numbers.NewQuotas(cfg, numbers.NewDirectory(cfg), l, slog.New(slog.DiscardHandler))
	numberstest.Tell(t, known.Directory, nil)
	f, err := ForecastRun(t.Context(), l, cfg, known, run)
	if err != nil || f.Messages != 100 || asked.Load() != 0 {
		t.Errorf("beside a serve: got %d messages, %v and %d calls, want 100 and none", f.Messages, err, asked.Load())
	}
	def, err := file.ParseStored(run.ID(), run.Definition)
	if err != nil {
		t.Fatal(err)
	}
	checked := &launch.Preflight{Rows: 10, Sendable: 10, Zones: map[string]int64{"": 10}}
	err = checkForecast(t.Context(), cfg, l, known, def, checked, true, time.Now())
	if err != nil || checked.Seconds <= 0 || asked.Load() != 0 {
		t.Errorf("a check beside a serve: got %v s, %v and %d calls, want some seconds and no call", checked.Seconds, err, asked.Load())
	}
	if f, err = ForecastRun(t.Context(), l, cfg, nil, run); err != nil || f.Messages != 100 || asked.Load() == 0 {
		t.Errorf("alone: got %d messages, %v and %d calls, want 100 and one call or more", f.Messages, err, asked.Load())
	}
}

// A hold that ends by itself is taken to end at its time, and the forecast says so.
func TestAForecastSaysThatAHoldIsTakenToEnd(t *testing.T) {
	l, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "f.db"), ledger.Options{Sender: true})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	cfg := config.Default()
	cfg.Numbers = map[string]config.Number{"conn_1": {Rate: 1}}
	run, now := stored(t, l, "held", 100), time.Now().UTC().Truncate(time.Second)
	for reason, c := range map[string]struct {
		until time.Time
		note  string
	}{
		"130429": {now.Add(5 * time.Minute),
			"as if the hold on connection conn_1 (130429) ended at " + now.Add(5*time.Minute).Format(time.RFC3339)},
		"131031": {note: ""},
	} {
		h := campaign.Hold{Scope: campaign.HoldConnection, ID: "conn_1", Reason: reason, Source: campaign.HoldByRefusal, Since: now,
			Latest: now, Until: c.until, Count: 1}
		if _, err := l.AddHolds(t.Context(), []campaign.Hold{h}); err != nil {
			t.Fatal(err)
		}
		f, err := ForecastRun(t.Context(), l, cfg, nil, run)
		if err != nil || f.Note != c.note || f.Never != c.until.IsZero() {
			t.Errorf("held by %s: note %q, never %t, %v; want %q", reason, f.Note, f.Never, err, c.note)
		}
		lift := campaign.Lift{Scope: h.Scope, ID: h.ID, Reason: reason, At: time.Now(), By: campaign.HoldByOperator}
		if _, err := l.LiftHolds(t.Context(), []campaign.Lift{lift}); err != nil {
			t.Fatal(err)
		}
	}
}
