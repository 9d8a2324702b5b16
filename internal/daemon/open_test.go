package daemon

import (
	"context"
	"errors"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"campaignd/campaign"
	"campaignd/internal/config"
	"campaignd/internal/messaging"
	"campaignd/internal/sandbox"
)

// inUse returns an address on which another listener listens.
func inUse(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	return l.Addr().String()
}

// openable returns a configuration with which every part opens, in a folder of its own.
func openable(t *testing.T) *config.Config {
	t.Helper()
	c := config.Default()
	c.Ledger = "sqlite:" + filepath.Join(t.TempDir(), "c.db")
	c.Listen = config.Listen{Public: "127.0.0.1:0", Admin: "127.0.0.1:0"}
	c.Service.BaseURL, c.Service.APIKey = "http://127.0.0.1:1", messaging.NewSecret("k")
	c.Webhooks.Secrets = []messaging.Secret{messaging.NewSecret(sandbox.DemoSecret)}
	return c
}

// The error of New names the part that cannot be opened. New closes the parts that it opened
// before: the sender's lock and the ports are free again.
func TestAPartThatCannotBeOpenedLeavesNoneOpen(t *testing.T) {
	taken := inUse(t)
	for _, tt := range []struct {
		name   string
		change func(*config.Config)
		names  string
	}{
		{"the ledger's folder is missing",
			func(c *config.Config) { c.Ledger = "sqlite:" + filepath.Join(t.TempDir(), "none", "c.db") }, "none/c.db"},
		{"the ledger is a folder", func(c *config.Config) { c.Ledger = "sqlite:" + t.TempDir() }, "a folder"},
		{"the ledger's server is away",
			func(c *config.Config) { c.Ledger = "postgres://u:hush@127.0.0.1:1/c?connect_timeout=1" }, "127.0.0.1:1"},
		{"the ledger is of no kind", func(c *config.Config) { c.Ledger = "mysql://h/c" }, "ledger"},
		{"the service's address", func(c *config.Config) { c.Service.BaseURL = "ftp://h" }, "base_url"},
		{"the service's key", func(c *config.Config) { c.Service.APIKey = messaging.NewSecret("a b") }, "api_key"},
		{"no key", func(c *config.Config) { c.Service.APIKey = messaging.Secret{} }, "api_key"},
		{"the address of Redis", func(c *config.Config) { c.Redis = "redis:/:hush@h" }, "redis"},
		{"the signature's form", func(c *config.Config) { c.Webhooks.Signature.Encoding = "base32" }, "webhooks.signature"},
		{"an empty secret",
			func(c *config.Config) { c.Webhooks.Secrets = append(c.Webhooks.Secrets, messaging.Secret{}) }, "webhooks.secrets[1]"},
		{"the folder of the wire log", func(c *config.Config) { c.DataDir = filepath.Join(t.TempDir(), "none") }, "data_dir"},
		{"the interval of the sweep", func(c *config.Config) { c.Webhooks.Sweep = -1 }, "Sweep"},
		{"the public port is taken", func(c *config.Config) { c.Listen.Public = taken }, "listen.public"},
	} {
		c := openable(t)
		tt.change(c)
		d, err := New(t.Context(), c, withAPI)
		if err == nil || d != nil {
			t.Errorf("%s: New = %v and %v, want nil and an error", tt.name, d, err)
			continue
		}
		if got := err.Error(); !strings.Contains(got, tt.names) || strings.Contains(got, "hush") || strings.Contains(got, "\n") {
			t.Errorf("%s: got %q, want one line that names %s and no password", tt.name, got, tt.names)
		}
		if strings.HasSuffix(c.Ledger, "/c.db") && !strings.Contains(c.Ledger, "none") {
			l, err := OpenLedger(t.Context(), c, true, nil)
			if err != nil {
				t.Errorf("%s: the sender's lock: got %v, want it free", tt.name, err)
				continue
			}
			if err := l.Close(); err != nil {
				t.Errorf("%s: Close = %v, want nil", tt.name, err)
			}
		}
	}
}

// An intake opens no limiter and does not take the sender's lock. A sender opens no intake.
func TestARoleOpensItsPartsOnly(t *testing.T) {
	for _, tt := range []struct {
		role                    config.Role
		key                     bool
		secret                  bool
		client, limiter, intake bool
	}{
		{config.RoleAll, true, true, true, true, true}, {config.RoleAll, true, false, true, true, false},
		{config.RoleSender, true, true, true, true, false},
		{config.RoleIntake, true, true, true, false, true}, {config.RoleIntake, false, true, false, false, true},
	} {
		c := openable(t)
		c.Role = tt.role
		if !tt.key {
			c.Service.APIKey = messaging.Secret{}
		}
		if !tt.secret {
			c.Webhooks.Secrets = nil
		}
		d, err := New(t.Context(), c, withAPI)
		if err != nil {
			t.Errorf("%+v: New = %v, want nil", tt, err)
			continue
		}
		client, limiter, intake := d.client != nil, d.limiter != nil, d.intake != nil
		if client != tt.client || limiter != tt.limiter || intake != tt.intake {
			t.Errorf("%s: got client %v, limiter %v, intake %v, want %v, %v, %v", tt.role, client, limiter, intake, tt.client, tt.limiter, tt.intake)
		}
		if url := d.PublicURL(); (url != "") != tt.intake || tt.intake && !strings.HasSuffix(url, c.Webhooks.Path) {
			t.Errorf("%+v: PublicURL = %q, want an address with %s if there is an intake", tt, url, c.Webhooks.Path)
		}
		other, err := OpenLedger(t.Context(), c, true, nil)
		if locked := errors.Is(err, campaign.ErrLocked); locked != (tt.role != config.RoleIntake) {
			t.Errorf("%+v: another sender gets %v, want %v unless this is an intake", tt, err, campaign.ErrLocked)
		}
		if err == nil {
			_ = other.Close()
		}
		for range 2 { // the second closes nothing
			if err := d.Close(); err != nil {
				t.Errorf("%+v: Close = %v, want nil", tt, err)
			}
		}
	}
}

func TestServeNeedsItsAdminPort(t *testing.T) {
	c := openable(t)
	c.Listen.Admin = inUse(t)
	d, err := New(t.Context(), c, withAPI)
	if err != nil {
		t.Fatal(err)
	}
	started := false
	err = d.Serve(t.Context(), func(string, string) { started = true })
	if err == nil || !strings.Contains(err.Error(), "listen.admin") || started {
		t.Errorf("Serve = %v, started %v, want an error that names listen.admin before anything starts", err, started)
	}
	if err := d.Close(); err != nil {
		t.Errorf("Close = %v, want nil", err)
	}
}

// The engine refuses its options: each method that sends returns its error.
func TestASenderWithoutAnEngineEndsAtOnce(t *testing.T) {
	d, err := New(t.Context(), openable(t), withAPI)
	if err != nil {
		t.Fatal(err)
	}
	d.owner = "" // the engine refuses an empty name for its leases
	defer func() {
		if err := d.Close(); err != nil {
			t.Errorf("Close = %v, want nil", err)
		}
	}()
	for name, do := range map[string]func() error{
		"Serve":            func() error { return d.Serve(t.Context(), nil) },
		"sendUntilSettled": func() error { return d.sendUntilSettled(t.Context(), campaign.Run{No: 1}, RunOptions{}) },
	} {
		if err := do(); err == nil || !strings.Contains(err.Error(), "Owner") {
			t.Errorf("%s = %v, want an error that names the Owner", name, err)
		}
	}
}

func TestASandboxThatCannotStartNamesTheReason(t *testing.T) {
	started := func(string) { t.Error("started is called, want an error before") }
	err := ServeSandbox(t.Context(), inUse(t), sandbox.Demo(), started)
	if err == nil || !strings.Contains(err.Error(), "--addr") {
		t.Errorf("a port in use: got %v, want an error that names --addr", err)
	}
	bad := sandbox.Demo()
	bad.WebhookURL = "no url"
	if err := ServeSandbox(t.Context(), "127.0.0.1:0", bad, started); err == nil {
		t.Error("a webhook address that is no URL: got nil, want an error")
	}
}

func TestADemoThatCannotBeStartedLeavesNothing(t *testing.T) {
	files := fstest.MapFS{"campaign.yaml": {Data: []byte("name: demo\n")}, "list.csv": {Data: []byte("phone\n")}}
	full := t.TempDir()
	if err := os.WriteFile(filepath.Join(full, "campaign.yaml"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	ledger := t.TempDir()
	if err := os.Mkdir(filepath.Join(ledger, "campaignd.db"), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name, dir, temporary, want string
		is                         error
	}{
		{"no temporary folder", "", filepath.Join(full, "none"), "demo folder", fs.ErrNotExist},
		{"a folder that holds its files", full, "", "demo files", fs.ErrExist},
		{"a ledger that is a folder", ledger, "", "campaignd.db", nil},
	} {
		t.Setenv("TMPDIR", tt.temporary)
		started := func(Demo) { t.Errorf("%s: started is called, want an error before", tt.name) }
		w, err := StartDemo(t.Context(), DemoOptions{Dir: tt.dir, Files: files, Started: started}, Options{})
		if err == nil || w != nil || !strings.Contains(err.Error(), tt.want) || tt.is != nil && !errors.Is(err, tt.is) {
			t.Errorf("%s: got %v and %v, want nil and an error that names the %s", tt.name, w, err, tt.want)
		}
	}
}

func TestServeWarnsThatNoWebhooksAreTaken(t *testing.T) {
	for role, want := range map[config.Role]int{config.RoleAll: 1, config.RoleSender: 0} {
		c := openable(t)
		c.Role, c.Webhooks.Secrets = role, nil
		log := &notes{}
		d, err := New(t.Context(), c, Options{Log: logTo(log), API: withAPI.API})
		if err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithCancel(t.Context())
		if err := d.Serve(ctx, func(string, string) { stop() }); err != nil {
			t.Errorf("%s: Serve = %v, want nil", role, err)
		}
		stop()
		if err := d.Close(); err != nil {
			t.Errorf("%s: Close = %v, want nil", role, err)
		}
		if got := len(log.lines("no webhooks are taken: webhooks.secrets is empty")); got != want {
			t.Errorf("%s: got %d warnings that no webhooks are taken, want %d", role, got, want)
		}
		if got := len(log.lines("msg=stopped")); got != 1 {
			t.Errorf("%s: got %d lines that it stopped, want 1", role, got)
		}
	}
}
