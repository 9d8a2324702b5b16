package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"campaignd/internal/command"
	"campaignd/internal/config"
	"campaignd/internal/messaging/service"
	"campaignd/internal/sentence"
)

func (p *program) cmdSuppressionsSync() *cobra.Command {
	var connection string
	cmd := &cobra.Command{
		Use:   "sync --connection ID",
		Short: "Synchronise the list with the people blocked at the service",
		Long: `Suppresses everybody who is blocked at the connection, in scope all, for the messages of the connection's company (source
service_block), and takes people off the list whom no connection of that company blocks any more. Numbers of scope all that
an operator added or an import brought are blocked at the service. The platform blocks only people who wrote in the last 24
hours: each of the others is listed with the reason, stays on the list and is not sent to; the exit code is 0. It is 1 if a
request failed: the others were made, and the same command goes on.`,
		Example: "  campaignd suppressions sync --connection conn_1\n  campaignd suppressions sync --connection conn_1 -o json",
		Args:    command.NoArguments,
	}
	cmd.Flags().StringVar(&connection, "connection", "", "connection whose blocked people count (required)")
	o := command.AddOutput(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if connection == "" {
			return command.Invalid(errors.New("--connection is missing: name the connection whose blocked people count"))
		}
		switch far, err := p.Remote(); {
		case err != nil:
			return err
		case far != nil:
			return command.Invalid(fmt.Errorf("suppressions sync works on this machine only: give neither --server nor %s with it",
				command.ServerVariable))
		}
		return p.withService(func(_ *config.Config, c *service.Client) error {
			return p.withLedgerSession(cmd.Context(), command.ToCreate, func(d *local) error {
				done, err := d.SyncSuppressions(cmd.Context(), c, connection)
				failure := notOffered(err, "blocked_users")
				if err != nil && done.Suppressed+done.Lifted+done.Blocked+len(done.Failed) == 0 {
					return failure
				}
				if o.JSON() {
					return errors.Join(failure, command.WriteJSON(p.Stdout, done))
				}
				for _, f := range done.Failed {
					fmt.Fprintf(p.Stderr, "%s is not blocked at the service: %s (%d)\n", sentence.Printable(f.To), f.Why, f.Code)
				}
				_, err = fmt.Fprintf(p.Stdout, "%d suppressed, %d taken off the list, %d blocked at the service, %d not\n",
					done.Suppressed, done.Lifted, done.Blocked, len(done.Failed))
				return errors.Join(failure, err)
			})
		})
	}
	return cmd
}
