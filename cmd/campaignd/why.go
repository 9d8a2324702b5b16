package main

import (
	"fmt"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"campaignd/campaign"
	"campaignd/internal/daemon"
	"campaignd/internal/spelling"
)

func (p *program) cmdWhy() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "why RUN",
		Short: "Say what a run is waiting for now",
		Long: `Says what the run waits for, what limits each of its connections, and when the last row will be sent at the present rate.
The command reads the ledger, so it works beside a sender and after its end.`,
		Example: "  campaignd why latest\n  campaignd why spring-sale-3 -o json",
		Args:    oneRun,
	}
	o := addOutput(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		return p.withRunOf(cmd.Context(), toRead, args[0], func(l campaign.Ledger, c *daemon.Config, r campaign.Run) error {
			holds, err := l.Holds(cmd.Context(), false)
			if err != nil {
				return err
			}
			of := daemon.Origins(cmd.Context(), c, holds)
			w, err := campaign.Explain(cmd.Context(), l, r, campaign.WhyHolds{Holds: holds, Origin: of}, time.Now())
			if err != nil {
				return err
			}
			if o.json() {
				return writeJSON(p.stdout, w)
			}
			return p.writeWhy(w)
		})
	}
	return cmd
}

func (p *program) writeWhy(w campaign.Why) error {
	if _, err := fmt.Fprintf(p.stdout, "%s: %s\n", w.Run, printable(w.Sentence)); err != nil || w.State.Ended() {
		return err
	}
	fmt.Fprintf(p.stdout, "%d of %s queued, %d being sent, %d in doubt; %d of %s done, %d with a sender, %d waiting\n",
		w.Totals.Queued, spelling.Count(w.Totals.Rows, "row", "rows"), w.Totals.Sending, w.Totals.InDoubt, w.Segments.Done,
		spelling.Count(w.Segments.All, "segment", "segments"), w.Segments.Leased, w.Segments.Parked)
	if !w.Segments.Wake.IsZero() {
		fmt.Fprintf(p.stdout, "next time to look: %s\n", clock(w.Segments.Wake))
	}
	if w.Limits.Weight > 1 || !w.Due.IsZero() {
		fmt.Fprintf(p.stdout, "limits: %s\n", w.Limits)
	}
	if !w.Finish.IsZero() {
		fmt.Fprintf(p.stdout, "at this rate sent by: %s\n", clock(w.Finish))
	}
	for _, h := range w.Holds {
		if h.Sentence != w.Sentence {
			fmt.Fprintf(p.stdout, "held: %s\n", printable(h.Sentence))
		}
	}
	if len(w.Lanes) == 0 {
		return nil
	}
	var rows [][]string
	for _, l := range w.Lanes {
		rate, limitedBy, detail := strconv.FormatFloat(l.Rate, 'f', 1, 64), l.LimitedBy, l.Detail
		switch {
		case l.LimitedBy == campaign.LaneStopped:
			rate, detail = "-", "its sender ended at "+clock(l.At)
		case l.Stale:
			rate, limitedBy, detail = "-", "stale", "not heard of since "+clock(l.At)+", when it said: "+detail
		}
		rows = append(rows, []string{l.Connection, l.Sender, rate, limitedBy, detail})
	}
	fmt.Fprintln(p.stdout)
	return writeTable(p.stdout, []string{"CONNECTION", "SENDER", "PER SECOND", "LIMITED BY", "DETAIL"}, rows)
}
