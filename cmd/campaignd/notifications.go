package main

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"campaignd/campaign"
)

// notificationFacts is one notification in JSON.
type notificationFacts struct {
	No          int64     `json:"no"`
	ID          string    `json:"id"`
	Destination string    `json:"destination"`
	Kind        string    `json:"kind"`
	Run         string    `json:"run,omitempty"`
	Campaign    string    `json:"campaign,omitempty"`
	Subject     string    `json:"subject,omitempty"`
	Reason      string    `json:"reason,omitempty"`
	Detail      string    `json:"detail,omitempty"`
	At          time.Time `json:"at"`
	State       string    `json:"state"`
	Attempts    int       `json:"attempts"`
	NextAt      time.Time `json:"next_at,omitzero"`
	Error       string    `json:"error,omitempty"`
	Body        string    `json:"body,omitempty"`
}

func factsOfNotification(n campaign.Notification) notificationFacts {
	f := notificationFacts{No: n.No, ID: n.ID, Destination: n.Destination, Kind: string(n.Kind), Campaign: n.Campaign, Subject: n.Subject,
		Reason: n.Reason, Detail: n.Detail, At: n.At, State: string(n.State), Attempts: n.Attempts, Error: n.Error, Body: n.Body}
	if n.Run != 0 {
		f.Run = campaign.Run{No: n.Run, Campaign: n.Campaign}.ID()
	}
	if n.State == campaign.NotificationPending || n.State == campaign.NotificationWaiting {
		f.NextAt = n.NextAt
	}
	return f
}

// mostNotifications is the most notifications listed.
const mostNotifications = 1000

func (p *program) cmdNotifications() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "notifications",
		Short: "List what your own addresses are told of, and send it again",
		Long: `The addresses of notifications in the configuration are told of runs, holds, breakers, rejected files and missed firings. Each
notification is stored with the event itself, sent by any serve or run, and tried for three days.`,
		Example: "  campaignd notifications\n  campaignd notifications list --state dead",
		Args:    noSubcommand,
	}
	list := p.notificationsList(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error { return list(cmd.Context()) }
	sub := &cobra.Command{
		Use:     "list",
		Short:   "List the notifications, newest first",
		Example: "  campaignd notifications list\n  campaignd notifications list --state dead -o json",
		Args:    noArguments,
	}
	listed := p.notificationsList(sub)
	sub.RunE = func(cmd *cobra.Command, _ []string) error { return listed(cmd.Context()) }
	cmd.AddCommand(sub, p.cmdNotificationsShow(), p.cmdNotificationsSend())
	return cmd
}

// notificationsList adds the flags of the list.
func (p *program) notificationsList(cmd *cobra.Command) func(context.Context) error {
	state := cmd.Flags().String("state", "", "only waiting, pending, sent or dead")
	last := cmd.Flags().Int("last", 50, "notifications to list, at most 1000")
	o := addOutput(cmd)
	return func(ctx context.Context) error {
		f := campaign.NotificationFilter{Limit: min(max(*last, 1), mostNotifications)}
		switch s := campaign.NotificationState(*state); s {
		case "":
		case campaign.NotificationWaiting, campaign.NotificationPending, campaign.NotificationSent, campaign.NotificationDead:
			f.States = []campaign.NotificationState{s}
		default:
			return usage(fmt.Errorf("--state %q: want waiting, pending, sent or dead", *state))
		}
		return p.withLedgerDesk(ctx, toRead, func(d *atDesk) error {
			all, err := d.Notifications(ctx, f)
			if err != nil {
				return err
			}
			facts, rows := []notificationFacts{}, [][]string{}
			for _, n := range all {
				facts = append(facts, factsOfNotification(n))
				about := facts[len(facts)-1].Run
				if about == "" {
					about = n.Subject
				}
				state := string(n.State)
				if n.Error != "" {
					state += ": " + n.Error
				}
				rows = append(rows, []string{strconv.FormatInt(n.No, 10), clock(n.At), n.Destination, string(n.Kind), printable(about),
					strconv.Itoa(n.Attempts), printable(state)})
			}
			if o.json() {
				return writeJSON(p.stdout, facts)
			}
			return writeTable(p.stdout, []string{"NO", "AT", "DESTINATION", "KIND", "ABOUT", "TRIES", "STATE"}, rows)
		})
	}
}

// notificationNo reads the number of a notification.
func notificationNo(text string) (int64, error) {
	no, err := strconv.ParseInt(text, 10, 64)
	if err != nil || no < 1 {
		return 0, usage(fmt.Errorf("%q is no number of a notification; `campaignd notifications` lists them", text))
	}
	return no, nil
}

func (p *program) cmdNotificationsShow() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "show NO",
		Short:   "Show one notification with its body, in JSON",
		Example: "  campaignd notifications show 12",
		Args:    oneName("NO", "12"),
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		no, err := notificationNo(args[0])
		if err != nil {
			return err
		}
		return p.withLedgerDesk(cmd.Context(), toRead, func(d *atDesk) error {
			n, err := d.Notification(cmd.Context(), no)
			if err != nil {
				return err
			}
			return writeJSON(p.stdout, factsOfNotification(n))
		})
	}
	return cmd
}

func (p *program) cmdNotificationsSend() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "send NO",
		Short: "Send a notification again, whatever its state is",
		Long: `Any serve sends it within seconds, with the id that it has: a receiver that knows the id ignores it. A try that fails is repeated
for three days from now.`,
		Example: "  campaignd notifications send 12",
		Args:    oneName("NO", "12"),
	}
	o := addOutput(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		no, err := notificationNo(args[0])
		if err != nil {
			return err
		}
		return p.withLedgerDesk(cmd.Context(), toChange, func(d *atDesk) error {
			n, err := d.SendNotification(cmd.Context(), no)
			if err != nil {
				return err
			}
			if o.json() {
				return writeJSON(p.stdout, factsOfNotification(n))
			}
			_, err = fmt.Fprintf(p.stdout, "notification %d (%s) is sent again to %s\n", n.No, n.Kind, n.Destination)
			return err
		})
	}
	return cmd
}
