package command

import (
	"github.com/spf13/cobra"
)

// Audit returns the command audit.
func (p *Program) Audit() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "audit RUN",
		Short:   "Check that every row of the list has exactly one outcome; if not, exit 1 and list the rows",
		Example: "  campaignd audit latest\n  campaignd audit spring-sale-3 -o json",
		Args:    oneRun,
	}
	o := AddOutput(cmd)
	p.AddServer(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		return p.WithOperations(cmd.Context(), ToRead, func(d Operations) error {
			result, err := d.Audit(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			if o.JSON() {
				text, err := result.JSON()
				if err != nil {
					return err
				}
				if _, err := p.Stdout.Write(text); err != nil {
					return err
				}
			} else if err := result.Text(p.Stdout); err != nil {
				return err
			}
			if !result.Balanced {
				return Silent(ExitFailed)
			}
			return nil
		})
	}
	return cmd
}
