package command

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"

	"github.com/spf13/cobra"

	"campaignd/campaign"
	"campaignd/internal/client/resource"
)

// Notifications returns the command notifications.
func (p *Program) Notifications() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "notifications",
		Short: "List the notifications to your own addresses, and send one again",
		Long: `Runs, holds, breakers, rejected files and missed firings are posted to the addresses under notifications in the
configuration. Each notification is stored together with its event, sent by any serve or run, and retried for three
days.`,
		Example: "  campaignd notifications\n  campaignd notifications list --state dead",
		Args:    NoSubcommand,
	}
	list := p.notificationsList(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error { return list(cmd.Context()) }
	sub := &cobra.Command{
		Use:     "list",
		Short:   "List the notifications, newest first",
		Example: "  campaignd notifications list\n  campaignd notifications list --state dead -o json",
		Args:    NoArguments,
	}
	listed := p.notificationsList(sub)
	sub.RunE = func(cmd *cobra.Command, _ []string) error { return listed(cmd.Context()) }
	cmd.AddCommand(sub, p.cmdNotificationsShow(), p.cmdNotificationsSend())
	return cmd
}

// notificationStates are the values of --state.
var notificationStates = []string{string(campaign.NotificationWaiting), string(campaign.NotificationPending),
	string(campaign.NotificationSent), string(campaign.NotificationDead)}

// notificationsList adds the flags of the list.
func (p *Program) notificationsList(cmd *cobra.Command) func(context.Context) error {
	state := cmd.Flags().String("state", "", "only waiting, pending, sent or dead")
	last := new(int)
	AddWhole(cmd.Flags(), last, "last", 50, "notifications to list, at most 1000")
	o := AddOutput(cmd)
	p.AddServer(cmd)
	return func(ctx context.Context) error {
		if *state != "" && !slices.Contains(notificationStates, *state) {
			return Invalid(fmt.Errorf("--state %q: want waiting, pending, sent or dead", *state))
		}
		if err := Within("last", *last, 1, 1000); err != nil {
			return err
		}
		return p.WithOperations(ctx, ToRead, func(d Operations) error {
			all, err := d.Notifications(ctx, campaign.NotificationState(*state), *last)
			if err != nil {
				return err
			}
			heads := []string{"NO", "AT", "DESTINATION", "KIND", "ABOUT", "TRIES", "STATE"}
			return WriteList(p, o, heads, all, func(n resource.Notification) []string {
				about := cmp.Or(n.Run, n.Subject)
				state := string(n.State)
				if n.Error != "" {
					state += ": " + n.Error
				}
				return []string{strconv.FormatInt(n.No, 10), Clock(n.At), n.Destination, n.Kind, about,
					strconv.Itoa(n.Attempts), state}
			})
		})
	}
}

// notificationNo reads the number of a notification.
func notificationNo(text string) (int64, error) {
	no, err := strconv.ParseInt(text, 10, 64)
	if err != nil || no < 1 {
		return 0, Invalid(fmt.Errorf("%q is no number of a notification; `campaignd notifications` lists them", text))
	}
	return no, nil
}

func (p *Program) cmdNotificationsShow() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "show NO",
		Short:   "Show one notification with its body, in JSON",
		Example: "  campaignd notifications show 12",
		Args:    OneArgument("NO", "12"),
	}
	p.AddServer(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		no, err := notificationNo(args[0])
		if err != nil {
			return err
		}
		return p.WithOperations(cmd.Context(), ToRead, func(d Operations) error {
			n, err := d.Notification(cmd.Context(), no)
			if err != nil {
				return err
			}
			return WriteJSON(p.Stdout, n)
		})
	}
	return cmd
}

func (p *Program) cmdNotificationsSend() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "send NO",
		Short: "Send a notification again, whatever its state",
		Long: `Any serve sends it within seconds, with the same id: a receiver that knows the id ignores it. Failed attempts are
repeated for three days from now.`,
		Example: "  campaignd notifications send 12",
		Args:    OneArgument("NO", "12"),
	}
	o := AddOutput(cmd)
	p.AddServer(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		no, err := notificationNo(args[0])
		if err != nil {
			return err
		}
		return p.WithOperations(cmd.Context(), ToChange, func(d Operations) error {
			n, err := d.SendNotification(cmd.Context(), no)
			if err != nil {
				return err
			}
			return p.Say(o, n, fmt.Sprintf("notification %d (%s) is sent again to %s", n.No, n.Kind, n.Destination))
		})
	}
	return cmd
}
