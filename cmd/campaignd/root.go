package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"golang.org/x/term"

	"campaignd/campaign"
	"campaignd/internal/config"
	"campaignd/internal/daemon"
	"campaignd/internal/sentence"
)

// program is one invocation: its streams and the flags that every command has.
type program struct {
	stdin          io.Reader
	stdout, stderr io.Writer
	environment    map[string]string
	// config is --config.
	config string
	// logLevel is --log-level. "" means the configured level, and at least warn for commands that
	// show progress.
	logLevel string
	// started is set once flags and arguments are accepted. Errors before that are wrong usage.
	started bool
	// configGiven reports whether --config was given.
	configGiven func() bool
	// server is --server: the address of another campaignd.
	server string
}

// run is the whole program, shared by main and the tests: it parses args, runs one command and
// returns the exit code. ctx ends when the operator asks for an end. environment holds the
// variables by name.
func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer, environment map[string]string) int {
	out := &resultWriter{Writer: stdout}
	p := &program{stdin: stdin, stdout: out, stderr: stderr, environment: environment}
	root := p.root()
	root.SetArgs(args)
	err := root.ExecuteContext(ctx)
	if err != nil && !p.started {
		err = invalid(err)
	}
	if _, quiet := classify(ctx, err); out.err != nil && quiet {
		err = out.err
	}
	return conclude(ctx, err, stderr, isTerminal(stderr))
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
		Args:          noSubcommand,
		RunE:          help,
		PersistentPreRunE: func(cmd *cobra.Command, _ []string) error {
			p.started = true
			return p.sayLocal(cmd)
		},
	}
	root.SetIn(p.stdin)
	root.SetOut(p.stdout)
	root.SetErr(p.stderr)
	flags := root.PersistentFlags()
	flags.StringVar(&p.config, "config", config.DefaultFile, "configuration file; the default may be missing")
	flags.StringVar(&p.logLevel, "log-level", "", "debug, info, warn or error (default: as configured)")
	p.configGiven = func() bool { return flags.Changed("config") }
	root.SetFlagErrorFunc(wrongFlag)
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
	group("look", p.cmdRuns(), p.cmdReport(), p.cmdAudit(), p.cmdWhy(), p.cmdForecast(), p.cmdSchedule(), p.cmdActions(), p.cmdDrops(),
		p.cmdNotifications())
	group("control", p.cmdPause(), p.cmdResume(), p.cmdLimits(), p.cmdCancel(), p.cmdApprove(), p.cmdResolve(), p.cmdFollowUp(), p.cmdHolds(),
		p.cmdSuppressions(), p.cmdPerson(), p.cmdErase())
	group("setup", p.cmdInit(), p.cmdConsole(), p.cmdKeys(), p.cmdWebhooks(), p.cmdTemplates(), p.cmdMedia(), p.cmdCommerce(), p.cmdSandbox(),
		p.cmdDoctor(), p.cmdBackup(), p.cmdLedger(), p.cmdConfig(), p.cmdVersion())
	p.complete(root)
	columns := helpWidth
	if w := width(p.stdout); w > 0 {
		columns = min(max(w, 40), helpWidth)
	}
	fitHelp(root, columns)
	root.InitDefaultCompletionCmd()
	for _, c := range root.Commands() {
		if c.Name() == "completion" {
			c.Args, c.RunE = noSubcommand, help
			for _, shell := range c.Commands() {
				shell.Example = loadCompletion[shell.Name()]
			}
		}
	}
	return root
}

// wrongFlag adds to err the known flag that is nearest in spelling, else the command that lists the
// flags.
func wrongFlag(cmd *cobra.Command, err error) error {
	var unknown *pflag.NotExistError
	var invalid *pflag.InvalidValueError
	switch {
	case errors.As(err, &unknown) && unknown.GetSpecifiedName() == "server":
		return fmt.Errorf("%s works on its own machine only and has no --server%s", cmd.CommandPath(), insteadOf(cmd.Name()))
	case errors.As(err, &unknown):
	case errors.As(err, &invalid) && wantedValue(invalid.GetFlag().Value.Type()) != "":
		return fmt.Errorf("--%s %q: want %s", invalid.GetFlag().Name, invalid.GetValue(), wantedValue(invalid.GetFlag().Value.Type()))
	default:
		return fmt.Errorf("%w; see `%s --help`", err, cmd.CommandPath())
	}
	var names []string
	cmd.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, "--"+f.Name) })
	if near := sentence.Nearest("--"+unknown.GetSpecifiedName(), names); near != "" && unknown.GetSpecifiedShortnames() == "" {
		return fmt.Errorf("%w; did you mean %s?", err, near)
	}
	return fmt.Errorf("%w; `%s --help` lists the flags", err, cmd.CommandPath())
}

// wantedValue describes the value of a flag of a type; "" for a type of which any text is a value.
func wantedValue(flagType string) string {
	switch flagType {
	case "int", "int64":
		return "a whole number"
	case "float64":
		return "a number"
	case "bool":
		return "true or false"
	case "duration":
		return "a duration such as 30s or 2h"
	case outputType:
		return "table or json"
	}
	return ""
}

// noArguments refuses any argument.
func noArguments(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return fmt.Errorf("`%s` takes no argument, and %q is one", cmd.CommandPath(), args[0])
	}
	return nil
}

// oneArgument accepts one argument that is not empty.
func oneArgument(what, example string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) != 1 || args[0] == "" {
			return fmt.Errorf("want one %s; for example `%s %s`", what, cmd.CommandPath(), example)
		}
		return nil
	}
}

// within refuses a number of a flag outside of its bounds.
func within(flag string, n, least, most int) error {
	if n < least || n > most {
		return invalid(fmt.Errorf("--%s %d: want %d to %d", flag, n, least, most))
	}
	return nil
}

// help runs a command that was given no subcommand.
func help(cmd *cobra.Command, _ []string) error { return cmd.Help() }

// noSubcommand refuses an unknown subcommand and names the known one that is nearest in spelling.
func noSubcommand(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	cmd.SuggestionsMinimumDistance = 2
	if near := cmd.SuggestionsFor(args[0]); len(near) > 0 {
		return fmt.Errorf("unknown command %q; did you mean `%s %s`?", args[0], cmd.CommandPath(), near[0])
	}
	return fmt.Errorf("unknown command %q; `%s --help` lists the commands", args[0], cmd.CommandPath())
}

// load reads the configuration. The flags override it.
func (p *program) load() (*config.Config, error) {
	c, err := config.Load(p.config, p.configGiven(), p.environment)
	if err != nil {
		return nil, invalid(err)
	}
	if p.logLevel != "" {
		c.Log.Level = p.logLevel
		if err := c.Validate(); err != nil {
			return nil, invalid(fmt.Errorf("--log-level: %w", err))
		}
	}
	return c, nil
}

// log makes the logger of a command on standard error. A quiet command shows its progress there, so
// it logs only warnings and errors unless --log-level is given.
func (p *program) log(c *config.Config, quiet bool) *slog.Logger { return p.logOn(p.stderr, c, quiet) }

func (p *program) logOn(w io.Writer, c *config.Config, quiet bool) *slog.Logger {
	var level slog.Level
	_ = level.UnmarshalText([]byte(c.Log.Level)) // validated with the configuration
	if quiet && p.logLevel == "" {
		level = max(level, slog.LevelWarn)
	}
	o := &slog.HandlerOptions{Level: level}
	if c.Log.Format == "json" {
		return slog.New(slog.NewJSONHandler(w, o))
	}
	return slog.New(slog.NewTextHandler(w, o))
}

// purpose is what a command opens the ledger for.
type purpose int

const (
	toRead   purpose = iota // also where this user may not write
	toChange                // it must exist: in a wrong folder, a new empty ledger would have no runs
	toCreate
)

// openLedger opens the ledger beside a running sender.
func (p *program) openLedger(ctx context.Context, why purpose) (campaign.Ledger, *config.Config, error) {
	c, err := p.load()
	if err != nil {
		return nil, nil, err
	}
	if why != toCreate {
		if err := ledgerExists(c); err != nil {
			return nil, nil, err
		}
	}
	var l campaign.Ledger
	if why == toRead {
		l, err = config.ReadLedger(ctx, c, p.log(c, true))
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
	if err := c.LostLedger(); err != nil {
		return err
	}
	return invalid(fmt.Errorf("there is no ledger %s: nothing has run here yet; "+
		"go to its folder, or name it with --config or CAMPAIGND_LEDGER", c.LedgerFile()))
}

// fileOf returns the file that w writes to; nil: w writes to none.
func fileOf(w io.Writer) *os.File {
	if r, ok := w.(*resultWriter); ok {
		w = r.Writer
	}
	f, _ := w.(*os.File)
	return f
}

// isTerminal reports whether w is a terminal.
func isTerminal(w io.Writer) bool {
	f := fileOf(w)
	return f != nil && term.IsTerminal(int(f.Fd()))
}

// columns returns the width of the terminal on which bars can be drawn: standard error has a size
// and moves its cursor. It returns 0 if none can.
func (p *program) columns() int {
	if !isTerminal(p.stderr) || p.environment["TERM"] == "dumb" {
		return 0
	}
	return width(p.stderr)
}

// width returns the columns of the terminal w. It returns 0, no wrapping, for other writers.
func width(w io.Writer) int {
	if f := fileOf(w); f != nil {
		if columns, _, err := term.GetSize(int(f.Fd())); err == nil {
			return columns
		}
	}
	return 0
}
