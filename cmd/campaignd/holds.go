package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"campaignd/campaign"
)

func (p *program) cmdHolds() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "holds",
		Short: "List what may not be sent now, and why; add and lift holds",
		Long: `A hold says that nothing of one scope may be sent now: a key, a company, a business account, a template of one account, a
portfolio, a connection or a run. Refusals of the service, failed messages, events and breakers begin holds by themselves, and most
end by themselves. Everything else goes on. All processes obey a hold within a second.`,
		Example: `  campaignd holds
  campaignd holds add connection conn_1 --for 2h --reason maintenance
  campaignd holds lift connection conn_1`,
		Args: noSubcommand,
	}
	list := p.cmdHoldsList()
	o, all := holdsFlags(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error { return p.listHolds(cmd.Context(), *all, o.json()) }
	cmd.AddCommand(list, p.cmdHoldsAdd(), p.cmdHoldsLift())
	return cmd
}

func holdsFlags(cmd *cobra.Command) (*output, *bool) {
	all := cmd.Flags().Bool("all", false, "also those that have ended")
	return addOutput(cmd), all
}

func (p *program) cmdHoldsList() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "list",
		Short:   "List the holds, each in one sentence",
		Example: "  campaignd holds list\n  campaignd holds list --all -o json",
		Args:    noArguments,
	}
	o, all := holdsFlags(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error { return p.listHolds(cmd.Context(), *all, o.json()) }
	return cmd
}

func (p *program) listHolds(ctx context.Context, ended, json bool) (err error) {
	l, _, err := p.openLedger(ctx, toRead)
	if err != nil {
		return err
	}
	defer closing(l, &err)
	holds, err := l.Holds(ctx, ended)
	if err != nil {
		return err
	}
	now := time.Now()
	states := campaign.HoldStates(holds, now)
	if json {
		return writeJSON(p.stdout, states)
	}
	if len(states) == 0 {
		_, err = fmt.Fprintln(p.stdout, "nothing is held")
		return err
	}
	for _, s := range states {
		if _, err := fmt.Fprintln(p.stdout, printable(s.Sentence)); err != nil {
			return err
		}
	}
	return nil
}

// scopeAndID accepts a scope and an id.
func scopeAndID(cmd *cobra.Command, args []string) error {
	if len(args) != 2 {
		return fmt.Errorf("want a SCOPE and an ID; for example `%s connection conn_1`", cmd.CommandPath())
	}
	return nil
}

// held returns the scope and the id of the arguments. The id of a run may be written as for every
// other command.
func held(ctx context.Context, l campaign.RunLedger, args []string) (campaign.HoldScope, string, error) {
	scope, id := campaign.HoldScope(args[0]), args[1]
	if !slices.Contains(campaign.HoldScopes, scope) {
		return "", "", usage(fmt.Errorf("scope %q is unknown; give %s", args[0], scopeWords()))
	}
	switch {
	case id == "":
		return "", "", usage(errors.New("the ID is empty"))
	case scope == campaign.HoldTemplate && id != campaign.HoldAny && strings.Count(id, "/") < 2:
		return "", "", usage(fmt.Errorf("template %q: want ACCOUNT/NAME/LANGUAGE; /NAME/LANGUAGE is the template of every account", id))
	case scope == campaign.HoldRun && id != campaign.HoldAny:
		if id != "latest" {
			if _, err := campaign.ParseRunID(id); err != nil {
				return "", "", usage(err)
			}
		}
		r, err := campaign.FindRun(ctx, l, id)
		if err != nil {
			return "", "", err
		}
		id = r.ID()
	}
	return scope, id, nil
}

func scopeWords() string {
	var words []string
	for _, s := range campaign.HoldScopes {
		words = append(words, string(s))
	}
	return strings.Join(words[:len(words)-1], ", ") + " or " + words[len(words)-1]
}

func (p *program) cmdHoldsAdd() *cobra.Command {
	var length time.Duration
	var reason string
	cmd := &cobra.Command{
		Use:   "add SCOPE ID",
		Short: "Hold a scope, for a time or until it is lifted",
		Long: `SCOPE is key, company, account, template, portfolio, connection or run; ID * is all of a scope. A template is
ACCOUNT/NAME/LANGUAGE, or /NAME/LANGUAGE for every account. Answers to requests in flight are recorded. Without --for only
` + "`campaignd holds lift`" + ` ends the hold. Adding it again replaces its end and its reason.`,
		Example: `  campaignd holds add connection conn_1 --for 2h --reason maintenance
  campaignd holds add template /spring_sale/en_US
  campaignd holds add run latest -o json`,
		Args: scopeAndID,
	}
	cmd.Flags().DurationVar(&length, "for", 0, "how long; without it, until it is lifted")
	cmd.Flags().StringVar(&reason, "reason", "", "why, for those who find it")
	o := addOutput(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) (err error) {
		if length < 0 || cmd.Flags().Changed("for") && length == 0 {
			return usage(fmt.Errorf("--for %v is not positive", length))
		}
		l, _, err := p.openLedger(cmd.Context(), toChange)
		if err != nil {
			return err
		}
		defer closing(l, &err)
		scope, id, err := held(cmd.Context(), l, args)
		if err != nil {
			return err
		}
		now := time.Now().UTC()
		h := campaign.Hold{Scope: scope, ID: id, Reason: string(campaign.HoldByOperator), Detail: reason,
			Source: campaign.HoldByOperator, Since: now}
		if length > 0 {
			h.Until = now.Add(length)
		}
		if _, err := l.AddHolds(cmd.Context(), []campaign.Hold{h}); err != nil {
			return err
		}
		if o.json() {
			return writeJSON(p.stdout, h.State(now))
		}
		_, err = fmt.Fprintln(p.stdout, printable(h.Sentence(now)))
		return err
	}
	return cmd
}

func (p *program) cmdHoldsLift() *cobra.Command {
	var reason string
	var all bool
	cmd := &cobra.Command{
		Use:   "lift SCOPE ID | --all --reason REASON",
		Short: "End the holds of a scope and id, or all of a reason",
		Long: `Ends every hold of the scope and id, or with --reason one of them. --all ends every hold of a reason, such as 131042, or
of a scope, such as account. Sending goes on within a second. If the cause is not gone, the next refusal begins the hold
again.`,
		Example: `  campaignd holds lift connection conn_1
  campaignd holds lift account acc_1 --reason 131042
  campaignd holds lift --all --reason account`,
	}
	cmd.Flags().StringVar(&reason, "reason", "", "only the holds with this reason; with --all also a scope")
	cmd.Flags().BoolVar(&all, "all", false, "the holds of a reason, whatever they are about")
	cmd.Args = func(cmd *cobra.Command, args []string) error {
		switch {
		case !all:
			return scopeAndID(cmd, args)
		case len(args) > 0 || reason == "":
			return errors.New("--all needs --reason, and no SCOPE and ID: `campaignd holds` lists the reasons")
		}
		return nil
	}
	o := addOutput(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) (err error) {
		l, _, err := p.openLedger(cmd.Context(), toChange)
		if err != nil {
			return err
		}
		defer closing(l, &err)
		now := time.Now().UTC()
		lifts, what, err := liftsOf(cmd.Context(), l, args, reason, now)
		if err != nil {
			return err
		}
		ended, err := l.LiftHolds(cmd.Context(), lifts)
		if err != nil {
			return err
		}
		states := campaign.HoldStates(ended, now)
		if o.json() {
			return writeJSON(p.stdout, states)
		}
		if len(states) == 0 {
			_, err = fmt.Fprintf(p.stdout, "%s; `campaignd holds` lists what is\n", printable(what))
			return err
		}
		for _, s := range states {
			if _, err := fmt.Fprintln(p.stdout, printable(s.Sentence)); err != nil {
				return err
			}
		}
		return nil
	}
	return cmd
}

// liftsOf returns the lifts of a scope and id, or without them of every hold whose reason or scope is
// reason, and says what they are about.
func liftsOf(
	ctx context.Context, l campaign.Ledger, args []string, reason string, now time.Time,
) (lifts []campaign.Lift, what string, err error) {
	if len(args) > 0 {
		scope, id, err := held(ctx, l, args)
		lifts = append(lifts, campaign.Lift{Scope: scope, ID: id, Reason: reason, At: now, By: campaign.HoldByOperator})
		return lifts, fmt.Sprintf("%s %s was not held", scope, id), err
	}
	holds, err := l.Holds(ctx, false)
	for _, h := range holds {
		if h.Reason == reason || string(h.Scope) == reason {
			lifts = append(lifts, campaign.Lift{Scope: h.Scope, ID: h.ID, Reason: h.Reason, At: now, By: campaign.HoldByOperator})
		}
	}
	return lifts, "nothing is held for the reason or in the scope " + reason, err
}

// completeHold completes a scope, and after it the ids that are held in it.
func (p *program) completeHold(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	var words []string
	switch len(args) {
	case 0:
		for _, s := range campaign.HoldScopes {
			words = append(words, string(s))
		}
	case 1:
		l, _, err := p.openLedger(cmd.Context(), toRead)
		if err != nil {
			break
		}
		defer l.Close()
		holds, err := l.Holds(cmd.Context(), false)
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
