package command

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"campaignd/campaign"
	"campaignd/campaign/launch"
	"campaignd/campaign/why"
	"campaignd/internal/client/resource"
	"campaignd/internal/sentence"
	"campaignd/recipients"
)

// Suppressions returns the command suppressions.
func (p *Program) Suppressions() *cobra.Command {
	return Group(&cobra.Command{
		Use:   "suppressions",
		Short: "Manage the list of numbers that must not be sent to",
		Long: `A number that opts out (STOP, a button, the service's refusal) is added to this list by itself. The scope marketing blocks
marketing templates, all blocks every template, unreachable blocks every template until a date. An opt-out covers every company of
the service, or with suppressions.scope: company in the configuration only the company whose message it answers.`,
	}, p.cmdSuppressionsAdd(), p.cmdSuppressionsRemove(), p.cmdSuppressionsImport(),
		p.cmdSuppressionsExport(), p.cmdSuppressionsShow())
}

// scopeFlag gives a command --scope.
func scopeFlag(cmd *cobra.Command, scope *string) {
	cmd.Flags().StringVar(scope, "scope", string(campaign.ScopeMarketing), "marketing, all or unreachable")
}

// someNumbers accepts one number or more.
func someNumbers(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return fmt.Errorf("want one NUMBER or more; for example `%s +2348031234567`", cmd.CommandPath())
	}
	return nil
}

func (p *Program) cmdSuppressionsAdd() *cobra.Command {
	var scope string
	cmd := &cobra.Command{
		Use:     "add NUMBER...",
		Short:   "Suppress numbers, in international form with +",
		Example: "  campaignd suppressions add +2348031234567\n  campaignd suppressions add +2348031234567 --scope all",
		Args:    someNumbers,
	}
	scopeFlag(cmd, &scope)
	p.AddServer(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if _, err := launch.ParseSuppressions(args, campaign.Scope(scope), time.Now()); err != nil {
			return Invalid(err) // before withOperations creates a ledger
		}
		return p.WithOperations(cmd.Context(), ToCreate, func(d Operations) error {
			n, err := d.AddSuppressions(cmd.Context(), args, campaign.Scope(scope))
			if err != nil {
				return err
			}
			_, err = fmt.Fprintf(p.Stdout, "%d added, %d already there\n", n.Changed, n.Unchanged)
			return err
		})
	}
	return cmd
}

func (p *Program) cmdSuppressionsRemove() *cobra.Command {
	var scope string
	cmd := &cobra.Command{
		Use:   "remove NUMBER...",
		Short: "Remove numbers from the list",
		Long: `Takes numbers off the list, from every scope unless --scope names one. A recipient who opted out may be sent marketing
again only after a new opt-in.`,
		Example: "  campaignd suppressions remove +2348031234567\n  campaignd suppressions remove +2348031234567 --scope unreachable",
		Args:    someNumbers,
	}
	cmd.Flags().StringVar(&scope, "scope", "", "marketing, all or unreachable (default: every scope)")
	p.AddServer(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if _, err := launch.ParseSuppressions(args, campaign.Scope(cmp.Or(scope, string(campaign.ScopeAll))), time.Now()); err != nil {
			return Invalid(err)
		}
		return p.WithOperations(cmd.Context(), ToChange, func(d Operations) error {
			n, err := d.RemoveSuppressions(cmd.Context(), args, campaign.Scope(scope))
			if err != nil {
				return err
			}
			_, err = fmt.Fprintf(p.Stdout, "%d removed, %s not there\n", n.Changed, sentence.Count(n.Unchanged, "was", "were"))
			return err
		})
	}
	return cmd
}

func (p *Program) cmdSuppressionsImport() *cobra.Command {
	var scope, region, source, date string
	cmd := &cobra.Command{
		Use:   "import FILE",
		Short: "Suppress every number of a CSV file, or of standard input (-)",
		Long: `Reads a CSV file, or standard input if FILE is -, with a column to (or phone, mobile, msisdn, whatsapp). The optional
columns scope, source, at and until are as in an export; the scope marketing@COMPANY blocks the messages of one company alone.
--source and --date are for rows without a source or an at: where the numbers come from, and since when they are suppressed.
Rows without a number are named on standard error and make the exit code 2; the other rows are imported.`,
		Example: `  campaignd suppressions import do-not-contact.csv --scope all
  campaignd suppressions import do-not-contact.csv --source crm-2026 --date 2026-10-01`,
		Args: OneArgument("FILE", "do-not-contact.csv"),
	}
	scopeFlag(cmd, &scope)
	cmd.Flags().StringVar(&region, "default-region", "", "ISO 3166 country of numbers written without +, for example NG")
	cmd.Flags().StringVar(&source, "source", "", "name of where the numbers come from, for example crm-2026")
	cmd.Flags().StringVar(&date, "date", "", "day or RFC 3339 time since when they are suppressed (default: now)")
	p.AddServer(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if _, err := launch.ParseScope(scope); err != nil {
			return Invalid(err) // before withOperations creates a ledger
		}
		if _, err := recipients.NewPhones(recipients.ValidatePossible, region); err != nil {
			return Invalid(errors.New("--default-region: " + strings.TrimPrefix(err.Error(), "recipients.default_region: ")))
		}
		if err := launch.ParseListName(source); err != nil {
			return Invalid(fmt.Errorf("--source: %w", err))
		}
		in := resource.SuppressionImport{File: args[0], Scope: campaign.Scope(scope), Source: source, DefaultRegion: region}
		if err := readDate(date, &in.At); err != nil {
			return Invalid(err)
		}
		return p.importSuppressions(cmd.Context(), in)
	}
	return cmd
}

// importSuppressions imports the file of in, and prints the rows that cannot be imported.
func (p *Program) importSuppressions(ctx context.Context, in resource.SuppressionImport) (err error) {
	name, file := in.File, p.Stdin
	if name == "-" {
		in.File, name = "standard input", "standard input"
	} else {
		f, err := launch.OpenSuppressions(name)
		if err != nil {
			return err
		}
		defer Closing(f, &err)
		file = f
	}
	return p.WithOperations(ctx, ToCreate, func(d Operations) error {
		counts, err := d.ImportSuppressions(ctx, file, in)
		for _, f := range counts.Faults {
			fmt.Fprintf(p.Stderr, "%s:%d: %s\n", name, f.Line, sentence.Printable(f.What))
		}
		if more := counts.Rejected - len(counts.Faults); more > 0 {
			fmt.Fprintf(p.Stderr, "%s: %s more cannot be imported\n", name, sentence.Count(int64(more), "row", "rows"))
		}
		if err != nil {
			return err
		}
		_, err = fmt.Fprintf(p.Stdout, "%s: %d added, %d already there, %d not read\n",
			sentence.Count(counts.Rows, "row", "rows"), counts.Added, counts.Known, counts.Rejected)
		if err == nil && counts.Rejected > 0 {
			err = Silent(ExitUsage)
		}
		return err
	})
}

// readDate reads a day, which begins in UTC, or an instant; "" changes nothing.
func readDate(text string, at *time.Time) (err error) {
	if text == "" {
		return nil
	}
	for _, layout := range []string{time.DateOnly, time.RFC3339} {
		if *at, err = time.Parse(layout, text); err == nil {
			break
		}
	}
	switch {
	case err != nil:
		return fmt.Errorf("--date %q: want a day such as 2026-10-01, or a time such as 2026-10-01T09:00:00Z", text)
	case at.After(time.Now()):
		return fmt.Errorf("--date %q is in the future", text)
	}
	return nil
}

func (p *Program) cmdSuppressionsShow() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "show NUMBER",
		Short: "Show why a number is not sent to: since when, how, by which message",
		Example: `  campaignd suppressions show +2348031234567
  campaignd suppressions show +2348031234567 -o json`,
		Args: OneArgument("NUMBER", "+2348031234567"),
	}
	o := AddOutput(cmd)
	p.AddServer(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) (err error) {
		now := time.Now()
		if _, err := launch.ParseSuppressions(args, campaign.ScopeAll, now); err != nil {
			return Invalid(err)
		}
		var shown []why.ShownSuppression
		err = p.WithOperations(cmd.Context(), ToRead, func(d Operations) error {
			shown, err = d.ShowSuppressions(cmd.Context(), args[0])
			return err
		})
		if err != nil {
			return err
		}
		var sentences []string
		for _, s := range shown {
			sentences = append(sentences, paragraph(s.Sentence))
		}
		return p.Say(o, shown, cmp.Or(strings.Join(sentences, "\n"), sentence.Printable(args[0])+" is not on the suppression list"))
	}
	return cmd
}

func (p *Program) cmdSuppressionsExport() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "export [FILE]",
		Short:   "Write the list as CSV to standard output (also -) or a new file",
		Example: "  campaignd suppressions export > suppressions.csv",
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) > 1 {
				return fmt.Errorf("want one FILE or none; for example `%s > suppressions.csv`", cmd.CommandPath())
			}
			return nil
		},
	}
	p.AddServer(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		return p.WithOperations(cmd.Context(), ToRead, func(d Operations) (err error) {
			w := p.Stdout
			if len(args) == 1 && args[0] != "-" {
				f, e := os.OpenFile(args[0], os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
				if e != nil {
					return Unwritable(args[0], e)
				}
				defer func() {
					if err = errors.Join(err, f.Close()); err != nil { // a part must not look like the list
						_ = os.Remove(args[0])
					}
				}()
				w = f
			}
			return d.ExportSuppressions(cmd.Context(), w)
		})
	}
	return cmd
}
