package daemon

import (
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"campaignd/campaign"
	"campaignd/internal/ledger"
	"campaignd/internal/ledger/sqlite"
	"campaignd/internal/messaging"
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
	cfg := DefaultConfig()
	cfg.Service.BaseURL, cfg.Service.APIKey = service.URL, messaging.NewSecret("k")
	run := stored(t, l, "polled", 100)
	known := newDirectory(cfg)
	known.asked = true
	f, err := forecastRun(t.Context(), l, cfg, known, run)
	if err != nil || f.Messages != 100 || asked.Load() != 0 {
		t.Errorf("beside a serve: got %d messages, %v and %d calls, want 100 and none", f.Messages, err, asked.Load())
	}
	def, err := campaign.ParseStored(run.ID(), run.Definition)
	if err != nil {
		t.Fatal(err)
	}
	checked := &campaign.Preflight{Rows: 10, Sendable: 10, Zones: map[string]int64{"": 10}}
	err = checkForecast(t.Context(), cfg, l, known, def, checked, time.Now())
	if err != nil || checked.Seconds <= 0 || asked.Load() != 0 {
		t.Errorf("a check beside a serve: got %v s, %v and %d calls, want some seconds and no call", checked.Seconds, err, asked.Load())
	}
	if f, err = ForecastRun(t.Context(), l, cfg, run); err != nil || f.Messages != 100 || asked.Load() == 0 {
		t.Errorf("alone: got %d messages, %v and %d calls, want 100 and one call or more", f.Messages, err, asked.Load())
	}
}
