package main

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"campaignd/campaign"
	"campaignd/reporting"
)

func (p *program) cmdReport() *cobra.Command {
	var format string
	var excel bool
	cmd := &cobra.Command{
		Use:   "report RUN",
		Short: "Print what became of a run: totals, or every row of its list",
		Long: `Prints the figures of a run (table, json) or one line per row of its list, in its order (csv). RUN is what
"campaignd runs" prints, its number, or latest. The command also works while the run is sending.

--excel writes the CSV so that Excel opens it by a double click: with a byte order mark, the delimiter of the list, and long
numbers as text.`,
		Example: `  campaignd report latest
  campaignd report spring-sale-3 --format json
  campaignd report 3 --format csv > report.csv
  campaignd report 3 --excel > report.csv`,
		Args: oneRun,
	}
	cmd.Flags().StringVarP(&format, "format", "o", "table", "table, json or csv")
	cmd.Flags().BoolVar(&excel, "excel", false, "CSV for Excel: byte order mark, the list's own delimiter, numbers as text")
	cmd.Flags().StringVar(&format, "output", "table", "the same as --format")
	_ = cmd.Flags().MarkHidden("output")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		switch format {
		case "table", "json", "csv":
		default:
			return usage(fmt.Errorf("--format %q is unknown; give table, json or csv", format))
		}
		given := cmd.Flags().Changed("format") || cmd.Flags().Changed("output")
		if excel && given && format != "csv" {
			return usage(fmt.Errorf("--excel writes CSV, not %s; leave out --format", format))
		}
		if excel {
			if far, err := p.remote(); err != nil || far != nil {
				return cmp.Or(err, usage(errors.New("--excel reads the ledger of this machine; with --server give --format csv")))
			}
			return p.withRun(cmd.Context(), toRead, args[0], func(l campaign.Ledger, r campaign.Run) error {
				return reporting.WriteExcel(cmd.Context(), p.stdout, l, r, p.commaOf(r))
			})
		}
		return p.withDesk(cmd.Context(), toRead, func(d operations) error {
			if format == "csv" {
				w := bufio.NewWriter(p.stdout)
				if err := d.Export(cmd.Context(), args[0], w); err != nil {
					return err
				}
				return w.Flush()
			}
			report, err := d.Report(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			return p.writeReport(report, format == "json")
		})
	}
	p.addServer(cmd)
	return cmd
}

// commaOf is the delimiter of the run's list. A run of a version that did not store it has the one
// that the campaign names, else a comma, and standard error says so.
func (p *program) commaOf(r campaign.Run) rune {
	if comma, size := utf8.DecodeRuneInString(r.Delimiter); size > 0 {
		return comma
	}
	if d, err := campaign.ParseStored(r.Campaign, r.Definition); err == nil {
		if comma, err := d.Recipients.Options().Comma(); err == nil && comma != 0 {
			return comma
		}
	}
	fmt.Fprintf(p.stderr, "campaignd: the delimiter of %s was not stored: this file has commas\n", printable(r.List()))
	return ','
}

// writeReport writes a report as a table or as JSON.
func (p *program) writeReport(r *reporting.Report, json bool) error {
	if !json {
		return r.Table(p.stdout, width(p.stdout))
	}
	text, err := r.JSON()
	if err != nil {
		return err
	}
	_, err = p.stdout.Write(text)
	return err
}

// oneRun accepts one argument: the name of a run.
func oneRun(cmd *cobra.Command, args []string) error {
	if len(args) != 1 {
		return fmt.Errorf("want one RUN: an id as `campaignd runs` prints it, its number, or latest; for example `%s latest`",
			cmd.CommandPath())
	}
	return nil
}
