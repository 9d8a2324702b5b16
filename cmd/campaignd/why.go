package main

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"campaignd/campaign"
	"campaignd/internal/daemon"
	"campaignd/internal/spelling"
	"campaignd/recipients"
)

func (p *program) cmdWhy() *cobra.Command {
	var to string
	cmd := &cobra.Command{
		Use:   "why RUN | CONNECTION",
		Short: "Say what a run, a recipient or a number is waiting for now",
		Long: `Says what the run waits for, how many rows wait for what and when each is free, what limits each of its connections, and when
the last row will be sent at the present rate. With --to it says that of one recipient of the run, and of an opt-out the
company and the source. The id of a connection in place of the run: what limits that number, over all runs that are not
finished. The command reads the ledger, so it works beside a sender and after its end. --server answers for runs alone.`,
		Example: "  campaignd why latest\n  campaignd why spring-sale-3 -o json\n  campaignd why spring-sale-3 --to +2348031234567\n" +
			"  campaignd why conn_1",
		Args: oneRun,
	}
	cmd.Flags().StringVar(&to, "to", "", "the phone number of one recipient, with its country code")
	o := addOutput(cmd)
	p.addServer(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		key := recipients.Key(to)
		if to != "" && key == 0 {
			return usage(fmt.Errorf("--to %s is no phone number with a country code; want for example +2348031234567", to))
		}
		var number *campaign.WhyNumber
		far, err := p.remote()
		if err == nil && far == nil {
			number, err = p.whyNumber(cmd.Context(), args[0])
		}
		switch {
		case err != nil:
			return err
		case number != nil && to != "":
			return usage(fmt.Errorf("%s is a connection, and --to goes with a run", args[0]))
		case number != nil && o.json():
			return writeJSON(p.stdout, number)
		case number != nil:
			return p.writeWhyNumber(*number)
		}
		return p.withDesk(cmd.Context(), toRead, func(d operations) error {
			if to != "" {
				w, err := d.WhyRecipient(cmd.Context(), args[0], to)
				return p.told(err, o, w, fmt.Sprintf("%s: %s", w.Run, printable(w.Sentence)))
			}
			w, err := d.Why(cmd.Context(), args[0])
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

// told prints an answer: v as JSON, else the sentence.
func (p *program) told(err error, o *output, v any, sentence string) error {
	switch {
	case err != nil:
		return err
	case o.json():
		return writeJSON(p.stdout, v)
	}
	_, err = fmt.Fprintln(p.stdout, sentence)
	return err
}

// whyHolds are the holds of the ledger, and what they can name.
func whyHolds(ctx context.Context, l campaign.Ledger, c *daemon.Config) (campaign.WhyHolds, error) {
	holds, err := l.Holds(ctx, false)
	if err != nil {
		return campaign.WhyHolds{}, err
	}
	return campaign.WhyHolds{Holds: holds, Origin: daemon.Origins(ctx, c, holds)}, nil
}

// whyNumber says what limits a connection, if arg is one: of the configuration, or of an unfinished
// or recent run, and no id of a run. It returns nil if arg is none.
func (p *program) whyNumber(ctx context.Context, arg string) (_ *campaign.WhyNumber, err error) {
	configured := false
	if c, err := p.load(); err == nil {
		_, configured = c.Numbers[arg]
	}
	if _, err := campaign.ParseRunID(arg); !configured && (err == nil || arg == "latest") {
		return nil, nil
	}
	l, c, err := p.openLedger(ctx, toRead)
	if err != nil {
		return nil, err
	}
	defer closing(l, &err)
	runs, err := runsOver(ctx, l, arg, campaign.RunFilter{Unfinished: true})
	if err != nil {
		return nil, err
	}
	if len(runs) == 0 && !configured {
		ended, err := runsOver(ctx, l, arg, campaign.RunFilter{Limit: 100})
		if err != nil || len(ended) == 0 {
			return nil, err
		}
	}
	h, err := whyHolds(ctx, l, c)
	if err != nil {
		return nil, err
	}
	n, err := campaign.ExplainNumber(ctx, l, arg, runs, h, time.Now())
	return &n, err
}

// runsOver are the runs of the filter that are sent over a connection.
func runsOver(ctx context.Context, l campaign.Ledger, connection string, f campaign.RunFilter) (over []campaign.Run, err error) {
	stored, err := l.Runs(ctx, f)
	for _, r := range stored {
		if def, err := campaign.ParseStored(r.ID(), r.Definition); err == nil && slices.Contains(def.Connections, connection) {
			over = append(over, r)
		}
	}
	return over, err
}

func (p *program) writeWhyNumber(n campaign.WhyNumber) error {
	fmt.Fprintln(p.stdout, printable(n.Sentence))
	for _, h := range n.Holds {
		if h.Sentence != n.Sentence {
			fmt.Fprintf(p.stdout, "held: %s\n", printable(h.Sentence))
		}
	}
	if len(n.Runs) == 0 {
		return nil
	}
	var rows [][]string
	for _, r := range n.Runs {
		rows = append(rows, []string{r.Run, strconv.FormatInt(r.Queued, 10), r.LimitedBy, r.Detail})
	}
	fmt.Fprintln(p.stdout)
	return writeTable(p.stdout, []string{"RUN", "QUEUED", "LIMITED BY", "DETAIL"}, rows)
}

func (p *program) writeWhy(w campaign.Why) error {
	if _, err := fmt.Fprintf(p.stdout, "%s: %s\n", w.Run, printable(w.Sentence)); err != nil || w.State.Ended() {
		return err
	}
	fmt.Fprintf(p.stdout, "%d of %s queued, %d being sent, %d in doubt; %d of %s done, %d with a sender, %d free, %d waiting\n",
		w.Totals.Queued, spelling.Count(w.Totals.Rows, "row", "rows"), w.Totals.Sending, w.Totals.InDoubt, w.Segments.Done,
		spelling.Count(w.Segments.All, "segment", "segments"), w.Segments.Leased,
		w.Segments.All-w.Segments.Done-w.Segments.Leased-w.Segments.Parked, w.Segments.Parked)
	if !w.Segments.Wake.IsZero() {
		fmt.Fprintf(p.stdout, "next time to look: %s\n", clock(w.Segments.Wake))
	}
	if w.Segments.Moved > 0 {
		fmt.Fprintf(p.stdout, "%s moved to another connection\n", spelling.Count(int64(w.Segments.Moved), "segment was", "segments were"))
	}
	if w.Limits.Weight > 1 || !w.Due.IsZero() {
		fmt.Fprintf(p.stdout, "limits: %s\n", w.Limits)
	}
	if !w.Finish.IsZero() {
		fmt.Fprintf(p.stdout, "at this rate sent by: %s\n", clock(w.Finish))
	}
	for _, one := range w.Waits {
		of := ""
		if one.Connection != "" {
			of = " of " + one.Connection
		}
		if !one.Until.IsZero() {
			of += " until " + clock(one.Until)
		}
		what := one.For
		if what == "none" {
			what = "a sender"
		}
		fmt.Fprintf(p.stdout, "waiting for %s%s: %s\n", what, printable(of), spelling.Count(one.Rows, "row", "rows"))
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
