package command

import (
	"github.com/spf13/cobra"

	"campaignd/campaign"
	"campaignd/campaign/wording"
	"campaignd/internal/client/resource"
)

// History returns the command history.
func (p *Program) History() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "history RUN",
		Short: "Show what happened to a run: pauses, approvals, limits and holds, and who requested them",
		Long: `Shows what happened to a run, oldest first, as its HTML report does. With -o json it also shows what limited each
number, and when.`,
		Example: "  campaignd history latest\n  campaignd history spring-sale-3 -o json",
		Args:    oneRun,
	}
	o := AddOutput(cmd)
	p.AddServer(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		var run resource.Run
		var h campaign.History
		if err := p.WithOperations(cmd.Context(), ToRead, func(d Operations) (err error) {
			if run, err = d.Run(cmd.Context(), args[0]); err == nil {
				h, err = d.History(cmd.Context(), run.ID)
			}
			return err
		}); err != nil {
			return err
		}
		if o.JSON() {
			return p.Say(o, h, "")
		}
		var rows [][]string
		for _, s := range wording.Story(h, campaign.Run{CreatedAt: run.CreatedAt, LaunchedBy: run.Launched}) {
			rows = append(rows, []string{Clock(s.At), s.Sentence})
		}
		return WriteTable(p.Stdout, []string{"TIME", "WHAT HAPPENED"}, rows)
	}
	return cmd
}
