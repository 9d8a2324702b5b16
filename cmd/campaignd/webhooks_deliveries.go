package main

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"campaignd/internal/command"
	"campaignd/internal/config"
	"campaignd/internal/messaging/service"
)

// deliveryStates are the states of a delivery at the service.
var deliveryStates = []string{"pending", "delivered", "failed"}

func (p *program) cmdWebhooksDeliveries() *cobra.Command {
	var state string
	cmd := &cobra.Command{
		Use:   "deliveries ENDPOINT",
		Short: "List the events that the service posts to an endpoint, newest first",
		Long: `Lists the deliveries of an endpoint as the service sees them: the tries so far, and the status of the last answer. The
service does not repeat a failed delivery; webhooks replay asks for the events of its time.`,
		Example: "  campaignd webhooks deliveries whk_1 --state failed\n  campaignd webhooks deliveries whk_1 -o json",
		Args:    command.OneArgument("ENDPOINT", "whk_1"),
	}
	cmd.Flags().StringVar(&state, "state", "", "pending, delivered or failed (default: all)")
	_ = cmd.RegisterFlagCompletionFunc("state", cobra.FixedCompletions(deliveryStates, cobra.ShellCompDirectiveNoFileComp))
	o := command.AddOutput(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if state != "" && !slices.Contains(deliveryStates, state) {
			return command.Invalid(fmt.Errorf("--state %q: want %s", state, strings.Join(deliveryStates, ", ")))
		}
		return p.withService(func(_ *config.Config, c *service.Client) error {
			if _, _, err := endpointOf(cmd.Context(), c, args[0]); err != nil {
				return err
			}
			all, err := c.WebhookDeliveries(cmd.Context(), args[0], state)
			if err != nil {
				return notOffered(err, "webhook_deliveries")
			}
			heads := []string{"CREATED", "STATE", "TRIES", "ANSWER", "TYPE", "EVENT"}
			return command.WriteList(&p.Program, o, heads, all, func(d service.WebhookDelivery) []string {
				return []string{d.CreatedAt.Format(time.RFC3339), d.State, fmt.Sprint(d.Attempts),
					fmt.Sprint(d.HTTPStatus), d.Type, d.EventID}
			})
		})
	}
	return cmd
}
