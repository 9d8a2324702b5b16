package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"campaignd/campaign"
	"campaignd/campaign/file"
	"campaignd/campaign/plan"
	"campaignd/internal/client"
	"campaignd/internal/client/resource"
	"campaignd/internal/command"
	"campaignd/internal/daemon"
	"campaignd/internal/sentence"
)

func (p *program) cmdLaunch() *cobra.Command {
	var r client.Launch
	cmd := &cobra.Command{
		Use:   "launch CAMPAIGN.yaml",
		Short: "Give a list to a running `campaignd serve`, which imports and sends it",
		Long: `Launches a run for a running serve to send, and returns once its list is imported. With an SQLite ledger the
campaign and its list go to the process that sends from the ledger, through its admin listener. That process writes
the listener's address and a key into the file LEDGER.api, which only its user can read; the command reads it there.
With a PostgreSQL ledger the command imports the list itself. --server uploads both to another machine. A list of
more than 16 MiB goes in parts: after a broken connection, or if the same command was stopped less than a day ago,
the upload continues where it stopped.

A launch is identified or refused by the same rules as run: the same list again is the same run, so the command can be
repeated after an interruption. The list of an audience is built by the process that launches it: an unfinished run of the
campaign continues, and after a finished one only --new creates another.`,
		Example: `  campaignd launch spring.yaml --recipients list.csv
  campaignd launch spring.yaml --recipients list.csv -o json
  campaignd launch spring.yaml --recipients list.csv --new`,
		Args: oneCampaign,
	}
	cmd.Flags().StringVar(&r.List, "recipients", "", "the list (default: recipients.file of the campaign)")
	cmd.Flags().BoolVar(&r.New, "new", false, anotherRun)
	var sent command.SentBefore
	sent.Flags(cmd)
	o := command.AddOutput(cmd)
	p.AddServer(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		r.Campaign, r.LeaveOutSent, r.SendAgain = args[0], sent.LeaveOut, sent.Again
		far, err := p.Remote()
		if err != nil {
			return err
		}
		if err := p.resolveLaunch(&r); err != nil {
			return err
		}
		var launched resource.Launched
		if far != nil {
			launched, err = far.Launch(cmd.Context(), r)
			err = command.RequestError(err)
		} else {
			launched, err = p.launch(cmd.Context(), r)
		}
		if err != nil {
			return launchError(cmd.Context(), err)
		}
		for _, w := range launched.Warnings {
			fmt.Fprintf(p.Stderr, "warning: %s\n", sentence.Printable(w))
		}
		return p.Say(o, launched, launchSentence(launched))
	}
	return cmd
}

// resolveLaunch reads the paths of the files from the campaign, and opens the list once. It reports
// a fault of either with file and line before anything is sent to another process.
func (p *program) resolveLaunch(r *client.Launch) error {
	r.Tell, r.Waits = uploadLines(p.Stderr), turnLine(p.Stderr)
	def, src, err := file.Load(r.Campaign)
	if err != nil {
		return err
	}
	if _, err := plan.CronOf(r.Campaign, src, def); err != nil {
		return err
	}
	r.Header = file.Beside(r.Campaign, def.Template.Header.File())
	if r.List == "" {
		if def.Audience != nil {
			return nil // the process that launches makes the list
		}
		if r.List = file.Beside(r.Campaign, def.Recipients.File); r.List == "" {
			return command.Invalid(fmt.Errorf("%s names no list: set recipients.file, or pass --recipients FILE", r.Campaign))
		}
	}
	return canBeRead(def, r.List)
}

// launch gives the list to the process that sends from an SQLite ledger, or imports it in this
// process.
func (p *program) launch(ctx context.Context, r client.Launch) (out resource.Launched, err error) {
	c, err := p.load()
	if err != nil {
		return out, err
	}
	if c.LaunchesBeside() {
		return daemon.LaunchBeside(ctx, c, r)
	}
	if err := c.CanSend(); err != nil {
		return out, command.Invalid(err)
	}
	return daemon.LaunchInto(ctx, c, r, p.log(c, true))
}

// launchError returns the error of a launch with its exit code. Errors of the other process get the
// same codes as on this machine.
func launchError(ctx context.Context, err error) error {
	var told *client.Error
	switch {
	case ctx.Err() != nil && errors.Is(err, context.Canceled):
		return command.Interrupted(errors.New("interrupted; the same command goes on with the run, if it was launched already"))
	case errors.As(err, &told) && told.Invalid():
		return command.Invalid(err)
	}
	return err
}

// launchSentence says what became of a launch.
func launchSentence(l resource.Launched) string {
	rows := sentence.Count(l.Run.Rows, "row", "rows")
	switch {
	case l.Ended:
		return fmt.Sprintf("%s had ended before (%s, %s), so nothing is sent; --new launches another run of this list", l.Run.ID, l.Run.State,
			rows)
	case l.Run.State == campaign.WaitingApproval:
		return fmt.Sprintf("%s: %s; `campaignd approve %[1]s` lets it begin", l.Run.ID, rows)
	case l.Resumed:
		return fmt.Sprintf("%s was launched before and is %s: %s; `campaignd why %[1]s` says what it waits for", l.Run.ID, l.Run.State, rows)
	}
	return fmt.Sprintf("%s: %s; `campaignd why %[1]s` says what it waits for", l.Run.ID, rows)
}
