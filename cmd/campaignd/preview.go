package main

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/spf13/cobra"

	"campaignd/campaign/launch"
	"campaignd/internal/client"
	"campaignd/internal/command"
	"campaignd/internal/sentence"
)

func (p *program) cmdPreview() *cobra.Command {
	var in launch.SampleInput
	var offline bool
	cmd := &cobra.Command{
		Use:   "preview CAMPAIGN.yaml",
		Short: "Show the message of one row as it would be sent; nothing is sent",
		Example: `  campaignd preview spring.yaml --recipients list.csv
  campaignd preview spring.yaml --recipients list.csv --row 44 -o json`,
		Args: oneCampaign,
	}
	cmd.Flags().StringVar(&in.List, "recipients", "", "the list (default: recipients.file of the campaign)")
	command.AddWhole(cmd.Flags(), &in.Row, "row", 0, "row of the list, from 1, the header not counted (default: the first that can be sent)")
	cmd.Flags().BoolVar(&offline, "offline", false, "do not ask the service for the template's text")
	o := command.AddOutput(cmd)
	p.AddServer(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := checkRow(cmd, in); err != nil {
			return err
		}
		in.File = args[0]
		s, err := p.sample(cmd.Context(), in, offline)
		if err != nil {
			return err
		}
		if o.JSON() {
			return command.WriteJSON(p.Stdout, s)
		}
		return p.writeSample(s)
	}
	return cmd
}

// sample reads the message of a row, here or at another campaignd.
func (p *program) sample(ctx context.Context, in launch.SampleInput, offline bool) (*launch.Sample, error) {
	far, err := p.Remote()
	switch {
	case err != nil:
		return nil, err
	case far != nil && offline:
		return nil, command.Invalid(offlineThere())
	case far != nil:
		return there(p, in.File, in.List, func(r client.Launch) (*launch.Sample, error) {
			return far.Preview(ctx, r, in.Row)
		})
	}
	c, err := p.load()
	if err != nil {
		return nil, err
	}
	if !offline {
		client, err := p.client(c)
		if err != nil {
			return nil, err
		}
		defer client.Close()
		in.Service, in.OptOut = client, c.OptOut()
	}
	s, err := launch.ReadSample(ctx, in)
	return s, withRemedy(c, err)
}

// checkRow refuses a given --row below 1.
func checkRow(cmd *cobra.Command, in launch.SampleInput) error {
	if cmd.Flags().Changed("row") && in.Row < 1 {
		return command.Invalid(fmt.Errorf("--row %d: rows are counted from 1", in.Row))
	}
	return nil
}

func (p *program) writeSample(s *launch.Sample) error {
	fmt.Fprintf(p.Stdout, "row %d (line %d) to %s\n", s.Row, s.Line, sentence.Printable(s.To))
	if s.Skip != "" {
		_, err := fmt.Fprintf(p.Stdout, "not sent (%s): %s\n", s.Skip, sentence.Printable(s.Note))
		return err
	}
	if s.Text != "" {
		fmt.Fprintf(p.Stdout, "\n%s\n", command.PrintableLines(s.Text))
	}
	if s.Footer != "" {
		fmt.Fprintf(p.Stdout, "%s\n", command.PrintableLines(s.Footer))
	}
	for _, q := range s.QuickReplies {
		fmt.Fprintf(p.Stdout, "[%s]\n", q)
	}
	text, err := json.MarshalIndent(s.Message, "", "  ")
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(p.Stdout, "\nPOST /api/v1/messages\n%s\n", command.PrintableLines(string(text)))
	return err
}
