package command

import (
	"bufio"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"campaignd/campaign"
	"campaignd/campaign/launch"
	"campaignd/internal/sentence"
)

// Erase returns the command erase.
func (p *Program) Erase() *cobra.Command {
	var yes bool
	cmd := &cobra.Command{
		Use:   "erase NUMBER",
		Short: "Remove a number from the ledger permanently; it is never sent to again",
		Long: `Removes a number from every run (with its variables and message ids), from the suppression list and from the events that wait.
Totals stay. Instead of the number the ledger keeps a keyed hash of it: a later list with the number skips that row (suppressed), and
stores neither the number nor its variables.

Messages under way keep the number until their answer is known, and uploaded lists and lists of audiences until they are
imported; the exit code is then 3: repeat the command later.
What is outside the ledger stays: lists, exports, files beside a dropped list, backups, logs of level debug.`,
		Example: "  campaignd erase +2348031234567\n  campaignd erase +2348031234567 --yes",
		Args:    OneArgument("NUMBER", "+2348031234567"),
	}
	cmd.Flags().BoolVar(&yes, "yes", false, "do not ask for the number again")
	o := AddOutput(cmd)
	p.AddServer(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if _, err := launch.ParseSuppressions(args, campaign.ScopeAll, time.Now()); err != nil {
			return Invalid(err)
		}
		if !yes {
			fmt.Fprint(p.Stderr, "This cannot be undone. Type the number again: ")
			typed, _ := bufio.NewReader(p.Stdin).ReadString('\n')
			if strings.TrimSpace(typed) != strings.TrimSpace(args[0]) {
				fmt.Fprintln(p.Stderr)
				return Invalid(errors.New("nothing was erased: the two numbers differ; --yes does not ask"))
			}
		}
		return p.WithOperations(cmd.Context(), ToCreate, func(d Operations) error {
			done, err := d.Erase(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			text := fmt.Sprintf("the number is erased from %s and is never sent to again", sentence.Count(done.Rows, "row", "rows"))
			if err := p.Say(o, done, text); err != nil {
				return err
			}
			if done.UnderWay > 0 {
				fmt.Fprintf(p.Stderr, "campaignd: %s under way and keep the number until they end: repeat the command then\n",
					sentence.Count(done.UnderWay, "row is", "rows are"))
			}
			if done.Lists > 0 {
				fmt.Fprintf(p.Stderr, "campaignd: %s uploaded, or being made or imported, and may have the number: repeat the command "+
					"when the import has ended, or cancel its run; an upload without a launch is removed after a day\n",
					sentence.Count(done.Lists, "list is", "lists are"))
			}
			if done.UnderWay+done.Lists > 0 {
				return Silent(ExitUnsure)
			}
			return nil
		})
	}
	return cmd
}
