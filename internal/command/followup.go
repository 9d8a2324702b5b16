package command

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"campaignd/campaign"
	"campaignd/campaign/launch"
	"campaignd/internal/client/resource"
	"campaignd/internal/sentence"
)

// FollowUp returns the command follow-up.
func (p *Program) FollowUp() *cobra.Command {
	var where []string
	var early, endsComparison, notReplayed, dryRun bool
	var sent SentBefore
	cmd := &cobra.Command{
		Use:   "follow-up RUN --where STATUS[=CODE]...",
		Short: "Start a new run with selected rows of a finished one",
		Long: `A failed row stays failed and is never sent again automatically. This command creates a new run from the rows that
match at least one --where: failed, failed=CODE, refused, refused=CODE (no_code: rows without one), unknown,
unknown=REASON, skipped or skipped=REASON (cancelled, expired, over_limit, frequency_cap, holdout, sent_before,
run_failed; skipped alone excludes holdout and sent_before). skipped=holdout also needs --ends-comparison while the
purchases of the held-out people are still being compared. The same selection always gives the same run, and no row
goes into two follow-ups of one run.

Rows that were answered with a success but without an id, by the service (unknown=accepted_no_id) or by something in front
of it (unknown=not_the_service), are left out unless you name their reason. You carry the risk: most of the people behind
accepted_no_id already have the message and would get it again.`,
		Example: `  campaignd follow-up spring-sale-3 --where failed=131049
  campaignd follow-up spring-sale-3 --where failed --dry-run
  campaignd follow-up latest --where skipped=cancelled --where skipped=expired`,
		Args: oneRun,
	}
	cmd.Flags().StringArrayVar(&where, "where", nil, "status of the rows to send again; repeatable")
	cmd.Flags().BoolVar(&early, "early", false, "also rows that failed with 131049 less than 24 hours ago")
	cmd.Flags().BoolVar(&endsComparison, "ends-comparison", false,
		"also held-out people whose purchases are still being compared")
	flagNotReplayed(cmd, &notReplayed)
	sent.Flags(cmd)
	cmd.Flags().BoolVar(&dryRun, "dry-run", false, "count the rows and create no run")
	o := AddOutput(cmd)
	p.AddServer(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if len(where) == 0 {
			return Invalid(errors.New("--where is missing: say which rows, for example --where failed=131049"))
		}
		for _, s := range where {
			if _, err := launch.ParseWhere(s); err != nil {
				return Invalid(fmt.Errorf("--where %w", err))
			}
		}
		return p.WithOperations(cmd.Context(), ToChange, func(d Operations) error {
			f, err := d.FollowUp(cmd.Context(), args[0], resource.FollowUpRequest{Where: where, Early: early, EndsComparison: endsComparison,
				NotReplayed: notReplayed, LeaveOutSent: sent.LeaveOut, SendAgain: sent.Again, DryRun: dryRun})
			if err != nil {
				return err
			}
			return p.Say(o, f, followUpSentence(f))
		})
	}
	return cmd
}

// SentBefore is the choice of what becomes of people who got the template before.
type SentBefore struct{ LeaveOut, Again bool }

// Flags adds the two flags of the choice, which exclude each other.
func (s *SentBefore) Flags(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&s.LeaveOut, "leave-out-sent", false, "leave out the people who got the template from an earlier run")
	cmd.Flags().BoolVar(&s.Again, "send-again", false, "send also to the people who got the template from an earlier run")
	cmd.MarkFlagsMutuallyExclusive("leave-out-sent", "send-again")
}

// flagNotReplayed adds the flag --not-replayed.
func flagNotReplayed(cmd *cobra.Command, to *bool) {
	cmd.Flags().BoolVar(to, "not-replayed", false,
		"also unknown rows whose events were lost when the ledger went back in time, and not replayed")
}

// followUpSentence says what became of a follow-up.
func followUpSentence(f resource.FollowedUp) string {
	rows := sentence.Count(f.Rows, "row", "rows")
	if f.Existed {
		return fmt.Sprintf("%s was made of the same rows before (%s, %s); nothing was added", f.Run.ID, rows, f.Run.State)
	}
	left := ""
	if f.Elsewhere > 0 {
		left += fmt.Sprintf("; %d left out that are in another follow-up run", f.Elsewhere)
	}
	if f.NoID > 0 {
		left += fmt.Sprintf("; %d left out that the service accepted", f.NoID)
	}
	if f.Released > 0 {
		left += fmt.Sprintf("; %d of them were answered with a success before and may be received twice", f.Released)
	}
	if f.Compared > 0 {
		left += fmt.Sprintf("; the comparison with %s who were held out ends", sentence.Count(f.Compared, "person", "people"))
	}
	if s := f.SentBefore; s.Any() {
		left += "; " + s.String()
	}
	if f.DryRun {
		return fmt.Sprintf("a dry run: %s would be sent to again%s; nothing was changed", rows, left)
	}
	next := "`campaignd serve` sends it"
	if f.Run.State == campaign.WaitingApproval {
		next = "`campaignd approve " + f.Run.ID + "` releases it"
	}
	return fmt.Sprintf("%s: %s%s; %s", f.Run.ID, rows, left, next)
}
