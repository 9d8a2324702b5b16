package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"campaignd/campaign"
	"campaignd/campaign/file"
	"campaignd/campaign/launch"
	"campaignd/campaign/wording"
	"campaignd/internal/command"
	"campaignd/internal/config"
	"campaignd/internal/daemon"
	"campaignd/internal/sentence"
	"campaignd/reporting"
)

// anotherRun is the help of --new.
const anotherRun = "launch another run even if the campaign already has one for this list or its numbers, or its schedule will send it"

func (p *program) cmdRun() *cobra.Command {
	var o daemon.RunOptions
	cmd := &cobra.Command{
		Use:   "run CAMPAIGN.yaml",
		Short: "Send one campaign completely and print the report",
		Long: `Checks the campaign, freezes its list, sends it, and keeps receiving webhooks until all statuses are final or
--settle has passed since the last answer. The command may be interrupted or killed at any time: run it again and it
continues the same run, and nobody is sent to twice.

A run is identified by its campaign and the content of its list, so a finished run is reported again and sends nothing;
--new launches another. While the campaign has an unfinished run, the command refuses an edited or re-saved list, and --new
for the same list; it shows how the lists differ and which run continues. A list that shares numbers with a finished run is
refused too. With --new the other list is launched, even alongside an unfinished run.

If people of the list got the template in the last 30 days (sent_before.within), from a run of any campaign, the list is
refused before anything is sent: --leave-out-sent leaves these people out, and --send-again sends to them too. With --new,
runs of the same campaign do not count.

The command waits for sending windows and for holds that expire by themselves, and says so. For a hold that only an event or
an operator can remove it waits for --settle. The exit code is 3 if a row is still queued, in doubt or unknown, or if the
run is paused or cancelled. Skipped and refused rows are outcomes: the exit code is 0.`,
		Example: `  campaignd run spring.yaml --recipients list.csv
  campaignd run spring.yaml --recipients list.csv --settle 2m -o json > report.json
  campaignd run spring.yaml --recipients list.csv --new`,
		Args: oneCampaign,
	}
	cmd.Flags().StringVar(&o.List, "recipients", "", "the list (default: recipients.file of the campaign)")
	cmd.Flags().DurationVar(&o.Settle, "settle", 30*time.Second,
		"how long to wait for statuses after the last answer, and for holds without an end")
	cmd.Flags().BoolVar(&o.New, "new", false, anotherRun)
	var sent command.SentBefore
	sent.Flags(cmd)
	out := command.AddOutput(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if o.Settle < 0 {
			return command.Invalid(fmt.Errorf("--settle %s is negative", o.Settle))
		}
		c, err := p.load()
		if err != nil {
			return err
		}
		if err := c.CanSend(); err != nil {
			return command.Invalid(err)
		}
		if err := c.CanReceive(); err != nil && !c.Receives() {
			fmt.Fprintf(p.Stderr, "warning: statuses and opt-outs are not seen\nwarning: %v\n", err)
		}
		o.File, o.LeaveOutSent, o.SendAgain = args[0], sent.LeaveOut, sent.Again
		o.Command = "campaignd run " + shellWord(o.File)
		if p.configGiven() {
			o.Command += " --config " + shellWord(p.config)
		}
		if o.List != "" {
			o.Command += " --recipients " + shellWord(o.List)
		}
		def, _, err := file.Load(o.File) // a fault of the files is told before the service is asked
		if err == nil && o.List != "" {
			err = canBeRead(def, o.List)
		}
		if err != nil {
			return err
		}
		return p.send(cmd.Context(), c, o, out.JSON())
	}
	return cmd
}

// send runs one campaign in this process and prints its report.
func (p *program) send(ctx context.Context, c *config.Config, o daemon.RunOptions, json bool) (err error) {
	outliveReader()
	bar, fresh := newProgress(p.Stderr, p.columns()), newLedger(c)
	d, err := daemon.New(ctx, c, daemon.Options{Log: p.logOn(bar, c, true)})
	if err != nil {
		bar.close()
		return beforeSending(ctx, "the same command", err)
	}
	defer command.Leaving(d, p.Stderr)
	o.Progress, o.Beside = bar.show, bar.beside
	o.Checked = func(found *launch.Preflight) {
		if fresh != "" {
			fmt.Fprintf(bar, "the ledger %s is new: it knows of no earlier run\n", fresh)
		}
		bar.warn(found)
	}
	result, err := d.RunCampaign(ctx, o)
	bar.close()
	again := "the same command"
	if o.New && result.Run.No != 0 {
		again = "`" + o.Command + "`"
	}
	if err != nil {
		return beforeSending(ctx, again, err)
	}
	err = p.finish(ctx, result, again, json)
	if ctx.Err() == nil && !result.Ended && c.Receives() {
		p.stillToCome(result.Report)
	}
	if result.Report != nil && result.Report.Conversions != nil {
		fmt.Fprintf(p.Stderr, "campaignd: `campaignd run` counts no orders: a `campaignd serve` that uses this ledger "+
			"counts the orders of %s\n", result.Report.Run.ID)
	}
	return err
}

// beforeSending returns the error of a run that ended before it sent anything. again is the command
// that goes on with the run. A run that is interrupted later prints its report instead.
func beforeSending(ctx context.Context, again string, err error) error {
	if ctx.Err() != nil && errors.Is(err, context.Canceled) {
		return command.Interrupted(fmt.Errorf("interrupted while the list was read; %s goes on", again))
	}
	return err
}

// shellWord returns a word that a shell reads as s.
func shellWord(s string) string {
	if s != "" && strings.Trim(s, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-+=./,:@%") == "" {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

// stillToCome names the commands that take the statuses for which a run did not wait.
func (p *program) stillToCome(r *reporting.Report) {
	if n := r.Totals[campaign.Accepted] + r.Totals[campaign.Sent]; n > 0 {
		fmt.Fprintf(p.Stderr, "campaignd: %s neither delivered nor failed yet: `campaignd serve`, or the next `campaignd run` that "+
			"sends from this ledger, takes the statuses that are still to come\n",
			sentence.Count(n, "message of "+r.Run.ID+" is", "messages of "+r.Run.ID+" are"))
	}
}

// finish prints the report of a run that ended, and decides the exit code. again is the command
// that goes on with the run.
func (p *program) finish(ctx context.Context, result daemon.RunResult, again string, json bool) error {
	if err := p.WriteReport(result.Report, json); err != nil {
		return err
	}
	run := result.Report.Run
	switch {
	case ctx.Err() != nil && run.State.Ended():
		fmt.Fprintf(p.Stderr, "campaignd: interrupted; %s is %s, and nothing of it is left to send\n", run.ID, run.State)
		p.stillToCome(result.Report)
		return command.Silent(command.ExitInterrupted)
	case ctx.Err() != nil:
		fmt.Fprintf(p.Stderr, "campaignd: interrupted; %s goes on with %s\n", again, run.ID)
		return command.Silent(command.ExitInterrupted)
	case result.Ended:
		fmt.Fprintf(p.Stderr, "campaignd: %s had ended before, so nothing was sent; --new launches another run of this list\n", run.ID)
		if len(result.Changed) > 0 {
			command.WriteParagraph(p.Stderr, "campaignd: the campaign file has changed since then: "+strings.Join(result.Changed, "; "))
		}
	case run.State == campaign.Paused:
		fmt.Fprintf(p.Stderr, "campaignd: %s is paused (%s): %s; %s\n", run.ID, run.Reason,
			sentence.Printable(run.Detail), wording.Remedy(run.ID))
	}
	if !run.State.Ended() && run.State != campaign.Paused {
		for _, h := range result.Report.Holds {
			fmt.Fprintf(p.Stderr, "campaignd: %s waits: %s\n", run.ID, sentence.Printable(h.Sentence))
		}
	}
	if result.Report.Unresolved() == 0 && run.State != campaign.Paused && run.State != campaign.Cancelled {
		return nil
	}
	totals := result.Report.Totals
	if n := totals[campaign.InDoubt]; n > 0 {
		fmt.Fprintf(p.Stderr, "campaignd: %s (policies.doubt_window) is over: give %s again then, or leave %s to `campaignd serve`\n",
			sentence.Count(n, "row is in doubt until a webhook proves it or its window",
				"rows are in doubt until a webhook proves them or their window"),
			again, run.ID)
	}
	if n := totals[campaign.Unknown]; n > 0 {
		fmt.Fprintf(p.Stderr, "campaignd: %s may or may not have been sent: `campaignd resolve %s` shows them\n",
			sentence.Count(n, "row", "rows"), run.ID)
	}
	return command.Silent(command.ExitUnsure)
}
