package command

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"campaignd/reporting"
)

// Report returns the command report.
func (p *Program) Report() *cobra.Command {
	var format, page string
	var excel, against, audit bool
	cmd := &cobra.Command{
		Use:   "report RUN",
		Short: "Print the results of a run: totals, or every row of its list",
		Long: `Prints the figures of a run (table, json) or one line per row of its list, in list order (csv). RUN is an id as
"campaignd runs" prints it, its number, or latest. The command also works while the run is sending.

--against-service also fetches what the service counted for the run's template on each UTC day, and gives the likely cause
of every difference. It changes nothing at the service, which keeps counts for the last 90 days. Whatever the service cannot
report is stated in a sentence.

--html writes FILE for people to mail, open in a browser or print: totals and plots on one A4 page, without phone numbers,
without script and without any request. It replaces an existing .html file; "-" is standard output. For reports of more than
100,000 rows the audit is included only with --audit, because it reads the whole list.

--excel writes a CSV that Excel opens with a double click: with a byte order mark, the list's own delimiter, and long
numbers as text.`,
		Example: `  campaignd report latest
  campaignd report spring-sale-3 --format json
  campaignd report latest --html report.html
  campaignd report latest --against-service
  campaignd report 3 --format csv > report.csv
  campaignd report 3 --excel > report.csv`,
		Args: oneRun,
	}
	cmd.Flags().StringVarP(&format, "format", "o", "table", "table, json or csv")
	cmd.Flags().BoolVar(&excel, "excel", false, "CSV for Excel: byte order mark, the list's own delimiter, numbers as text")
	cmd.Flags().StringVar(&page, "html", "", "write the report as one HTML file to this FILE")
	cmd.Flags().BoolVar(&audit, "audit", false, "with --html: audit a list of any length")
	cmd.Flags().BoolVar(&against, "against-service", false, "compare each day of the template with what the service counts")
	cmd.Flags().StringVar(&format, "output", "table", "the same as --format")
	_ = cmd.Flags().MarkHidden("output")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		switch format {
		case "table", "json", "csv":
		default:
			return Invalid(fmt.Errorf("--format %q is unknown; give table, json or csv", format))
		}
		given := cmd.Flags().Changed("format") || cmd.Flags().Changed("output")
		if excel && given && format != "csv" {
			return Invalid(fmt.Errorf("--excel writes CSV, not %s; leave out --format", format))
		}
		if against && (excel || format == "csv") {
			return Invalid(errors.New("--against-service compares totals; give table or json"))
		}
		switch {
		case page != "" && (excel || against || given):
			return Invalid(errors.New("--html cannot be combined with --format, --excel or --against-service"))
		case audit && page == "":
			return Invalid(errors.New("--audit belongs to --html; `campaignd audit` prints the audit alone"))
		case page != "":
			return p.reportPage(cmd, args[0], page, audit)
		}
		return p.WithOperations(cmd.Context(), ToRead, func(d Operations) error {
			if export := d.Export; excel || format == "csv" {
				if excel {
					export = d.ExportExcel
				}
				w := bufio.NewWriter(p.Stdout)
				if err := export(cmd.Context(), args[0], w); err != nil {
					return err
				}
				return w.Flush()
			}
			read := d.Report
			if against {
				read = d.ReportAgainst
			}
			report, err := read(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			return p.WriteReport(report, format == "json")
		})
	}
	p.AddServer(cmd)
	return cmd
}

// reportPage writes the report of a run to a file that a browser opens. The file is written when
// the whole report is known, so an error leaves an earlier one as it is.
func (p *Program) reportPage(cmd *cobra.Command, run, path string, audit bool) error {
	var page bytes.Buffer
	err := p.WithOperations(cmd.Context(), ToRead, func(d Operations) error { return d.ReportHTML(cmd.Context(), run, audit, &page) })
	if err != nil {
		return err
	}
	if path == "-" {
		_, err = p.Stdout.Write(page.Bytes())
		return err
	}
	how := os.O_TRUNC
	if ext := filepath.Ext(path); ext != ".html" && ext != ".htm" {
		how = os.O_EXCL // it may be a list
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|how, 0o644) //nolint:gosec // it is to be handed on, and names no recipient
	if err != nil {
		return Unwritable(path, err)
	}
	if _, err = f.Write(page.Bytes()); err != nil {
		_ = os.Remove(path) // a part must not look like the report
	}
	return errors.Join(err, f.Close())
}

// WriteReport writes a report as a table or as JSON.
func (p *Program) WriteReport(r *reporting.Report, json bool) error {
	if !json {
		return r.Table(p.Stdout, Width(p.Stdout))
	}
	text, err := r.JSON()
	if err != nil {
		return err
	}
	_, err = p.Stdout.Write(text)
	return err
}

// oneRun accepts one argument: the name of a run.
var oneRun = OneArgument("RUN: an id as `campaignd runs` prints it, its number, or latest", "latest")
