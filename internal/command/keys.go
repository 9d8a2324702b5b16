package command

import (
	"cmp"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"campaignd/campaign"
	"campaignd/internal/client/resource"
	"campaignd/internal/sentence"
)

// Keys returns the command keys.
func (p *Program) Keys() *cobra.Command {
	return Group(&cobra.Command{
		Use:   "keys",
		Short: "Create, list and revoke keys for the operator's API",
		Long: `A key gives a program or another machine access to the API of the admin listener. Its scope is read (look), operate
(also launch and control runs, holds and suppressions) or admin (also keys and the log of actions). The ledger
stores only a hash, so a key cannot be shown again.`,
	}, p.cmdKeysCreate(), p.cmdKeysList(), p.cmdKeysRevoke())
}

func (p *Program) cmdKeysCreate() *cobra.Command {
	var scope, company string
	cmd := &cobra.Command{
		Use:   "create NAME",
		Short: "Create a key and print it once",
		Long: `Creates a key and prints it on standard output. NAME says who has it. With --company the key is limited to the runs
of one company.`,
		Example: `  campaignd keys create desk-lagos --scope operate
  campaignd keys create dashboard --company comp_1 -o json`,
		Args: OneArgument("NAME", "desk-lagos"),
	}
	cmd.Flags().StringVar(&scope, "scope", string(campaign.KeyRead), "read, operate or admin")
	_ = cmd.RegisterFlagCompletionFunc("scope", cobra.FixedCompletions( // the flag exists
		[]string{string(campaign.KeyRead), string(campaign.KeyOperate), string(campaign.KeyAdmin)}, cobra.ShellCompDirectiveNoFileComp))
	cmd.Flags().StringVar(&company, "company", "", "companyId of the only company whose runs it can reach (default: all)")
	o := AddOutput(cmd)
	p.AddServer(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		return p.WithOperations(cmd.Context(), ToCreate, func(d Operations) error {
			k, err := d.CreateKey(cmd.Context(), args[0], scope, company, "")
			if err != nil {
				return err
			}
			if !o.JSON() {
				fmt.Fprintf(p.Stderr, "key %s, scope %s: nobody can read it again; `campaignd keys revoke %[1]s` ends it\n", k.ID, k.Scope)
			}
			return p.Say(o, k, k.Secret)
		})
	}
	return cmd
}

func (p *Program) cmdKeysList() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "list",
		Short:   "List the keys, newest first, including revoked ones",
		Example: "  campaignd keys list\n  campaignd keys list -o json",
		Args:    NoArguments,
	}
	o := AddOutput(cmd)
	p.AddServer(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		return p.WithOperations(cmd.Context(), ToRead, func(d Operations) error {
			keys, err := d.Keys(cmd.Context())
			if err != nil {
				return err
			}
			return WriteList(p, o, []string{"KEY", "NAME", "SCOPE", "COMPANY", "CREATED", "STATE"}, keys, func(k resource.Key) []string {
				state := "in force"
				if k.RevokedAt != nil {
					state = "revoked " + Clock(*k.RevokedAt)
				}
				return []string{k.ID, k.Name, k.Scope, cmp.Or(k.Company, "-"), Clock(k.CreatedAt), state}
			})
		})
	}
	return cmd
}

func (p *Program) cmdKeysRevoke() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "revoke KEY",
		Short:   "Revoke a key permanently",
		Long:    `Revokes the key with an id as ` + "`campaignd keys list`" + ` prints it. Every process refuses its next request.`,
		Example: "  campaignd keys revoke 3f9a1c02",
		Args:    OneArgument("KEY", "3f9a1c02"),
	}
	o := AddOutput(cmd)
	p.AddServer(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		return p.WithOperations(cmd.Context(), ToChange, func(d Operations) error {
			k, err := d.RevokeKey(cmd.Context(), args[0])
			if errors.Is(err, campaign.ErrNoKey) || absent(err) {
				return Invalid(fmt.Errorf("%w; `campaignd keys list` lists the ids", err))
			}
			if err != nil {
				return err
			}
			return p.Say(o, k, fmt.Sprintf("%s (%s) is revoked", k.ID, sentence.Printable(k.Name)))
		})
	}
	return cmd
}

// Actions returns the command actions.
func (p *Program) Actions() *cobra.Command {
	var last int
	var on string
	cmd := &cobra.Command{
		Use:   "actions",
		Short: "List what operators asked for, newest first",
		Long: `Each change, and each export of people's data, is written into the ledger before it is done: its time and who asked, which is a
key of the API or a user of this machine. DETAIL has the address of the caller and ends with the result: done, or not done and why.
A line without a result was interrupted, and may be done or not.`,
		Example: "  campaignd actions\n  campaignd actions --on spring-sale-1\n  campaignd actions --last 1000 -o json",
		Args:    NoArguments,
	}
	AddWhole(cmd.Flags(), &last, "last", 50, "actions to list, at most 10000")
	cmd.Flags().StringVar(&on, "on", "", "only actions on this, such as the id of a run")
	o := AddOutput(cmd)
	p.AddServer(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if err := Within("last", last, 1, 10_000); err != nil {
			return err
		}
		return p.WithOperations(cmd.Context(), ToRead, func(d Operations) error {
			actions, err := d.Actions(cmd.Context(), campaign.ActionFilter{Limit: last, On: on})
			if err != nil {
				return err
			}
			return WriteList(p, o, []string{"AT", "BY", "WHAT", "ON", "DETAIL"}, actions, func(a resource.Action) []string {
				return []string{Clock(a.At), a.By, a.What, a.On, a.Detail}
			})
		})
	}
	return cmd
}
