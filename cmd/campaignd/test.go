package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"campaignd/campaign"
	"campaignd/campaign/launch"
	"campaignd/internal/client"
	"campaignd/internal/client/resource"
	"campaignd/internal/command"
	"campaignd/internal/daemon"
)

func (p *program) cmdTest() *cobra.Command {
	var in launch.SampleInput
	var to string
	cmd := &cobra.Command{
		Use:   "test CAMPAIGN.yaml --to NUMBER",
		Short: "Send one real message of a campaign to your own number; no run counts it",
		Long: `Sends one real message with the values of one row, to your own number instead of the row's. It counts at the service
(allowance, tier) and in no run. A number on the suppression list is refused. The message waits up to 10 s for a slot of its
number, and is refused while a hold stops it. Beside an SQLite ledger that a running serve sends from, that serve sends it.`,
		Example: `  campaignd test spring.yaml --recipients list.csv --to +2348031234567
  campaignd test spring.yaml --recipients list.csv --row 44 --to +2348031234567`,
		Args: oneCampaign,
	}
	cmd.Flags().StringVar(&in.List, "recipients", "", "the list (default: recipients.file of the campaign)")
	command.AddWhole(cmd.Flags(), &in.Row, "row", 0, "row whose values are used (default: the first that can be sent)")
	cmd.Flags().StringVar(&to, "to", "", "number to send to, in international form with +")
	o := command.AddOutput(cmd)
	p.AddServer(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if to == "" {
			return command.Invalid(errors.New("--to is missing: give a number of yours, such as +2348031234567"))
		}
		if err := checkRow(cmd, in); err != nil {
			return err
		}
		in.File = args[0]
		sent, err := p.sendTest(cmd, in, to)
		if err != nil {
			return err
		}
		return p.Say(o, sent, fmt.Sprintf("accepted by the service for %s: %s (accepted is not delivered: look at the phone)", sent.To,
			sent.MessageID))
	}
	return cmd
}

// sendTest sends a test message from here, or from another campaignd.
func (p *program) sendTest(cmd *cobra.Command, in launch.SampleInput, to string) (sent resource.TestMessage, err error) {
	far, err := p.Remote()
	switch {
	case err != nil:
		return sent, err
	case far != nil:
		return there(p, in.File, in.List, func(r client.Launch) (resource.TestMessage, error) {
			return far.SendTest(cmd.Context(), r, in.Row, to)
		})
	}
	c, err := p.load()
	if err != nil {
		return sent, err
	}
	_, key, err := in.TestNumber(to)
	if err != nil {
		return sent, err
	}
	if c.LaunchesBeside() {
		beside, err := daemon.Beside(cmd.Context(), c)
		if err != nil {
			return sent, err
		}
		if beside != nil { // it has the slots of the numbers
			return there(p, in.File, in.List, func(r client.Launch) (resource.TestMessage, error) {
				return beside.SendTest(cmd.Context(), r, in.Row, to)
			})
		}
	}
	var l campaign.Ledger
	if !c.NoLedger() {
		if l, err = daemon.OpenLedger(cmd.Context(), c, false, p.log(c, true)); err != nil {
			return sent, err
		}
		defer command.Closing(l, &err)
		if in.Suppressions, err = l.SuppressionsOf(cmd.Context(), key); err != nil { // also those of an erased number
			return sent, err
		}
		if _, _, err := in.TestNumber(to); err != nil {
			return sent, err
		}
	}
	client, err := p.client(c)
	if err != nil {
		return sent, err
	}
	defer client.Close()
	turn, end, err := daemon.LocalTurn(cmd.Context(), c, l, client, p.log(c, true))
	if err != nil { // has its remedy
		return sent, err
	}
	defer end()
	s, receipt, err := launch.SendTest(cmd.Context(), client, turn, in, to)
	if err != nil {
		return sent, withRemedy(c, err)
	}
	return resource.TestMessage{To: s.To, MessageID: receipt.MessageID, RequestID: receipt.RequestID, Warning: receipt.Warning}, nil
}
