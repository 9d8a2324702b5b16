package command

import (
	"cmp"
	"fmt"
	"strconv"

	"github.com/spf13/cobra"

	"campaignd/campaign"
	"campaignd/campaign/why"
	"campaignd/internal/sentence"
)

// Why returns the command why.
func (p *Program) Why() *cobra.Command {
	var to string
	cmd := &cobra.Command{
		Use:   "why RUN | CONNECTION",
		Short: "Show what a run, a recipient or a number is waiting for",
		Long: `Says what the run waits for, how many rows wait for what and when each is free, what limits each of its connections, and when
the last row will be sent at the present rate. With --to it says what one recipient waits for, and of an opt-out the
company and the source. With the id of a connection instead of a run it says what limits that number, over all
unfinished runs. The command reads the ledger, so it works beside a sender and after its end.`,
		Example: "  campaignd why latest\n  campaignd why spring-sale-3 -o json\n  campaignd why spring-sale-3 --to +2348031234567\n" +
			"  campaignd why conn_1",
		Args: OneArgument("RUN or CONNECTION: a run as `campaignd runs` prints it, its number or latest, or a connection's id", "latest"),
	}
	cmd.Flags().StringVar(&to, "to", "", "the phone number of one recipient, as its list may write it")
	o := AddOutput(cmd)
	p.AddServer(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		return p.WithOperations(cmd.Context(), ToRead, func(d Operations) error {
			number, err := d.WhyNumber(cmd.Context(), args[0])
			switch {
			case absent(err) && !namesRun(args[0]):
				return Invalid(fmt.Errorf("%q is no run and no connection: want an id as `campaignd runs` prints it, its number, latest, "+
					"or a connection of the configuration", args[0]))
			case absent(err): // it is a run
			case err != nil:
				return err
			case to != "":
				return Invalid(fmt.Errorf("%s is a connection, and --to goes with a run", args[0]))
			case o.JSON():
				return WriteJSON(p.Stdout, number)
			default:
				return p.writeWhyNumber(number)
			}
			if to != "" {
				w, err := d.WhyRecipient(cmd.Context(), args[0], to)
				if err != nil {
					return err
				}
				return p.Say(o, w, fmt.Sprintf("%s: %s", w.Run, sentence.Printable(w.Sentence)))
			}
			w, err := d.Why(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			if o.JSON() {
				return WriteJSON(p.Stdout, w)
			}
			return p.writeWhy(w)
		})
	}
	return cmd
}

// namesRun reports whether s is the id of a run, its number or latest.
func namesRun(s string) bool {
	_, err := campaign.ParseRunID(s)
	return err == nil || s == "latest"
}

func (p *Program) writeWhyNumber(n why.Number) error {
	fmt.Fprintln(p.Stdout, sentence.Printable(n.Sentence))
	for _, h := range n.Holds {
		if h.Sentence != n.Sentence {
			fmt.Fprintf(p.Stdout, "held: %s\n", sentence.Printable(h.Sentence))
		}
	}
	if len(n.Runs) == 0 {
		return nil
	}
	fmt.Fprintln(p.Stdout)
	return WriteTable(p.Stdout, []string{"RUN", "QUEUED", "LIMITED BY", "DETAIL"}, Rows(n.Runs, func(r why.Lane) []string {
		return []string{r.Run, strconv.FormatInt(r.Queued, 10), string(r.LimitedBy), r.Detail}
	}))
}

func (p *Program) writeWhy(w why.Answer) error {
	if _, err := fmt.Fprintf(p.Stdout, "%s: %s\n", w.Run, sentence.Printable(w.Sentence)); err != nil {
		return err
	}
	if w.RefusedEvents != "" {
		fmt.Fprintf(p.Stdout, "webhooks: %s\n", sentence.Printable(w.RefusedEvents))
	}
	if w.NoEvents != "" {
		fmt.Fprintf(p.Stdout, "webhooks: %s\n", sentence.Printable(w.NoEvents))
	}
	if w.State.Ended() {
		return nil
	}
	fmt.Fprintf(p.Stdout, "%d of %s queued, %d being sent, %d in doubt; %d of %s done, %d with a sender, %d free, %d waiting\n",
		w.Totals.Queued, sentence.Count(w.Totals.Rows, "row", "rows"), w.Totals.Sending, w.Totals.InDoubt, w.Segments.Done,
		sentence.Count(w.Segments.All, "segment", "segments"), w.Segments.Leased,
		w.Segments.All-w.Segments.Done-w.Segments.Leased-w.Segments.Parked, w.Segments.Parked)
	if !w.Segments.Wake.IsZero() {
		fmt.Fprintf(p.Stdout, "next time to look: %s\n", Clock(w.Segments.Wake))
	}
	if w.Segments.Moved > 0 {
		fmt.Fprintf(p.Stdout, "%s moved to another connection\n", sentence.Count(int64(w.Segments.Moved), "segment was", "segments were"))
	}
	for _, m := range w.Moved {
		fmt.Fprintf(p.Stdout, "moved: %s %s\n", sentence.Printable(cmp.Or(m.Connection, "(no connection yet)")), m.Sentence())
	}
	if w.Limits.Weight > 1 || !w.Due.IsZero() {
		fmt.Fprintf(p.Stdout, "limits: %s\n", w.Limits)
	}
	if !w.Finish.IsZero() {
		fmt.Fprintf(p.Stdout, "at this rate sent by: %s\n", Clock(w.Finish))
	}
	for _, one := range w.Waits {
		of := ""
		if one.Connection != "" {
			of = " of " + one.Connection
		}
		if !one.Until.IsZero() {
			of += " until " + Clock(one.Until)
		}
		what := one.For
		if what == "none" {
			what = "a sender"
		}
		fmt.Fprintf(p.Stdout, "waiting for %s%s: %s\n", what, sentence.Printable(of), sentence.Count(one.Rows, "row", "rows"))
	}
	for _, h := range w.Holds {
		if h.Sentence != w.Sentence {
			fmt.Fprintf(p.Stdout, "held: %s\n", sentence.Printable(h.Sentence))
		}
	}
	if len(w.Lanes) == 0 {
		return nil
	}
	var rows [][]string
	for _, l := range w.Lanes {
		rate, limitedBy, detail := strconv.FormatFloat(l.Rate, 'f', 1, 64), string(l.LimitedBy), l.Detail
		switch {
		case l.LimitedBy == campaign.ByStopped:
			rate, detail = "-", "its sender ended at "+Clock(l.At)
		case l.Stale:
			rate, limitedBy, detail = "-", "stale", "not heard of since "+Clock(l.At)+", when it said: "+detail
		}
		rows = append(rows, []string{l.Connection, l.Sender, rate, limitedBy, detail})
	}
	fmt.Fprintln(p.Stdout)
	return WriteTable(p.Stdout, []string{"CONNECTION", "SENDER", "PER SECOND", "LIMITED BY", "DETAIL"}, rows)
}
