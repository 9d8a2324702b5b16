package command

import (
	"fmt"
	"strconv"

	"github.com/spf13/cobra"

	"campaignd/campaign"
	"campaignd/internal/client/resource"
)

// Limits returns the command limits.
func (p *Program) Limits() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "limits RUN",
		Short: "Show or change how a run shares its numbers: class, weight, rate, deadline",
		Long: `Without a flag it shows the limits of the run and what the plans of its companies allow. A flag changes one limit of
this run, whatever its campaign file says. Senders follow within a second, and the change survives a restart. Runs
of the class transactional go before bulk; within a class, a run with a deadline gets just enough to meet it; the
rest is shared by weight. 10 % of each number is shared by weight alone.`,
		Example: "  campaignd limits latest\n  campaignd limits spring-sale-3 --weight 4 --deadline 6h\n" +
			"  campaignd limits spring-sale-3 --rate none",
		Args: oneRun,
	}
	o := AddOutput(cmd)
	p.AddServer(cmd)
	class := cmd.Flags().String("class", "", "transactional or bulk; initially set by the template's category")
	weight := new(int)
	AddWhole(cmd.Flags(), weight, "weight", 0, "share of a number compared with other runs, 1 to 100")
	rate := cmd.Flags().String("rate", "", "messages per second across all numbers, or none")
	deadline := cmd.Flags().String("deadline", "", "time after launch by which the run should be finished, for example 6h, or none")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		var c campaign.LimitChange
		flags := cmd.Flags()
		if flags.Changed("class") {
			c.Class = (*campaign.Class)(class)
		}
		if flags.Changed("weight") {
			c.Weight = weight
		}
		if flags.Changed("rate") {
			r, err := parseRate(*rate)
			if err != nil {
				return Invalid(err)
			}
			c.Rate = &r
		}
		if flags.Changed("deadline") {
			var d campaign.Duration
			if *deadline != "none" {
				var err error
				if d, err = campaign.ParseDuration(*deadline); err != nil {
					return Invalid(fmt.Errorf("--deadline %w, or none", err))
				}
			}
			c.Deadline = &d
		}
		if err := c.Check(); err != nil {
			return Invalid(err)
		}
		access := ToChange
		if c == (campaign.LimitChange{}) {
			access = ToRead
		}
		return p.WithOperations(cmd.Context(), access, func(d Operations) error {
			var l resource.Limits
			var err error
			if access == ToRead {
				l, err = d.Limits(cmd.Context(), args[0])
			} else {
				l, err = d.ChangeLimits(cmd.Context(), args[0], c)
			}
			if err != nil {
				return err
			}
			if access == ToChange && l.Deadline != 0 {
				if f, err := d.Forecast(cmd.Context(), l.Run); err == nil && !f.DeadlineHolds { // the change is made
					fmt.Fprintf(p.Stderr, "warning: %s; `campaignd forecast %s` says what would help\n", f.Missed(l.Deadline), l.Run)
				}
			}
			sentence := l.Sentence
			l.Sentence = "" // it is for people
			return p.Say(o, l, sentence)
		})
	}
	return cmd
}

// parseRate reads a rate in messages per second; "none" is 0.
func parseRate(s string) (float64, error) {
	if s == "none" {
		return 0, nil
	}
	r, err := strconv.ParseFloat(s, 64)
	if err != nil || r == 0 {
		return 0, fmt.Errorf("--rate %q: want messages per second, for example 40, or none", s)
	}
	return r, nil
}
