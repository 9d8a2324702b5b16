package main

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"campaignd/campaign"
	"campaignd/internal/client/resource"
	"campaignd/internal/command"
	"campaignd/internal/daemon"
	"campaignd/internal/ledger"
	"campaignd/internal/sentence"
)

func (p *program) cmdLedger() *cobra.Command {
	return command.Group(&cobra.Command{
		Use:   "ledger",
		Short: "Migrate the ledger, or make one that went back in time safe",
	}, p.cmdLedgerMigrate(), p.cmdLedgerQuarantine(), p.cmdLedgerErasures())
}

func (p *program) cmdLedgerMigrate() *cobra.Command {
	return &cobra.Command{
		Use:   "migrate",
		Short: "Bring the ledger's schema up to date while programs keep sending",
		Long: `Every command that opens the ledger for writing does this automatically. Run it separately to migrate before the
first new process starts, as the hook of the Helm chart does, or with the rights of another PostgreSQL role.
Processes of the older version keep running with the newer schema. A ledger that is up to date is left unchanged.`,
		Example: `  campaignd ledger migrate
  CAMPAIGND_LEDGER_FILE=/run/secrets/ledger-url campaignd ledger migrate`,
		Args: command.NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := p.load()
			if err != nil {
				return err
			}
			l, err := daemon.OpenLedger(cmd.Context(), c, false, p.log(c, true))
			if err != nil {
				return err
			}
			if err := l.Close(); err != nil {
				return err
			}
			_, err = fmt.Fprintf(p.Stdout, "%s is up to date\n", sentence.Printable(ledger.Redact(c.Ledger)))
			return err
		},
	}
}

func (p *program) cmdLedgerQuarantine() *cobra.Command {
	o := daemon.QuarantineOptions{}
	cmd := &cobra.Command{
		Use:   "quarantine",
		Short: "Make a ledger that went back in time safe to send from",
		Long: `A restored backup, a copied file or a promoted standby lacks whatever was sent after it was made. Sending from it
would send twice, so ` + "`run`" + ` and ` + "`serve`" + ` refuse. This command pauses every run and puts in doubt the deliveries that
may have been sent in the meantime: the next deliveries of each unfinished segment, as many as the fastest number of
its run sends in --lost and the run's own rate allows, and every retry that was due. Replayed webhooks prove which of them
were sent. The others are not sent again unless a campaign's policies.on_uncertain allows it.

--lost is how long sending continued after the ledger's newest record: seconds after a failover, hours after last night's
backup. Too long only creates more doubts; too short may send twice. --lost 0s states that nothing was sent, for example
after moving the file to another machine. The command changes nothing in a ledger that does not appear to have gone back in
time, unless --force is given: a restored snapshot of a whole volume or server cannot be recognised. No sender may have an
SQLite ledger open.`,
		Example: `  campaignd ledger quarantine --dry-run
  campaignd ledger quarantine --lost 6h
  campaignd ledger quarantine --lost 0s
  campaignd ledger quarantine --force --lost 10m -o json`,
		Args: command.NoArguments,
	}
	cmd.Flags().DurationVar(&o.Lost, "lost", time.Minute, "how long sending went on after the ledger's newest record")
	command.AddWhole(cmd.Flags(), &o.Ahead, "ahead", -1,
		"deliveries of each segment that may have been sent meanwhile (default: the rate of its run x --lost)")
	cmd.Flags().Lookup("ahead").DefValue = "0" // keeps -1 out of the help text
	cmd.Flags().BoolVar(&o.Force, "force", false, "also when the ledger does not seem to have gone back in time")
	cmd.Flags().BoolVar(&o.DryRun, "dry-run", false, "count what would be put in doubt, and change nothing")
	out := command.AddOutput(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if o.Lost < 0 {
			return command.Invalid(fmt.Errorf("--lost %s is negative", o.Lost))
		}
		if cmd.Flags().Changed("ahead") && o.Ahead < 0 {
			return command.Invalid(fmt.Errorf("--ahead %d is negative", o.Ahead))
		}
		c, err := p.load()
		if err != nil {
			return err
		}
		if err := ledgerExists(c); err != nil {
			return err
		}
		o.Log = p.log(c, true)
		q, err := daemon.Quarantine(cmd.Context(), c, o)
		if err != nil {
			return err
		}
		if out.JSON() {
			return command.WriteJSON(p.Stdout, q)
		}
		return p.writeQuarantined(q, o)
	}
	return cmd
}

// writeQuarantined writes what the command did and what the operator does next.
func (p *program) writeQuarantined(q daemon.Quarantined, o daemon.QuarantineOptions) error {
	lost := o.Lost
	is, are := "is", "are"
	if q.DryRun {
		is, are = "would be", "would be"
	}
	if !q.WentBack && !o.Force {
		_, err := fmt.Fprintf(p.Stdout, "%s did not go back in time: nothing %s done (--force quarantines it all the same)\n",
			sentence.Printable(q.Ledger), is)
		return err
	}
	went := "went back in time"
	if !q.WentBack {
		went = is + " quarantined although it does not seem to have gone back in time"
	}
	fmt.Fprintf(p.Stdout, "%s %s; its newest record is of %s%s\n", sentence.Printable(q.Ledger), went, command.Clock(q.Newest), ago(q.Newest))
	how := "as --ahead says"
	if q.Rate > 0 {
		how = fmt.Sprintf("%.4g a second over %s for %s", q.Rate, sentence.Printable(q.Connection), lost)
	}
	switch {
	case len(q.Runs) == 0:
		fmt.Fprintln(p.Stdout, "no run is unfinished, so no delivery can be in doubt")
	case q.Ahead == 0:
		fmt.Fprintf(p.Stdout, "no delivery %s put in doubt, as nothing was sent\n", is)
	default:
		fmt.Fprintf(p.Stdout, "%d deliveries %s put in doubt: up to %d of each unfinished segment (%s), "+
			"retries that were due, and what was in flight\n", q.Doubts, are, q.Ahead, how)
	}
	for _, r := range q.Runs {
		if r.OwnRate > 0 && q.Ahead > 0 {
			fmt.Fprintf(p.Stdout, "up to %d of each segment of %s, whose own rate is %.4g a second: if it was raised in the lost time, "+
				"give --ahead\n", r.Ahead, r.Run, r.OwnRate)
		}
	}
	if len(q.Assumed) > 0 {
		fmt.Fprintf(p.Stdout, "the rate of %s is not known and was assumed: set numbers.CONNECTION.rate, or give --ahead\n",
			sentence.Printable(strings.Join(q.Assumed, ", ")))
	}
	if len(q.Runs) > 0 {
		var rows [][]string
		for _, r := range q.Runs {
			state := command.StateOf(resource.Run{State: r.State, Reason: r.Reason})
			rows = append(rows, []string{r.Run, state, strconv.FormatInt(r.InDoubt, 10), strconv.FormatInt(r.Queued, 10)})
		}
		fmt.Fprintln(p.Stdout)
		heads := []string{"RUN", "STATE", "IN DOUBT", "QUEUED"}
		if q.DryRun {
			heads = []string{"RUN", "STATE", "IN DOUBT NOW", "QUEUED NOW"}
		}
		if err := command.WriteTable(p.Stdout, heads, rows); err != nil {
			return err
		}
	}
	for _, f := range q.Firings {
		fmt.Fprintf(p.Stdout, "the schedule of %s, due %s, may have been launched in the lost time: ",
			sentence.Printable(f.Campaign), command.Clock(f.At))
		if f.Run == "" {
			fmt.Fprintln(p.Stdout, "it would count as launched")
		} else {
			fmt.Fprintf(p.Stdout, "it counts as launched (%s); if it was not, `campaignd run` launches it\n", f.Run)
		}
	}
	if q.DryRun {
		_, err := fmt.Fprintf(p.Stdout, "\nNothing was changed.\n")
		return err
	}
	return p.writeAfterQuarantine(q, lost)
}

// writeAfterQuarantine lists the operator's next steps, in the order in which they are safe.
func (p *program) writeAfterQuarantine(q daemon.Quarantined, lost time.Duration) error {
	var steps []string
	if lost > 0 {
		steps = append(steps, fmt.Sprintf("If anything was sent later than %s after the newest record: "+
			"`campaignd ledger quarantine --force --lost TIME`.", lost))
	}
	importing, paused := false, false
	for _, r := range q.Runs {
		importing = importing || r.State == campaign.Importing && q.Ahead > 0
		paused = paused || r.Reason == campaign.PausedByLedger
	}
	if importing {
		steps = append(steps, "A run was being imported. Its import ends in a pause: then run `campaignd ledger quarantine --force` again, "+
			"for the rows that are not imported yet.")
	}
	if lost > 0 {
		noted := ""
		if q.Erasures > 0 {
			noted = fmt.Sprintf(" %s here.", sentence.Count(q.Erasures, "is noted", "are noted"))
		}
		steps = append(steps,
			"`campaignd ledger erasures` on each machine and in each pod that erased numbers in the lost time."+noted+
				"\n     The restored ledger has these people again.",
			fmt.Sprintf("While `campaignd serve` or `serve --role intake` runs: `campaignd webhooks replay --since %s`.\n"+
				"     The webhooks prove what was sent, and bring back opt-outs.", q.Since.Format(time.RFC3339)),
			"Runs launched in the lost time are not in this ledger: do not launch their lists again.")
	}
	if paused {
		steps = append(steps, "`campaignd resume RUN` for each paused run. Rows that no webhook proves end as unknown; `campaignd resolve RUN "+
			"--unknown resend`\n     sends to them once the replayed webhooks have come.")
	} else {
		steps = append(steps, "No run was paused: `campaignd run` and `serve` go on.")
	}
	fmt.Fprintf(p.Stdout, "\nNext:\n")
	for i, s := range steps {
		if _, err := fmt.Fprintf(p.Stdout, "  %d. %s\n", i+1, s); err != nil {
			return err
		}
	}
	return nil
}

// ago returns how long ago t was, rounded to seconds, and "" for the zero time.
func ago(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return " (" + max(0, time.Since(t)).Round(time.Second).String() + " ago)"
}
