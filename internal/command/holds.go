package command

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"campaignd/campaign"
	"campaignd/campaign/wording"
	"campaignd/internal/client/resource"
)

// Holds returns the command holds.
func (p *Program) Holds() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "holds",
		Short: "List what is held back and why; add and lift holds",
		Long: `While a hold lasts, nothing of its scope is sent: a key, a company, a business account, a template of one account, a
portfolio, a connection or a run. Refusals of the service, failed messages, events and breakers place holds
automatically, and most of those expire by themselves. Everything else keeps sending. All processes obey a hold
within a second.`,
		Example: `  campaignd holds
  campaignd holds add connection conn_1 --for 2h --reason maintenance
  campaignd holds lift connection conn_1`,
		Args: NoSubcommand,
	}
	list := p.cmdHoldsList()
	o, all := holdsFlags(cmd)
	p.AddServer(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error { return p.listHolds(cmd.Context(), *all, o) }
	cmd.AddCommand(list, p.cmdHoldsAdd(), p.cmdHoldsLift())
	return cmd
}

func holdsFlags(cmd *cobra.Command) (*Output, *bool) {
	all := cmd.Flags().Bool("all", false, "also expired and lifted ones")
	return AddOutput(cmd), all
}

func (p *Program) cmdHoldsList() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "list",
		Short:   "List the holds, each in one sentence",
		Example: "  campaignd holds list\n  campaignd holds list --all -o json",
		Args:    NoArguments,
	}
	o, all := holdsFlags(cmd)
	p.AddServer(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error { return p.listHolds(cmd.Context(), *all, o) }
	return cmd
}

func (p *Program) listHolds(ctx context.Context, ended bool, o *Output) (err error) {
	var states []wording.HoldState
	err = p.WithOperations(ctx, ToRead, func(d Operations) error {
		states, err = d.Holds(ctx, ended)
		return err
	})
	if err != nil {
		return err
	}
	return p.sayHolds(o, states, "nothing is held")
}

// sayHolds prints the holds: as JSON, or one sentence for each. Without holds it prints the
// sentence none.
func (p *Program) sayHolds(o *Output, states []wording.HoldState, none string) error {
	var sentences []string
	for _, s := range states {
		sentences = append(sentences, paragraph(s.Sentence))
	}
	return p.Say(o, states, cmp.Or(strings.Join(sentences, "\n"), paragraph(none)))
}

// scopeAndID accepts a scope and an id.
func scopeAndID(cmd *cobra.Command, args []string) error {
	if len(args) != 2 {
		return fmt.Errorf("want a SCOPE and an ID; for example `%s connection conn_1`", cmd.CommandPath())
	}
	return nil
}

func (p *Program) cmdHoldsAdd() *cobra.Command {
	var length time.Duration
	var reason string
	cmd := &cobra.Command{
		Use:   "add SCOPE ID",
		Short: "Hold a scope, for some time or until the hold is lifted",
		Long: `SCOPE is key, company, account, template, portfolio, connection or run; the ID * means everything in the scope. A
template is ACCOUNT/NAME/LANGUAGE, or /NAME/LANGUAGE for every account. Answers to requests in flight are recorded.
Without --for, only ` + "`campaignd holds lift`" + ` removes the hold. Adding the same hold again replaces its end time and
reason.`,
		Example: `  campaignd holds add connection conn_1 --for 2h --reason maintenance
  campaignd holds add template /spring_sale/en_US
  campaignd holds add run latest -o json`,
		Args: scopeAndID,
	}
	cmd.Flags().DurationVar(&length, "for", 0, "how long; without it, until the hold is lifted")
	cmd.Flags().StringVar(&reason, "reason", "", "why, for whoever finds it")
	o := AddOutput(cmd)
	p.AddServer(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) (err error) {
		if length < 0 || cmd.Flags().Changed("for") && length == 0 {
			return Invalid(fmt.Errorf("--for %v is not positive", length))
		}
		q := resource.HoldRequest{Scope: campaign.HoldScope(args[0]), ID: args[1], Reason: reason}
		if length > 0 {
			q.For = (*campaign.Duration)(&length)
		}
		return p.WithOperations(cmd.Context(), ToChange, func(d Operations) error {
			h, err := d.AddHold(cmd.Context(), q)
			if err != nil {
				return err
			}
			return p.Say(o, h, paragraph(h.Sentence))
		})
	}
	return cmd
}

func (p *Program) cmdHoldsLift() *cobra.Command {
	var reason string
	var all bool
	cmd := &cobra.Command{
		Use:   "lift SCOPE ID | --all --reason REASON",
		Short: "Remove the holds of a scope and id, or all with one reason",
		Long: `Removes every hold of the scope and id, or only the one with --reason. --all removes every hold with a reason, such
as 131042, or of a scope, such as account. Sending resumes within a second. If the cause persists, the next refusal
places the hold again.`,
		Example: `  campaignd holds lift connection conn_1
  campaignd holds lift account acc_1 --reason 131042
  campaignd holds lift --all --reason account`,
	}
	cmd.Flags().StringVar(&reason, "reason", "", "only the holds with this reason; with --all also a scope")
	cmd.Flags().BoolVar(&all, "all", false, "all holds with the reason, in any scope")
	cmd.Args = func(cmd *cobra.Command, args []string) error {
		switch {
		case !all:
			return scopeAndID(cmd, args)
		case len(args) > 0 || reason == "":
			return errors.New("--all needs --reason, and no SCOPE and ID: `campaignd holds` lists the reasons")
		}
		return nil
	}
	o := AddOutput(cmd)
	p.AddServer(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		q := resource.LiftRequest{Reason: reason}
		if len(args) > 0 {
			q.Scope, q.ID = campaign.HoldScope(args[0]), args[1]
		}
		return p.lift(cmd.Context(), q, o)
	}
	return cmd
}

// lift ends holds, and says which.
func (p *Program) lift(ctx context.Context, q resource.LiftRequest, o *Output) (err error) {
	var states []wording.HoldState
	err = p.WithOperations(ctx, ToChange, func(d Operations) error {
		states, err = d.LiftHolds(ctx, q)
		return err
	})
	if err != nil {
		return err
	}
	none := fmt.Sprintf("%s %s was not held", q.Scope, q.ID)
	if q.Scope == "" {
		none = "nothing is held for the reason or in the scope " + q.Reason
	}
	return p.sayHolds(o, states, none+"; `campaignd holds` lists what is")
}

// completeHold completes a scope, and after it the ids that are held in it.
func (p *Program) completeHold(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	var words []string
	switch len(args) {
	case 0:
		for _, s := range campaign.HoldScopes {
			words = append(words, string(s))
		}
	case 1:
		var holds []wording.HoldState
		err := p.WithOperations(cmd.Context(), ToRead, func(d Operations) (err error) {
			holds, err = d.Holds(cmd.Context(), false)
			return err
		})
		if err != nil {
			break
		}
		for _, h := range holds {
			if string(h.Scope) == args[0] && !slices.Contains(words, h.ID) {
				words = append(words, h.ID)
			}
		}
	}
	return words, cobra.ShellCompDirectiveNoFileComp
}
