package command

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"campaignd/campaign"
	"campaignd/campaign/launch"
	"campaignd/campaign/why"
	"campaignd/internal/client/resource"
	"campaignd/internal/sentence"
)

// personFacts is what is known of one number.
type personFacts struct {
	To           string                   `json:"to"`
	Suppressions []why.ShownSuppression   `json:"suppressions"`
	Messages     []resource.PersonMessage `json:"messages"`
	Next         int64                    `json:"next,omitempty"` // 0: there are no more messages
}

// Person returns the command person.
func (p *Program) Person() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "person NUMBER",
		Short: "Show what all runs sent to one number, and why it is skipped",
		Long: `Shows the rows of one number in all runs, the newest runs first, and its entries on the suppression list.
An erased number has no rows.

With --export it prints everything that the ledger has about the number as one JSON document: the rows with the cells of their lists,
what was sent, statuses and message ids; suppressions with their proofs; user ids, changes of number, replies, orders. Lists that are
uploaded, or being made or imported, may also have the number. They are counted in not_reached, and the exit code is then 3.`,
		Example: "  campaignd person +2348031234567\n  campaignd person +2348031234567 --limit 1000 -o json\n" +
			"  campaignd person +2348031234567 --export",
		Args: OneArgument("NUMBER", "+2348031234567"),
	}
	limit := cmd.Flags().Int("limit", 100, "number of rows to show, newest runs first, at most 1000")
	after := cmd.Flags().Int64("after", 0, "continue where the previous page stopped (its next)")
	export := cmd.Flags().Bool("export", false, "print everything that the ledger has about the number, as JSON")
	o := AddOutput(cmd)
	p.AddServer(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		typed, err := launch.ParseSuppressions(args, campaign.ScopeAll, time.Now())
		if err != nil {
			return Invalid(err)
		}
		if *limit < 1 || *limit > 1000 {
			return Invalid(fmt.Errorf("--limit %d: want 1 to 1000", *limit))
		}
		if *export {
			for _, other := range []string{"limit", "after"} {
				if cmd.Flags().Changed(other) {
					return Invalid(fmt.Errorf("--export prints everything, so it cannot be combined with --%s", other))
				}
			}
			return p.exportPerson(cmd.Context(), args[0])
		}
		f := personFacts{To: typed[0].To, Messages: []resource.PersonMessage{}, Next: *after}
		if err := p.WithOperations(cmd.Context(), ToRead, func(d Operations) (err error) {
			if f.Suppressions, err = d.ShowSuppressions(cmd.Context(), args[0]); err != nil {
				return err
			}
			for len(f.Messages) < *limit {
				page, next, err := d.Person(cmd.Context(), args[0], f.Next, *limit-len(f.Messages))
				if err != nil {
					return err
				}
				f.Messages, f.Next = append(f.Messages, page...), next
				if next == 0 {
					return nil
				}
			}
			return nil
		}); err != nil {
			return err
		}
		return p.Say(o, f, f.text())
	}
	return cmd
}

// exportPerson prints everything that the ledger has about a number.
func (p *Program) exportPerson(ctx context.Context, number string) error {
	return p.WithOperations(ctx, ToRead, func(d Operations) error {
		all, err := d.ExportPerson(ctx, number)
		if err != nil {
			return err
		}
		if err := WriteJSON(p.Stdout, all); err != nil {
			return err
		}
		for _, sentence := range all.NotReached {
			fmt.Fprintln(p.Stderr, "campaignd: "+sentence)
		}
		if len(all.NotReached) > 0 {
			return Silent(ExitUnsure)
		}
		return nil
	})
}

// text tells of the number: its suppressions, then a line for each row.
func (f *personFacts) text() string {
	var all []string
	for _, s := range f.Suppressions {
		all = append(all, paragraph(s.Sentence))
	}
	if len(f.Suppressions) == 0 {
		all = append(all, f.To+" is not on the suppression list")
	}
	if len(f.Messages) == 0 {
		return strings.Join(append(all, "no run has a row for it"), "\n")
	}
	var rows [][]string
	for i := range f.Messages {
		m := &f.Messages[i]
		reason := m.Reason
		if m.Code != "" {
			reason = m.Code
		}
		since := m.AcceptedAt
		for _, at := range []time.Time{m.SentAt, m.DeliveredAt, m.ReadAt, m.FailedAt} {
			if at.After(since) {
				since = at
			}
		}
		rows = append(rows, []string{m.Run, fmt.Sprint(m.Row), m.Template, string(m.Status), Clock(since), reason})
	}
	var table strings.Builder
	_ = WriteTable(&table, []string{"RUN", "ROW", "TEMPLATE", "STATUS", "SINCE", "REASON"}, rows) // a Builder returns no error
	all = append(all, "", strings.TrimRight(table.String(), "\n"))
	if f.Next > 0 {
		all = append(all, "", fmt.Sprintf("older runs may have more: `campaignd person %s --after %d`", sentence.Printable(f.To), f.Next))
	}
	return strings.Join(all, "\n")
}
