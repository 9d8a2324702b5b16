package daemon

import (
	"context"
	"net/http"
	"path/filepath"
	"testing"
	"testing/fstest"
	"time"

	"campaignd/campaign"
)

// The demo runs its campaign, leaves a configuration for the other commands, and can be kept running at its addresses.
func TestTheDemoRunsAndStaysServed(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "demo")
	var said Demo
	w, err := StartDemo(t.Context(), DemoOptions{
		Dir: dir, Run: RunOptions{Settle: 100 * time.Millisecond}, Started: func(d Demo) { said = d },
		Files: fstest.MapFS{
			"campaign.yaml": {Data: []byte("name: demo\nconnections: [conn_1]\ntemplate: {name: newsletter, language: en_US}\nrecipients: {file: list.csv, columns: {to: phone}}\n")},
			"list.csv":      {Data: []byte("phone\n+2348031200001\n+2348031200002\n0803\n")},
		},
	}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := w.Close(); err != nil {
			t.Errorf("Close = %v, want nil", err)
		}
		if _, err := http.Get(w.Sandbox); err == nil {
			t.Errorf("GET %s is answered, want the sandbox ended", w.Sandbox)
		}
	}()
	if said != w.Demo || said.Dir != dir || said.Sandbox == "" || said.Public == "" {
		t.Errorf("started with %+v, want %+v", said, w.Demo)
	}
	result, err := w.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if sent := result.Report.Rows - result.Report.Totals[campaign.Skipped]; result.Report.Rows != 3 || sent != 2 || result.Unsure() != 0 {
		t.Errorf("%d rows, %d of them sent, %d unsure, want 3, 2 and 0", result.Report.Rows, sent, result.Unsure())
	}
	file, err := w.WriteConfig()
	if err != nil {
		t.Fatal(err)
	}
	c, err := LoadConfig(file, true, noEnv)
	if err != nil {
		t.Fatal(err)
	}
	if c.LedgerFile() != filepath.Join(dir, "campaignd.db") || c.Service.BaseURL != w.Sandbox || c.CanSend() != nil || c.CanReceive() != nil {
		t.Errorf("the configuration names %s and %s, want those of the demo, with key and secret", c.Ledger, c.Service.BaseURL)
	}
	ctx, stop := context.WithCancel(t.Context())
	served := false
	err = w.Serve(ctx, Options{}, func(public, _ string) {
		served = public == w.Public
		stop()
	})
	if err != nil || !served {
		t.Errorf("Serve = %v, at the same address: %v, want nil and true", err, served)
	}
}
