package command

import (
	"errors"

	"github.com/spf13/cobra"

	"campaignd/reporting"
)

// compared are two runs in JSON.
type compared struct {
	Runs    [2]string            `json:"runs"`
	Figures []reporting.Contrast `json:"figures"`
}

// cmdCompare is the command runs compare.
func (p *Program) cmdCompare() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "compare RUN RUN",
		Short: "Show the figures of two runs side by side",
		Long: `Shows how far the messages of each run got, with shares, and how many percentage points the second run is above the
first. Replies, opt-outs and orders are included if both runs have them.`,
		Example: "  campaignd runs compare spring-sale-1 spring-sale-2\n  campaignd runs compare spring-sale-1 latest -o json",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 2 {
				return errors.New("want two runs; for example `campaignd runs compare spring-sale-1 spring-sale-2`")
			}
			return nil
		},
	}
	o := AddOutput(cmd)
	p.AddServer(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		return p.WithOperations(cmd.Context(), ToRead, func(d Operations) error {
			var reports [2]*reporting.Report
			for i, id := range args {
				var err error
				if reports[i], err = d.Report(cmd.Context(), id); err != nil {
					return err
				}
			}
			out := compared{[2]string{reports[0].Run.ID, reports[1].Run.ID}, reporting.Contrasts(reports[0], reports[1])}
			if o.JSON() {
				return WriteJSON(p.Stdout, out)
			}
			return WriteTable(p.Stdout, []string{"FIGURE", out.Runs[0], out.Runs[1], "DIFFERENCE"}, Rows(out.Figures,
				func(c reporting.Contrast) []string { return c.Cells() }))
		})
	}
	return cmd
}
