package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"campaignd/campaign"
	"campaignd/internal/daemon"
)

// controlFunc writes one wanted state of a run into the ledger.
type controlFunc func(context.Context, campaign.RunLedger, campaign.Run) (campaign.Controlled, error)

// control makes a command that calls do for one run and prints the answer.
func (p *program) control(use, short, long string, do controlFunc) *cobra.Command {
	cmd := &cobra.Command{
		Use:     use + " RUN",
		Short:   short,
		Long:    long,
		Example: "  campaignd " + use + " latest\n  campaignd " + use + " spring-sale-3",
		Args:    oneRun,
	}
	o := addOutput(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		return p.withRun(cmd.Context(), toChange, args[0], func(l campaign.Ledger, r campaign.Run) error {
			s, err := do(cmd.Context(), l, r)
			if err != nil {
				return err
			}
			if o.json() {
				return writeJSON(p.stdout, factsOf(s.Run))
			}
			_, err = fmt.Fprintln(p.stdout, s.Sentence)
			return err
		})
	}
	return cmd
}

func (p *program) cmdPause() *cobra.Command {
	return p.control("pause", "Stop sending a run; what is in flight is recorded",
		"Writes the request into the ledger. The sending process obeys it from its next intent on, within a fraction of a second.",
		campaign.PauseRun)
}

func (p *program) cmdResume() *cobra.Command {
	return p.control("resume", "Let a paused run go on",
		"Ends a pause, whether the operator, a refusal of the service or the breaker caused it.", campaign.ResumeRun)
}

func (p *program) cmdCancel() *cobra.Command {
	return p.control("cancel", "End a run: what is queued is not sent any more",
		`Queued rows become skipped(cancelled): at once when no process is sending, else by the sending process. The answers to
requests in flight are recorded. A cancelled run cannot be resumed.`,
		func(ctx context.Context, l campaign.RunLedger, r campaign.Run) (campaign.Controlled, error) {
			s, err := campaign.CancelRun(ctx, l, r)
			if err != nil {
				return s, err
			}
			return p.endCancelled(ctx, s)
		})
}

// endCancelled finishes a cancelled run in this process when no sender has its ledger open.
func (p *program) endCancelled(ctx context.Context, s campaign.Controlled) (_ campaign.Controlled, err error) {
	c, err := p.load()
	if err != nil {
		return s, err
	}
	run, err := daemon.EndCancelled(ctx, c, s.Run.No, cancelBudget, p.log(c, true))
	if errors.Is(err, campaign.ErrLocked) {
		return s, nil // the sender does it
	}
	if err == nil && run.State.Ended() {
		s = campaign.Controlled{Run: run, Sentence: fmt.Sprintf("%s is %s; `campaignd report %[1]s` tells who got it", run.ID(), run.State)}
	}
	return s, err
}

// cancelBudget is how long cancel waits for the run to end. Skipping a million rows takes a few
// seconds.
const cancelBudget = 30 * time.Second
