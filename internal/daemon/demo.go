package daemon

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"campaignd/internal/config"
	"campaignd/internal/messaging"
	"campaignd/internal/sandbox"
)

// DemoOptions are the options of `campaignd demo`.
type DemoOptions struct {
	// Dir is the folder for the files of the demo. "" makes a temporary one.
	Dir string
	// API is the wire of the sandbox: "" for the service, or sandbox.APICloud.
	API string
	// Files has campaign.yaml and list.csv.
	Files fs.FS
	// Run is for the demo's run. File is ignored.
	Run RunOptions
	// Started, if not nil, is called before anything is sent.
	Started func(Demo)
}

// Demo has the folder of a running demo and the URLs of its sandbox and its webhooks.
type Demo struct {
	Dir, Sandbox, Public string
}

// DemoWorld is a demo between StartDemo and Close: a sandbox of the service on loopback, and a
// daemon that sends to it.
type DemoWorld struct {
	Demo
	Daemon  *Daemon
	Config  *config.Config
	options DemoOptions
	stop    context.CancelFunc
	running sync.WaitGroup
	errs    chan error // of the sandbox, after running
}

// StartDemo copies the demo's files, starts the sandbox and opens the daemon. The caller closes the
// returned demo.
func StartDemo(ctx context.Context, o DemoOptions, d Options) (_ *DemoWorld, err error) {
	if o.Dir == "" {
		if o.Dir, err = os.MkdirTemp("", "campaignd-demo-"); err != nil {
			return nil, fmt.Errorf("demo folder: %w", err)
		}
	}
	if err := os.CopyFS(o.Dir, o.Files); err != nil {
		return nil, fmt.Errorf("demo files: %w", err)
	}
	ctx, stop := context.WithCancel(ctx)
	w := &DemoWorld{Demo: Demo{Dir: o.Dir}, options: o, stop: stop, errs: make(chan error, 2)}
	defer func() {
		if err != nil {
			_ = w.Close()
		}
	}()
	server, err := bind(ctx, "the demo's sandbox", "127.0.0.1:0", nil)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			_ = server.ln.Close()
		}
	}()
	w.Sandbox = server.url()

	w.Config = config.Default()
	w.Config.Listen.Public, w.Config.Listen.Admin = "127.0.0.1:0", "127.0.0.1:0"
	w.Config.Ledger = "sqlite:" + filepath.Join(o.Dir, "campaignd.db")
	if w.Config.Campaigns, err = w.folder(); err != nil {
		return nil, fmt.Errorf("demo files: %w", err)
	}
	if err := w.connect(); err != nil {
		return nil, err
	}
	if w.Daemon, err = New(ctx, w.Config, d); err != nil {
		return nil, err
	}
	w.Public = w.Daemon.PublicURL()

	scene := sandbox.Demo()
	scene.API, scene.WebhookURL, scene.WebhookSecret = o.API, w.Public, sandbox.DemoSecret
	service, err := sandbox.New(scene)
	if err != nil {
		return nil, fmt.Errorf("demo sandbox: %w", err)
	}
	server.srv.Handler, server.srv.ConnContext = service, sandbox.ConnContext
	w.running.Go(func() { w.errs <- service.Run(ctx) })
	w.running.Go(func() { w.errs <- server.serve(ctx, time.Second) })
	if o.Started != nil {
		o.Started(w.Demo)
	}
	return w, nil
}

// folder makes the campaigns folder, with the demo's campaign in it for the console.
func (w *DemoWorld) folder() (string, error) {
	dir := filepath.Join(w.Dir, "campaigns")
	source, err := fs.ReadFile(w.options.Files, "campaign.yaml")
	if err == nil {
		err = os.MkdirAll(dir, 0o700)
	}
	if err != nil {
		return "", err
	}
	return dir, os.WriteFile(filepath.Join(dir, "campaign.yaml"), source, 0o600)
}

// connect configures the connector of the demo. The secrets of the Cloud API are in files of the
// demo's folder.
func (w *DemoWorld) connect() error {
	c := w.Config
	if w.options.API != sandbox.APICloud {
		c.Service.BaseURL, c.Service.APIKey = w.Sandbox, messaging.NewSecret(sandbox.DemoKey)
		c.Webhooks.Secrets = []messaging.Secret{messaging.NewSecret(sandbox.DemoSecret)}
		return nil
	}
	a := config.CloudAccount{ID: sandbox.CloudAccount, AppID: sandbox.CloudApp}
	for _, f := range []struct {
		into       *string
		name, text string
	}{{&a.TokenFile, "token", sandbox.DemoKey}, {&a.AppSecretFile, "app-secret", sandbox.CloudAppSecret},
		{&a.VerifyTokenFile, "verify-token", sandbox.CloudVerifyToken}} {
		*f.into = filepath.Join(w.Dir, f.name)
		if err := os.WriteFile(*f.into, []byte(f.text+"\n"), 0o600); err != nil {
			return fmt.Errorf("demo secrets: %w", err)
		}
	}
	c.Cloud.BaseURL, c.Cloud.Accounts, c.Cloud.Names = w.Sandbox, []config.CloudAccount{a}, map[string]string{}
	for n := range 4 {
		c.Cloud.Names[fmt.Sprintf("conn_%d", n+1)] = sandbox.CloudNumber(n + 1)
	}
	return c.Validate()
}

// connectorYAML is the configuration of the connector, for the demo's configuration file.
func (w *DemoWorld) connectorYAML() string {
	if w.options.API != sandbox.APICloud {
		return "service: {base_url: \"" + w.Sandbox + "\", api_key: " + sandbox.DemoKey + "}\n" +
			"webhooks: {secrets: [" + sandbox.DemoSecret + "]}"
	}
	a := w.Config.Cloud.Accounts[0]
	lines := []string{"cloud:", fmt.Sprintf("  base_url: %q", w.Sandbox), "  names:"}
	for n := range 4 {
		lines = append(lines, fmt.Sprintf("    conn_%d: %q", n+1, sandbox.CloudNumber(n+1)))
	}
	return strings.Join(append(lines, "  accounts:", fmt.Sprintf("    - {id: %q, token_file: %q, app_secret_file: %q, verify_token_file: %q}",
		a.ID, a.TokenFile, a.AppSecretFile, a.VerifyTokenFile)), "\n")
}

// Run sends the demo's campaign and returns when its statuses have settled.
func (w *DemoWorld) Run(ctx context.Context) (RunResult, error) {
	o := w.options.Run
	o.File = filepath.Join(w.Dir, "campaign.yaml")
	return w.Daemon.RunCampaign(ctx, o)
}

// Close closes the daemon, then the sandbox.
func (w *DemoWorld) Close() (err error) {
	if w.Daemon != nil {
		err = w.Daemon.Close()
	}
	w.stop()
	w.running.Wait()
	for range len(w.errs) {
		err = errors.Join(err, <-w.errs)
	}
	return err
}

// WriteConfig writes a configuration beside the demo's files, with which report, audit and the
// other commands read the demo's ledger. It returns the path.
func (w *DemoWorld) WriteConfig() (string, error) {
	path := filepath.Join(w.Dir, "campaignd.yaml")
	text := strings.Join([]string{
		"ledger: " + w.Config.Ledger,
		fmt.Sprintf("campaigns: %q", w.Config.Campaigns),
		w.connectorYAML(), "",
	}, "\n")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		return "", fmt.Errorf("demo configuration: %w", err)
	}
	return path, nil
}
