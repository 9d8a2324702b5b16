package main

import (
	"github.com/spf13/cobra"
)

func (p *Program) cmdAudit() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "audit RUN",
		Short:   "Check that every row of the list has exactly one outcome; exit 1 with the offending rows when not",
		Example: "  campaignd audit latest\n  campaignd audit spring-sale-3 -o json",
		Args:    oneRun,
	}
	o := addOutput(cmd)
	p.addServer(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		return p.withOperations(cmd.Context(), toRead, func(d operations) error {
			result, err := d.Audit(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			if o.json() {
				text, err := result.JSON()
				if err != nil {
					return err
				}
				if _, err := p.stdout.Write(text); err != nil {
					return err
				}
			} else if err := result.Text(p.stdout); err != nil {
				return err
			}
			if !result.Balanced {
				return silent(exitFailed)
			}
			return nil
		})
	}
	return cmd
}
