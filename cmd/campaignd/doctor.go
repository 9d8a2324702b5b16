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
		Short: "Check the service, the key, ledger, runs, disks, Redis, certificates, webhooks, commerce, campaigns and more",
		Long: `Checks what campaignd depends on, while serve runs or without it, by doing what sending does, and names the remedy of each
fault. It sends no message and changes nothing. It runs the scripts of the limiter in Redis on keys that no number has and that
expire, posts an unsigned and a signed test event to each registered webhook endpoint, sends a HEAD request to each notification
address, and asks the service for the connections and the template of each scheduled campaign.

"not checked" is what could not be looked at. The exit code is 1 if a check failed, and 0 otherwise.`,
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
