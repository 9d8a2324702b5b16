package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"path/filepath"

	"github.com/spf13/cobra"

	"campaignd/campaign"
	"campaignd/internal/command"
	"campaignd/internal/config"
	"campaignd/internal/daemon"
	"campaignd/internal/ledger/backend"
)

// program is one invocation with the flags that every command has.
type program struct {
	command.Program
	// config is --config.
	config string
	// logLevel is --log-level. "" means the configured level, and at least warn for commands that
	// show progress.
	logLevel string
	// started is set once flags and arguments are accepted. Errors before that are wrong usage.
	started bool
	// configGiven reports whether --config was given.
	configGiven func() bool
}

// run is the whole program, shared by main and the tests: it parses args, runs one command and
// returns the exit code. ctx ends when the operator asks for an end. environment holds the
// variables by name.
func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer, environment map[string]string) int {
	out := &command.ResultWriter{Writer: stdout}
	p := &program{Program: command.Program{Stdin: stdin, Stdout: out, Stderr: stderr, Environment: environment}}
	p.Local = func(ctx context.Context, why command.Purpose, do func(command.Operations) error) error {
		return p.withLedgerSession(ctx, why, func(d *local) error { return do(d) })
	}
	root := p.root()
	root.SetArgs(args)
	err := root.ExecuteContext(ctx)
	if err != nil && !p.started {
		err = command.Invalid(err)
	}
	if _, quiet := command.Classify(ctx, err); out.Err != nil && quiet {
		err = out.Err
	}
	return command.Conclude(ctx, err, stderr, command.IsTerminal(stderr))
}

func (p *program) root() *cobra.Command {
	root := &cobra.Command{
		Use:   "campaignd",
		Short: "Send approved template messages to a list, and account for every row of it",
		Long: `campaignd runs bulk campaigns of approved template messages. A list goes in as CSV; every row comes out
with an outcome. It survives kill -9 without sending twice, and says at any moment what it is waiting for.

Without configuration it keeps its ledger in ./campaignd.db and sends to the sandbox (campaignd sandbox).`,
		Example: `  campaignd demo
  campaignd check spring.yaml --recipients list.csv
  campaignd run spring.yaml --recipients list.csv
  campaignd report latest --format csv > report.csv`,
		Version:       versionNow().String(),
		SilenceUsage:  true,
		SilenceErrors: true,
		Args:          command.NoSubcommand,
		RunE:          command.Help,
		PersistentPreRunE: func(cmd *cobra.Command, _ []string) error {
			p.started = true
			return p.sayLocal(cmd)
		},
	}
	root.SetIn(p.Stdin)
	root.SetOut(p.Stdout)
	root.SetErr(p.Stderr)
	flags := root.PersistentFlags()
	flags.StringVar(&p.config, "config", config.DefaultFile, "configuration file; optional unless named here")
	flags.StringVar(&p.logLevel, "log-level", "", "debug, info, warn or error (default: from the configuration)")
	p.configGiven = func() bool { return flags.Changed("config") }
	root.SetFlagErrorFunc(command.WrongFlag)
	root.SetVersionTemplate("{{ .Version }}\n")

	root.AddGroup(
		&cobra.Group{ID: "send", Title: "Sending:"},
		&cobra.Group{ID: "look", Title: "Looking:"},
		&cobra.Group{ID: "control", Title: "Controlling runs:"},
		&cobra.Group{ID: "setup", Title: "Setting up:"})
	root.SetHelpCommandGroupID("setup")
	root.SetCompletionCommandGroupID("setup")
	group := func(id string, commands ...*cobra.Command) {
		for _, c := range commands {
			c.GroupID = id
			root.AddCommand(c)
		}
	}
	group("send", p.cmdRun(), p.cmdServe(), p.cmdLaunch(), p.cmdDemo(), p.cmdCheck(), p.cmdPreview(), p.cmdTest())
	group("look", p.Runs(), p.Report(), p.Audit(), p.Why(), p.History(), p.cmdForecast(), p.cmdSchedule(), p.Actions(),
		p.Drops(), p.Notifications())
	suppressions := p.Suppressions()
	suppressions.AddCommand(p.cmdSuppressionsSync())
	group("control", p.Pause(), p.Resume(), p.Limits(), p.Cancel(), p.Approve(), p.Resolve(), p.FollowUp(), p.Holds(),
		suppressions, p.Person(), p.Erase())
	group("setup", p.cmdInit(), p.cmdConsole(), p.Keys(), p.cmdWebhooks(), p.cmdTemplates(), p.cmdMedia(), p.cmdCommerce(), p.cmdSandbox(),
		p.cmdDoctor(), p.cmdBackup(), p.cmdLedger(), p.cmdConfig(), p.cmdVersion())
	p.Complete(root)
	p.logCommands(root)
	columns := command.HelpWidth
	if w := command.Width(p.Stdout); w > 0 {
		columns = min(max(w, 40), command.HelpWidth)
	}
	command.FitHelp(root, columns)
	root.InitDefaultCompletionCmd()
	for _, c := range root.Commands() {
		if c.Name() == "completion" {
			c.Args, c.RunE = command.NoSubcommand, command.Help
			for _, shell := range c.Commands() {
				shell.Example = command.LoadCompletion[shell.Name()]
			}
		}
	}
	return root
}

// load reads the configuration. The flags override it.
func (p *program) load() (*config.Config, error) {
	c, err := config.Load(p.config, p.configGiven(), p.Environment)
	if err != nil {
		return nil, command.Invalid(err)
	}
	if p.logLevel != "" {
		c.Log.Level = p.logLevel
		if err := c.Validate(); err != nil {
			return nil, command.Invalid(fmt.Errorf("--log-level: %w", err))
		}
	}
	return c, nil
}

// log makes the logger of a command on standard error. A quiet command shows its progress there, so
// it logs only warnings and errors unless --log-level is given.
func (p *program) log(c *config.Config, quiet bool) *slog.Logger { return p.logOn(p.Stderr, c, quiet) }

func (p *program) logOn(w io.Writer, c *config.Config, quiet bool) *slog.Logger {
	var level slog.Level
	_ = level.UnmarshalText([]byte(c.Log.Level)) // validated with the configuration
	if quiet && p.logLevel == "" {
		level = max(level, slog.LevelWarn)
	}
	o := &slog.HandlerOptions{Level: level}
	if c.Log.Format == "json" {
		o.ReplaceAttr = inSeconds
		return slog.New(slog.NewJSONHandler(w, o))
	}
	return slog.New(slog.NewTextHandler(w, o))
}

// inSeconds writes a duration as a number of seconds, and says so in its key: JSON has no unit.
func inSeconds(_ []string, a slog.Attr) slog.Attr {
	if a.Value.Kind() == slog.KindDuration {
		return slog.Float64(a.Key+"_seconds", a.Value.Duration().Seconds())
	}
	return a
}

// openLedger opens the ledger beside a running sender.
func (p *program) openLedger(ctx context.Context, why command.Purpose) (campaign.Ledger, *config.Config, error) {
	c, err := p.load()
	if err != nil {
		return nil, nil, err
	}
	if why != command.ToCreate {
		if err := ledgerExists(c); err != nil {
			return nil, nil, err
		}
	}
	var l campaign.Ledger
	if why == command.ToRead {
		l, err = backend.Read(ctx, c, p.log(c, true))
	} else {
		l, err = daemon.OpenLedger(ctx, c, false, p.log(c, true))
	}
	if err != nil {
		return nil, nil, err
	}
	return l, c, nil
}

// ledgerExists returns an error when the file of the ledger does not exist.
func ledgerExists(c *config.Config) error {
	if !c.NoLedger() {
		return nil
	}
	if err := backend.Lost(c); err != nil {
		return err
	}
	return command.Invalid(fmt.Errorf("there is no ledger %s: nothing has run here yet; "+
		"go to its folder, or name it with --config or CAMPAIGND_LEDGER", newLedger(c)))
}

// newLedger returns the whole path of the SQLite ledger that a sender would make, and "" if there
// is a ledger. A new ledger knows nobody whom an earlier run reached, and its relative path counts
// from the working directory: somebody who is in the wrong folder has to read where it is made.
func newLedger(c *config.Config) string {
	if !c.NoLedger() {
		return ""
	}
	path, err := filepath.Abs(c.LedgerFile())
	if err != nil {
		return c.LedgerFile()
	}
	return path
}

// columns returns the width of the terminal on which bars can be drawn: standard error has a size
// and moves its cursor. It returns 0 if none can.
func (p *program) columns() int {
	if !command.IsTerminal(p.Stderr) || p.Environment["TERM"] == "dumb" {
		return 0
	}
	return command.Width(p.Stderr)
}
