package main

import (
	"context"
	"embed"
	"fmt"
	"io/fs"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"campaignd/campaign"
	"campaignd/internal/command"
	"campaignd/internal/config"
	"campaignd/internal/daemon"
	"campaignd/internal/operator"
	"campaignd/internal/sandbox"
)

//go:embed demo/campaign.yaml demo/list.csv
var demoFiles embed.FS

func (p *program) cmdDemo() *cobra.Command {
	var o daemon.DemoOptions
	var serve, console bool
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "Send a messy list of 2,000 rows to the built-in sandbox and print the report",
		Long: `Starts the sandbox of the messaging service, imports a list with the usual faults, sends it at the full speed of
four numbers, receives the webhooks and prints the report. Nothing leaves this machine. The files stay in a
temporary folder, whose name is printed.`,
		Example: "  campaignd demo\n  campaignd demo --serve\n  campaignd demo --console\n  campaignd demo --api cloud",
		Args:    command.NoArguments,
	}
	cmd.Flags().BoolVar(&serve, "serve", false, "keep everything running afterwards and print the addresses")
	cmd.Flags().BoolVar(&console, "console", false, "as --serve, and open the console in the browser")
	api := cmd.Flags().String("api", "service", "wire of the sandbox: service, or cloud for the platform's own Cloud API")
	cmd.Flags().StringVar(&o.Dir, "dir", "", "folder for its files (default: a new temporary one)")
	cmd.Flags().DurationVar(&o.Run.Settle, "settle", 20*time.Second, "how long to wait for statuses after the last answer")
	out := command.AddOutput(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		outliveReader()
		if o.Run.Settle < 0 {
			return command.Invalid(fmt.Errorf("--settle %s is negative", o.Run.Settle))
		}
		if o.API = *api; o.API != "service" && o.API != sandbox.APICloud {
			return command.Invalid(fmt.Errorf("--api: %q is neither service nor cloud", o.API))
		}
		files, err := fs.Sub(demoFiles, "demo")
		if err != nil {
			return err
		}
		o.Files = files
		return p.demo(cmd.Context(), o, serve || console, console, out.JSON())
	}
	return cmd
}

func (p *program) demo(ctx context.Context, o daemon.DemoOptions, serve, console, json bool) (err error) {
	c := config.Default()
	if p.logLevel != "" {
		c.Log.Level = p.logLevel
	}
	if err := c.Validate(); err != nil {
		return command.Invalid(fmt.Errorf("--log-level: %w", err))
	}
	bar := newProgress(p.Stderr, p.columns())
	log := p.logOn(bar, c, true)
	o.Run.Progress, o.Run.Checked = bar.show, bar.warn
	o.Started = func(d daemon.Demo) {
		fmt.Fprintf(bar, "sandbox of the messaging service on %s; files in %s\n", d.Sandbox, d.Dir)
	}
	world, err := daemon.StartDemo(ctx, o, daemon.Options{Log: log})
	if err != nil {
		bar.close()
		return err
	}
	defer command.Closing(world, &err)
	result, err := world.Run(ctx)
	bar.close()
	if err != nil {
		return err
	}
	config, err := world.WriteConfig()
	if err != nil {
		return err
	}
	ended := p.finish(ctx, result, "the same command", json)
	fmt.Fprintf(p.Stderr, `
look closer: campaignd report latest --format csv --config %s
             campaignd audit latest --config %[1]s
             less %s
`, config, filepath.Join(world.Dir, "list.csv"))
	if serve && ctx.Err() == nil {
		return world.Serve(ctx, daemon.Options{Log: log, API: operatorsAPI, Console: pages(world.Config)}, func(public, admin string) {
			fmt.Fprintf(p.Stderr, "still running until Ctrl-C: sandbox %s, webhooks %s, console %s/console/\n", world.Sandbox, public, admin)
			if console {
				if err := p.openDemo(ctx, world, admin); err != nil {
					fmt.Fprintf(p.Stderr, "the console does not open: %v\n", err)
				}
			}
		})
	}
	return ended
}

// openDemo opens the console of the demo, and makes a second key, with which a second person
// approves what the first one launched.
func (p *program) openDemo(ctx context.Context, world *daemon.DemoWorld, admin string) (err error) {
	l, err := daemon.OpenLedger(ctx, world.Config, false, nil)
	if err != nil {
		return err
	}
	defer command.Leaving(l, p.Stderr)
	d := &operator.Session{Ledger: l, By: operator.LocalUser()}
	k, err := d.CreateKey(ctx, "second person", string(campaign.KeyOperate), "", "")
	if err != nil {
		return err
	}
	fmt.Fprintf(p.Stderr, "a second person signs in with the key %s\n", k.Secret)
	return p.openConsole(ctx, d, admin, false)
}
