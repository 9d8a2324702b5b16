package main

import (
	"fmt"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"campaignd/campaign"
	"campaignd/internal/daemon"
)

// limitsFacts are the limits of a run for scripts.
type limitsFacts struct {
	Run string `json:"run"`
	campaign.RunLimits
}

func (p *program) cmdLimits() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "limits RUN",
		Short: "Show or change how a run shares its numbers: class, weight, rate, deadline",
		Long: `Without a flag it shows the limits of the run. A flag changes one of them for this run, whatever its campaign file says;
its senders follow within a second, and a restart keeps the change. Runs of the class transactional come before bulk; within a
class a run with a deadline gets just enough to meet it; the rest goes by weight. 10 % of a number are shared by weight alone.`,
		Example: "  campaignd limits latest\n  campaignd limits spring-sale-3 --weight 4 --deadline 6h\n" +
			"  campaignd limits spring-sale-3 --rate none",
		Args: oneRun,
	}
	o := addOutput(cmd)
	class := cmd.Flags().String("class", "", "transactional or bulk; at the launch the template's category says it")
	weight := cmd.Flags().Int("weight", 0, "part of a number beside other runs, 1 to 100")
	rate := cmd.Flags().String("rate", "", "messages per second over all numbers, or none")
	deadline := cmd.Flags().String("deadline", "", "time after the launch at which it is to be done, for example 6h, or none")
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
				return usage(err)
			}
			c.Rate = &r
		}
		if flags.Changed("deadline") {
			var d campaign.Duration
			if *deadline != "none" {
				var err error
				if d, err = campaign.ParseDuration(*deadline); err != nil {
					return usage(fmt.Errorf("--deadline %w, or none", err))
				}
			}
			c.Deadline = &d
		}
		if err := c.Check(); err != nil {
			return usage(err)
		}
		access := toChange
		if c == (campaign.LimitChange{}) {
			access = toRead
		}
		return p.withRunOf(cmd.Context(), access, args[0], func(l campaign.Ledger, cfg *daemon.Config, r campaign.Run) error {
			d, err := campaign.ParseStored(r.ID(), r.Definition)
			if err != nil {
				return err
			}
			sentence := fmt.Sprintf("%s: %s", r.ID(), r.LimitsNow(d))
			if access == toChange {
				after, err := campaign.ChangeLimits(cmd.Context(), l, r, c)
				if err != nil {
					return err
				}
				r, sentence = after.Run, after.Sentence
				if missed, err := daemon.DeadlineMissed(cmd.Context(), cfg, l, r, time.Now()); err == nil && missed != "" { // the change is made
					fmt.Fprintf(p.stderr, "warning: %s; `campaignd forecast %s` says what would help\n", missed, r.ID())
				}
			}
			if o.json() {
				return writeJSON(p.stdout, limitsFacts{r.ID(), r.LimitsNow(d)})
			}
			_, err = fmt.Fprintln(p.stdout, sentence)
			return err
		})
	}
	return cmd
}

// parseRate reads a rate in messages per second; none is 0.
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
