package daemon

import (
	"context"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"campaignd/campaign"
	"campaignd/campaign/file"
	"campaignd/internal/config"
)

// The demo runs its campaign, writes a configuration for the other commands, and can be kept
// running at its addresses.
func TestTheDemoRunsAndStaysServed(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "demo")
	var started Demo
	w, err := StartDemo(t.Context(), DemoOptions{
		Dir: dir, Run: RunOptions{Settle: 100 * time.Millisecond}, Started: func(d Demo) { started = d },
		Files: fstest.MapFS{
			"campaign.yaml": {Data: []byte(`name: demo
connections: [conn_1]
template: {name: newsletter, language: en_US}
recipients: {file: list.csv, columns: {to: phone}}
`)},
			"list.csv": {Data: []byte("phone\n+2348031200001\n+2348031200002\n0803\n")},
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
			t.Errorf("GET %s after Close: got an answer, want none", w.Sandbox)
		}
	}()
	if started != w.Demo || started.Dir != dir || started.Sandbox == "" || started.Public == "" {
		t.Errorf("Started got %+v, want %+v with the folder %s", started, w.Demo, dir)
	}
	result, err := w.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	rows := result.Report.Rows
	if sent := rows - result.Report.Totals[campaign.Skipped]; rows != 3 || sent != 2 || result.Report.Unresolved() != 0 {
		t.Errorf("%d rows, %d of them sent, %d unsure, want 3, 2 and 0", rows, sent, result.Report.Unresolved())
	}
	file, err := w.WriteConfig()
	if err != nil {
		t.Fatal(err)
	}
	c, err := config.Load(file, true, nil)
	if err != nil {
		t.Fatal(err)
	}
	if ledger := filepath.Join(dir, "campaignd.db"); c.LedgerFile() != ledger || c.Service.BaseURL != w.Sandbox {
		t.Errorf("the configuration names %s and %s, want %s and %s", c.LedgerFile(), c.Service.BaseURL, ledger, w.Sandbox)
	}
	if err := errors.Join(c.CanSend(), c.CanReceive()); err != nil {
		t.Errorf("the configuration: got %v, want a key and a secret", err)
	}
	ctx, stop := context.WithCancel(t.Context())
	served := false
	err = w.Serve(ctx, withAPI, func(public, _ string) {
		served = public == w.Public
		stop()
	})
	if err != nil || !served {
		t.Errorf("Serve = %v, at the same address: %v, want nil and true", err, served)
	}
}

func TestADemoThatCannotContinueNamesTheReason(t *testing.T) {
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
	var file *file.Error
	if _, err := w.Run(t.Context()); !errors.As(err, &file) {
		t.Errorf("Run of a faulty campaign = %v, want a *file.Error", err)
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
		if err := w.Serve(t.Context(), withAPI, started); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("Serve at %s = %v, want an error with %q", tt.public, err, tt.want)
		}
	}
}

func TestADemoIsNotServedWhenItsDaemonCannotClose(t *testing.T) {
	files := fstest.MapFS{"campaign.yaml": {Data: []byte("name: demo\n")}, "list.csv": {Data: []byte("phone\n")}}
	w, err := StartDemo(t.Context(), DemoOptions{Dir: t.TempDir(), Files: files}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	w.Daemon.closers = append(w.Daemon.closers, func() error { return errFault })
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	started := func(string, string) { stop(); t.Error("started is called, want an error before") }
	if err := w.Serve(ctx, withAPI, started); !errors.Is(err, errFault) {
		t.Errorf("Serve = %v, want %v", err, errFault)
	}
}
