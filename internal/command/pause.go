package command

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"campaignd/campaign"
	"campaignd/internal/client/resource"
	"campaignd/internal/sentence"
)

// controlFunc asks for one wanted state of a run.
type controlFunc func(Operations, context.Context, string) (resource.Controlled, error)

// control makes a command that calls do for one run and prints the answer in the form of its -o.
func (p *Program) control(use, short, long string, do controlFunc) (*cobra.Command, *Output) {
	cmd := &cobra.Command{
		Use:     use + " RUN",
		Short:   short,
		Long:    long,
		Example: "  campaignd " + use + " latest\n  campaignd " + use + " spring-sale-3",
		Args:    oneRun,
	}
	o := AddOutput(cmd)
	p.AddServer(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		return p.WithOperations(cmd.Context(), ToChange, func(d Operations) error {
			s, err := do(d, cmd.Context(), args[0])
			if err != nil {
				return err
			}
			return p.Say(o, s.Run, s.Sentence)
		})
	}
	return cmd, o
}

// Pause returns the command pause.
func (p *Program) Pause() *cobra.Command {
	cmd, _ := p.control("pause", "Stop sending a run; what is in flight is recorded",
		"Writes the request into the ledger. The sender stops within a second.",
		Operations.Pause)
	return cmd
}

// Resume returns the command resume.
func (p *Program) Resume() *cobra.Command {
	cmd, o := p.control("resume", "Resume a paused run, or all of them",
		`Resumes a run, whatever paused it: operator, canary, breaker (the same message fault again and again, or too many
opt-outs) or ledger (it went back in time). --all resumes every paused run, or with --reason only the runs paused
for that reason. Refusals of the service do not pause runs; they place holds. --all with the scope of a hold, such
as account, or with its reason, such as 131042, removes those holds, as `+"`campaignd holds lift`"+` does.`, Operations.Resume)
	cmd.Use = "resume RUN | --all [--reason REASON]"
	cmd.Example += "\n  campaignd resume --all --reason breaker\n  campaignd resume --all --reason account"
	var all bool
	var reason string
	cmd.Flags().BoolVar(&all, "all", false, "every paused run")
	cmd.Flags().StringVar(&reason, "reason", "", "with --all: operator, canary, breaker or ledger; or the scope or the reason of a hold")
	cmd.Args = func(cmd *cobra.Command, args []string) error {
		if !all && reason == "" {
			return oneRun(cmd, args)
		}
		return allRuns(all, reason, args)
	}
	one := cmd.RunE
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if !all {
			return one(cmd, args)
		}
		if reason != "" && !slices.Contains(campaign.PauseReasons(), campaign.PauseReason(reason)) {
			return p.lift(cmd.Context(), resource.LiftRequest{Reason: reason}, o)
		}
		return p.resumeAll(cmd.Context(), campaign.PauseReason(reason), o)
	}
	return cmd
}

// ended reports whether a run has ended.
func ended(ctx context.Context, d Operations, id string) bool {
	r, err := d.Run(ctx, id)
	return err == nil && r.State.Ended()
}

// allRuns accepts --all without a run, and the reasons of a pause and of a hold. Those of the
// service have digits.
func allRuns(all bool, reason string, args []string) error {
	switch {
	case !all:
		return errors.New("--reason chooses among all paused runs: give --all too, or a RUN without --reason")
	case len(args) > 0:
		return fmt.Errorf("--all and the run %s: give one of them", args[0])
	case reason == "" || slices.Contains(campaign.PauseReasons(), campaign.PauseReason(reason)),
		slices.Contains(campaign.HoldScopes, campaign.HoldScope(reason)), strings.ContainsAny(reason, "0123456789"):
		return nil
	}
	var known []string
	for _, r := range campaign.PauseReasons() {
		known = append(known, string(r))
	}
	for _, s := range campaign.HoldScopes {
		known = append(known, string(s))
	}
	return fmt.Errorf("--reason %q pauses nothing, and is no code of a hold such as 131042; %s", reason, sentence.DidYouMean(reason, known))
}

// resumeAll resumes the paused runs of a reason; "" is any. A run that cannot be resumed keeps no
// other one.
func (p *Program) resumeAll(ctx context.Context, reason campaign.PauseReason, o *Output) error {
	runs, sentences := []resource.Run{}, []string{}
	err := p.WithOperations(ctx, ToChange, func(d Operations) error {
		all, err := d.Runs(ctx, campaign.RunFilter{Unfinished: true})
		if err != nil {
			return err
		}
		for _, r := range all {
			if r.Wanted == campaign.WantCancel || r.State != campaign.Paused && r.Wanted != campaign.WantPause || !pausedBy(r, reason) {
				continue
			}
			s, failure := d.Resume(ctx, r.ID)
			switch {
			case notNow(failure) && ended(ctx, d, r.ID): // meanwhile
			case failure != nil && ctx.Err() != nil:
				return failure
			case failure != nil:
				err = errors.Join(err, fmt.Errorf("%s is not resumed: %w", r.ID, failure))
			default:
				runs, sentences = append(runs, s.Run), append(sentences, s.Sentence)
			}
		}
		return err
	})
	if err != nil && len(runs) == 0 {
		return err
	}
	if len(sentences) == 0 {
		sentences = append(sentences, "no run is paused; `campaignd holds` lists what else may not be sent")
		if reason != "" {
			sentences[0] = fmt.Sprintf("no run is paused (%s); `campaignd runs` lists the runs, `campaignd holds` what else may not be sent", reason)
		}
	}
	return errors.Join(err, p.Say(o, runs, strings.Join(sentences, "\n")))
}

// pausedBy reports whether a run is paused, or to be paused, for a reason; "" is any.
func pausedBy(r resource.Run, reason campaign.PauseReason) bool {
	if r.State != campaign.Paused {
		return reason == "" || reason == campaign.PausedByOperator
	}
	return reason == "" || reason == r.Reason
}

// Cancel returns the command cancel.
func (p *Program) Cancel() *cobra.Command {
	cmd, _ := p.control("cancel", "Cancel a run: queued rows are no longer sent",
		`Queued rows become skipped(cancelled): immediately if no process is sending, otherwise by the sending process.
Answers to requests in flight are recorded. A cancelled run cannot be resumed.`,
		Operations.Cancel)
	return cmd
}
