package command

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"campaignd/campaign"
	"campaignd/campaign/launch"
	"campaignd/internal/client/resource"
	"campaignd/internal/sentence"
)

// Resolve returns the command resolve.
func (p *Program) Resolve() *cobra.Command {
	var unknown string
	var notReplayed bool
	var sent SentBefore
	cmd := &cobra.Command{
		Use:   "resolve RUN [--unknown resend|keep]",
		Short: "Show the rows that may or may not have been sent, and decide what to do about them",
		Long: `A row whose answer never arrived is in doubt. If no webhook settles it before its window is over, it becomes
unknown. This command prints the evidence. With --unknown resend the unknown rows go into a follow-up run (a
recipient who did get the first message gets a second one); with --unknown keep they stay as they are. Rows that the
service answered with a success but without an id are not included: only follow-up --where unknown=accepted_no_id
(or =not_the_service) sends those again.

After the ledger went back in time, resend waits until the service has posted the lost events again (webhooks replay),
because they prove who got the message. --not-replayed sends without them; the log of actions records that.`,
		Example: `  campaignd resolve latest
  campaignd resolve spring-sale-3 --unknown resend
  campaignd resolve spring-sale-3 --unknown keep`,
		Args: oneRun,
	}
	cmd.Flags().StringVar(&unknown, "unknown", "", "resend or keep")
	flagNotReplayed(cmd, &notReplayed)
	sent.Flags(cmd)
	o := AddOutput(cmd)
	p.AddServer(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if unknown != "" && unknown != "resend" && unknown != "keep" {
			return Invalid(fmt.Errorf("--unknown %q is neither resend nor keep", unknown))
		}
		if notReplayed && unknown != "resend" {
			return Invalid(errors.New("--not-replayed needs --unknown resend: without it nothing is sent again"))
		}
		return p.WithOperations(cmd.Context(), ToChange, func(d Operations) error {
			seen, err := d.Doubts(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			if seen.Late > 0 {
				fmt.Fprintf(p.Stderr, "campaignd: %s\n", lateWebhooks(seen))
			}
			if !seen.NotReplayed.IsZero() {
				fmt.Fprintf(p.Stderr, "campaignd: events since %s, which prove who got the message, were lost and have not arrived since: "+
					"`campaignd webhooks replay --since %[1]s`\n", seen.NotReplayed.UTC().Format(time.RFC3339))
			}
			var next *resource.FollowedUp
			if unknown == "resend" {
				f, err := d.FollowUp(cmd.Context(), seen.Run, resource.FollowUpRequest{Where: []string{string(campaign.Unknown)},
					NotReplayed: notReplayed, LeaveOutSent: sent.LeaveOut, SendAgain: sent.Again})
				if err != nil {
					return err
				}
				next = &f
			}
			if o.JSON() {
				return WriteJSON(p.Stdout, resolvedFacts{seen, next})
			}
			return p.writeResolved(seen, next, unknown == "keep")
		})
	}
	return cmd
}

// lateWebhooks warns of webhooks that may still come.
func lateWebhooks(u launch.Uncertainty) string {
	return fmt.Sprintf("webhooks about %s of %s may still come until %s, because none were taken for a while: "+
		"a recipient who is sent to again before then may get the message twice",
		sentence.Count(u.Late, "unknown row", "unknown rows"), u.Run, Clock(u.LateUntil))
}

// resolvedFacts is the answer of resolve in JSON.
type resolvedFacts struct {
	launch.Uncertainty
	FollowUp *resource.FollowedUp `json:"follow_up,omitempty"`
}

func (p *Program) writeResolved(u launch.Uncertainty, f *resource.FollowedUp, keep bool) error {
	unknown := sentence.Count(u.Unknown, "row", "rows")
	if _, err := fmt.Fprintf(p.Stdout, "%s: %s unknown, %d still in doubt\n", u.Run, unknown, u.InDoubt); err != nil {
		return err
	}
	for _, reason := range slices.Sorted(maps.Keys(u.ByReason)) {
		fmt.Fprintf(p.Stdout, "  %d after %s\n", u.ByReason[reason], sentence.Printable(reason))
	}
	if len(u.Rows) > 0 {
		var rows [][]string
		for _, r := range u.Rows {
			row, attempts := strconv.FormatInt(r.Row, 10), strconv.Itoa(r.Attempts)
			rows = append(rows, []string{row, r.To, string(r.Status), r.Reason, attempts, r.Connection, r.RequestID})
		}
		fmt.Fprintln(p.Stdout)
		if err := WriteTable(p.Stdout, []string{"ROW", "TO", "STATUS", "REASON", "ATTEMPTS", "CONNECTION", "REQUEST"}, rows); err != nil {
			return err
		}
		if more := u.Unknown + u.InDoubt - int64(len(u.Rows)); more > 0 {
			fmt.Fprintf(p.Stdout, "and %d more: `campaignd report %s --format csv` has them all\n", more, u.Run)
		}
	}
	switch {
	case f != nil:
		_, err := fmt.Fprintf(p.Stdout, "\n%s\n", followUpSentence(*f))
		return err
	case keep:
		_, err := fmt.Fprintf(p.Stdout, "\nKept as they are. A late webhook still moves them to what it proves.\n")
		return err
	case u.Unknown > 0:
		for _, reason := range u.WithoutID() {
			fmt.Fprintf(p.Stdout, "\nThe rows after %s were answered with a success. `campaignd follow-up %s --where unknown=%[1]s`\n"+
				"sends them all the same; a recipient who got the message gets it twice.\n", reason, u.Run)
		}
		_, err := fmt.Fprintf(p.Stdout, "\nDecide with --unknown resend (a recipient who got the message gets it twice) or --unknown keep.\n")
		return err
	}
	return nil
}
