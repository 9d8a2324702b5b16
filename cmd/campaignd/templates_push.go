package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"campaignd/campaign/template"
	"campaignd/internal/command"
	"campaignd/internal/config"
	"campaignd/internal/daemon"
	"campaignd/internal/messaging/connector"
	"campaignd/internal/sentence"
)

// templatesFolder is the folder of template files unless an argument names another.
const templatesFolder = "templates"

// oneFolder accepts a folder, or nothing.
func oneFolder(cmd *cobra.Command, args []string) error {
	if len(args) > 1 {
		return fmt.Errorf("want one FOLDER; for example `%s %s`", cmd.CommandPath(), templatesFolder)
	}
	return nil
}

// withFiles reads the template files of a folder, and calls do with their comparison. A fault of a
// file ends it before the service is asked.
func (p *program) withFiles(ctx context.Context, args []string, connection string,
	do func(*config.Config, *connector.Set, account, []template.Comparison) error) error {
	folder := templatesFolder
	if len(args) > 0 {
		folder = args[0]
	}
	files, err := template.ReadFolder(folder)
	if err != nil {
		return command.Invalid(err)
	}
	return p.withAccount(ctx, connection, func(cfg *config.Config, c *connector.Set, a account) error {
		compared, err := template.Compare(ctx, c, a.Connection, files)
		if err != nil {
			return err
		}
		return do(cfg, c, a, compared)
	})
}

func (p *program) cmdTemplatesPush() *cobra.Command {
	var yes bool
	cmd := &cobra.Command{
		Use:   "push [FOLDER]",
		Short: "Create and edit at the service the templates that differ from their files",
		Long: `Judges every template file of FOLDER (default: templates) by the platform's rules; with a fault nothing is sent, and the exit
code is 2. Then it creates the templates that the service does not have, edits those that differ, and prints what it did. The
exit code is 1 if the service refused one. Templates without a file stay as they are. The picture of a header alone is not
compared: change a text with it.

An edited template is reviewed again, and meanwhile its messages are refused: with unfinished runs of an approved template, an
edit wants --yes. These runs then wait until an operator lifts their holds (campaignd holds). A push can be repeated.`,
		Example: `  campaignd templates push
  campaignd templates push marketing/templates --connection conn_1 -o json
  campaignd templates push --yes`,
		Args: oneFolder,
	}
	connection := connectionFlag(cmd)
	cmd.Flags().BoolVar(&yes, "yes", false, "edit templates of unfinished runs too")
	o := command.AddOutput(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		ctx := cmd.Context()
		return p.withFiles(ctx, args, *connection, func(cfg *config.Config, c *connector.Set, a account, all []template.Comparison) (err error) {
			if !yes {
				if err := p.stopsNoRun(ctx, cfg, a, all); err != nil {
					return err
				}
			}
			var done []template.Pushed
			failure := p.withListings(ctx, cfg, c, true, func() (err error) {
				done, err = template.Push(ctx, c, a.Connection, all)
				return err
			})
			if err := p.writePushed(o, done); err != nil || failure != nil {
				return errors.Join(failure, err)
			}
			if slices.ContainsFunc(done, func(p template.Pushed) bool { return p.Action == template.Refused }) {
				return command.Silent(command.ExitFailed)
			}
			return nil
		})
	}
	return cmd
}

// stopsNoRun refuses a push that would stop an unfinished run of the ledger.
func (p *program) stopsNoRun(ctx context.Context, cfg *config.Config, a account, all []template.Comparison) (err error) {
	if cfg.NoLedger() || !slices.ContainsFunc(all, func(c template.Comparison) bool { return c.EndsApproval() }) {
		return nil
	}
	l, err := daemon.OpenLedger(ctx, cfg, false, p.log(cfg, true))
	if err != nil {
		return fmt.Errorf("whether a run sends these templates is in the ledger, and --yes pushes without it: %w", err)
	}
	defer command.Leaving(l, p.Stderr)
	runs, err := template.StoppedBy(ctx, l, a.All, all)
	if err != nil || len(runs) == 0 {
		return err
	}
	var ids []string
	for _, r := range runs[:min(5, len(runs))] {
		ids = append(ids, r.ID())
	}
	return command.Invalid(fmt.Errorf("nothing was pushed: it would stop %s (%s), because an edited template is reviewed again; "+
		"wait for their end, or give --yes", sentence.Count(len(runs), "unfinished run", "unfinished runs"), strings.Join(ids, ", ")))
}

func (p *program) writePushed(o *command.Output, done []template.Pushed) error {
	return command.WriteList(&p.Program, o, []string{"FILE", "ACTION", "STATUS", "WHY"}, done, func(d template.Pushed) []string {
		return []string{d.File, string(d.Action), d.Status, d.Error}
	})
}

// differenceFacts is one template file in the JSON of diff.
type differenceFacts struct {
	File     string `json:"file"`
	Name     string `json:"name"`
	Language string `json:"language"`
	// Status is that at the service; "" if the service has no such template.
	Status      string   `json:"status"`
	Same        bool     `json:"same"`
	Differences []string `json:"differences"`
}

func (p *program) cmdTemplatesDiff() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "diff [FOLDER]",
		Short: "Compare template files with the templates of the service",
		Long: `Prints what push would create or edit, and changes nothing. The exit code is 0 if the service has every template as its file
says, and 3 if not. Templates without a file are no difference.`,
		Example: "  campaignd templates diff\n  campaignd templates diff marketing/templates --connection conn_1 -o json",
		Args:    oneFolder,
	}
	connection := connectionFlag(cmd)
	o := command.AddOutput(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		compare := func(_ *config.Config, _ *connector.Set, _ account, all []template.Comparison) error {
			differ := false
			facts := []differenceFacts{}
			for _, c := range all {
				f := differenceFacts{File: c.Path, Name: c.Name, Language: c.Language, Same: c.Same(),
					Differences: append([]string{}, c.Differences...)}
				if c.Listed == nil {
					f.Differences = append(f.Differences, "the service has no such template")
				} else {
					f.Status = c.Listed.Status
				}
				facts, differ = append(facts, f), differ || !f.Same
			}
			if err := p.writeDifferences(o, facts); err != nil || !differ {
				return err
			}
			return command.Silent(command.ExitUnsure)
		}
		return p.withFiles(cmd.Context(), args, *connection, compare)
	}
	return cmd
}

func (p *program) writeDifferences(o *command.Output, all []differenceFacts) error {
	if o.JSON() {
		return command.WriteJSON(p.Stdout, all)
	}
	same := 0
	for _, f := range all {
		if f.Same {
			same++
		}
		for _, d := range f.Differences {
			command.WriteParagraph(p.Stdout, f.File+": "+d)
		}
	}
	_, err := fmt.Fprintf(p.Stdout, "%d of %s as at the service\n", same, sentence.Count(len(all), "template file is", "template files are"))
	return err
}
