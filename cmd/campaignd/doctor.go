package main

import (
	"slices"

	"github.com/spf13/cobra"

	"campaignd/internal/command"
	"campaignd/internal/doctor"
)

func (p *program) cmdDoctor() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Check the service, the key, clocks, ledger, runs, disks, Redis, webhooks, commerce, campaigns, drops and time zones",
		Long: `Checks what campaignd depends on, beside a running serve or without one, and names the remedy of each fault. It sends no
message and changes nothing. To each registered webhook endpoint it posts one unsigned event, which an intake refuses.

The exit code is 1 if a check failed, and 0 if there are only warnings.`,
		Example: "  campaignd doctor\n  campaignd doctor -o json",
		Args:    command.NoArguments,
	}
	o := command.AddOutput(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		c, err := p.load()
		if err != nil {
			return err
		}
		checks := doctor.Diagnose(cmd.Context(), c)
		if err := cmd.Context().Err(); err != nil {
			return err
		}
		err = command.WriteList(&p.Program, o, []string{"RESULT", "CHECK", "SEEN"}, checks, func(c doctor.Check) []string {
			said := c.Detail
			if c.Remedy != "" {
				said += ": " + c.Remedy
			}
			return []string{string(c.Health), c.Name, said}
		})
		if err == nil && slices.ContainsFunc(checks, func(c doctor.Check) bool { return c.Health == doctor.HealthFail }) {
			return command.Silent(command.ExitFailed)
		}
		return err
	}
	return cmd
}
