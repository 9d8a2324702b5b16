package main

import (
	"fmt"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"campaignd/internal/command"
	"campaignd/internal/daemon"
)

// loggedCommand is a command whose line in the log of actions is written by its name.
type loggedCommand struct {
	exports bool                      // it gives out people's data and changes nothing
	private bool                      // its argument is somebody's number, which the log does not name
	when    func(*cobra.Command) bool // nil: always
}

// loggedCommands change or export something without a method of operator.Session that writes a line
// of its own. TestEachChangeAndExportOfACommandHasALine knows the others.
var loggedCommands = map[string]loggedCommand{
	"run":                 {},
	"test":                {},
	"templates push":      {},
	"templates sync":      {},
	"media upload":        {},
	"media prune":         {},
	"webhooks register":   {},
	"webhooks rotate":     {},
	"webhooks remove":     {},
	"webhooks replay":     {},
	"commerce connect":    {},
	"commerce audience":   {exports: true},
	"person":              {exports: true, private: true},
	"report":              {exports: true, when: exportsRows},
	"resolve":             {exports: true, when: listsDoubts},
	"suppressions export": {exports: true},
}

// exportsRows reports whether report writes the rows of a run and not its totals.
func exportsRows(c *cobra.Command) bool {
	return c.Flags().Lookup("format").Value.String() == "csv" || c.Flags().Lookup("excel").Value.String() == "true"
}

// listsDoubts reports whether resolve only lists: a resend is a follow-up, which has a line.
func listsDoubts(c *cobra.Command) bool {
	return c.Flags().Lookup("unknown").Value.String() != "resend"
}

// logCommands makes the commands below c that are in loggedCommands write their line: before they
// begin, and with their result.
func (p *program) logCommands(c *cobra.Command) {
	for _, sub := range c.Commands() {
		p.logCommands(sub)
	}
	name := strings.TrimPrefix(c.CommandPath(), "campaignd ")
	logged, ok := loggedCommands[name]
	if !ok {
		return
	}
	do := c.RunE
	c.RunE = func(c *cobra.Command, args []string) error {
		far := c.Flags().Lookup("server") != nil && p.HasServer() // the log of the other campaignd has the line
		if far || logged.when != nil && !logged.when(c) {
			return do(c, args)
		}
		cfg, err := p.load()
		if err != nil {
			return err
		}
		on := ""
		if len(args) > 0 && !logged.private {
			on = args[0]
			if !strings.Contains(on, "://") {
				on = filepath.Base(on)
			}
		}
		act := daemon.Act{What: name, On: on, Log: p.log(cfg, true)}
		if logged.exports { // also for a user who may read the ledger and not write it
			act.Unwritten = func(err error) {
				fmt.Fprintf(p.Stderr, "campaignd: the log of actions has no line of this %s: %v\n", name, command.RequestError(err))
			}
		}
		var unsure error // it was done, and something may be missing
		err = act.Do(c.Context(), cfg, func() error {
			err := do(c, args)
			if code, quiet := command.Classify(c.Context(), err); quiet && code == command.ExitUnsure {
				unsure = err
				return nil
			}
			return err
		})
		if err == nil {
			err = unsure
		}
		return err
	}
}
