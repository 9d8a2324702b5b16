package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"campaignd/internal/command"
	"campaignd/internal/config"
	"campaignd/internal/daemon"
	"campaignd/internal/version"
)

func (p *program) cmdServe() *cobra.Command {
	var role string
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Send every run of the ledger, fire scheduled campaigns and receive webhooks, until stopped",
		Long: `Runs until SIGTERM or SIGINT, then ends within 30 seconds: it sends nothing new, and records the answers to requests in
flight. The public listener takes webhooks (listen.public, webhooks.path); the admin listener has /metrics, /healthz and
/readyz. Campaign files with a schedule are read from the campaigns folder.

Any number of processes may serve one PostgreSQL ledger, sharing the numbers' limits through Redis. --role splits the work:
intake takes webhooks and sends nothing, sender sends and fires schedules and takes no webhooks.`,
		Example: `  campaignd serve --config campaignd.yaml
  campaignd serve --role intake
  CAMPAIGND_SERVICE_API_KEY_FILE=/run/secrets/key campaignd serve`,
		Args: command.NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) (err error) {
			outliveReader()
			c, err := p.load()
			if err != nil {
				return err
			}
			if role != "" {
				c.Role = config.Role(role)
				if err := c.Validate(); err != nil {
					return command.Invalid(fmt.Errorf("--%w", err))
				}
			}
			ready := c.CanSend
			if c.Role == config.RoleIntake {
				ready = c.CanReceive
			}
			if err := ready(); err != nil {
				return command.Invalid(err)
			}
			log, fresh := p.log(c, false), newLedger(c)
			d, err := daemon.New(cmd.Context(), c, daemon.Options{Log: log, API: operatorsAPI, Console: pages(c), Patient: true})
			if err != nil {
				return err
			}
			defer command.Leaving(d, p.Stderr)
			if fresh != "" {
				log.Info("the ledger is new: it knows of no earlier run", "ledger", fresh)
			}
			return d.Serve(cmd.Context(), func(public, admin string) {
				log.Info("serving", "role", c.Role, "webhooks", public, "admin", admin, "ledger", c.Masked().Ledger,
					"campaigns", c.Campaigns, "version", version.String())
			})
		},
	}
	cmd.Flags().StringVar(&role, "role", "", "all, intake or sender (default: as configured)")
	return cmd
}
