package main

import (
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"campaignd/campaign/file"
	"campaignd/campaign/launch"
	"campaignd/internal/audience"
	"campaignd/internal/command"
	"campaignd/internal/config"
	"campaignd/internal/daemon"
	"campaignd/internal/sentence"
)

// shownRows is how many rows the command shows.
const shownRows = 5

// audienceRows are the counts of an audience and its first rows.
type audienceRows struct {
	audience.Counts
	Header []string   `json:"header"`
	Rows   [][]string `json:"rows"`
}

func (p *program) cmdCommerceAudience() *cobra.Command {
	var write string
	cmd := &cobra.Command{
		Use:   "audience CAMPAIGN.yaml",
		Short: "Show the customers in the audience of a campaign, and send nothing",
		Long: `Fetches the customers selected by the key audience of the campaign file, counts them and shows the first five.
Nothing is launched, and nothing is stored unless --write names a file for the list. Run, launch and schedules build
a list by themselves. The list contains phone numbers, so only its owner can read it.`,
		Example: `  campaignd commerce audience winback.yaml
  campaignd commerce audience winback.yaml --write winback.csv`,
		Args: oneCampaign,
	}
	cmd.Flags().StringVar(&write, "write", "", "the file for the list; an existing one is replaced")
	o := command.AddOutput(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		c, err := p.load()
		if err != nil {
			return err
		}
		def, _, err := file.Load(args[0])
		if err != nil {
			return err
		}
		if def.Audience == nil {
			return command.Invalid(fmt.Errorf("%s has no audience; add one, such as audience: {from: customers}", args[0]))
		}
		shown, err := p.audienceOf(cmd.Context(), c, def, write)
		if err != nil {
			return err
		}
		return p.Say(o, shown, shown.text())
	}
	return cmd
}

// audienceOf makes the list of an audience, and reads what the command shows of it. write is where
// the list stays; "" keeps none.
func (p *program) audienceOf(ctx context.Context, c *config.Config, d *file.Definition, write string) (shown audienceRows, err error) {
	lists, err := daemon.Audiences(c, nil, p.log(c, true))
	if err != nil {
		return shown, err
	}
	fetched := p.fetching()
	if write != "" {
		if shown.Counts, err = lists.Write(ctx, d, write, fetched); err != nil {
			return shown, err
		}
		return shown, shown.first(write)
	}
	made, err := lists.Make(ctx, d, fetched)
	if err != nil {
		return shown, err
	}
	shown.Counts = made.Counts
	return shown, errors.Join(shown.first(made.Path), made.Remove())
}

// fetching shows how many rows of an audience were read, if that takes long.
func (p *program) fetching() func(int64) {
	began := time.Now()
	shown := began
	return func(rows int64) {
		if now := time.Now(); now.Sub(shown) >= lineInterval {
			shown = now
			fmt.Fprintf(p.Stderr, "fetching, %s\n", soFar(rows, now.Sub(began)))
		}
	}
}

// first reads the first rows of the list.
func (a *audienceRows) first(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	r := csv.NewReader(f)
	if a.Header, err = r.Read(); err != nil {
		return err
	}
	for len(a.Rows) < shownRows {
		row, err := r.Read()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		a.Rows = append(a.Rows, row)
	}
	return nil
}

// text is the counts in a line, then the cells that the first rows fill.
func (a *audienceRows) text() string {
	var s strings.Builder
	s.WriteString(sentence.Count(a.Customers, "customer", "customers"))
	for _, n := range []struct {
		count int64
		what  string
	}{{a.NoPhone, "without a phone"}, {a.NoConsent, "without consent"}, {a.OtherLanguage, "of another language"}} {
		if n.count > 0 {
			fmt.Fprintf(&s, ", %s %s", sentence.Count(n.count, "is", "are"), n.what)
		}
	}
	if a.NoCustomer > 0 {
		fmt.Fprintf(&s, "; %s no customer and %s left out", sentence.Count(a.NoCustomer, "order names", "orders name"),
			map[bool]string{true: "is", false: "are"}[a.NoCustomer == 1])
	}
	if a.Unread > 0 {
		fmt.Fprintf(&s, "; %s be read", sentence.Count(a.Unread, "record cannot", "records cannot"))
		if a.UnreadID != "" {
			fmt.Fprintf(&s, ", such as %s", a.UnreadID)
		}
	}
	for _, row := range a.Rows {
		s.WriteString("\n ")
		for i, cell := range row {
			if cell != "" {
				fmt.Fprintf(&s, " %s=%s", a.Header[i], sentence.Printable(sentence.Shorten(cell, 40)))
			}
		}
	}
	return s.String()
}

// listAudience makes the list that a check reads. done deletes it.
func (p *program) listAudience(ctx context.Context, c *config.Config, d *file.Definition, in *launch.PreflightInput) (
	done func() error, err error) {
	lists, err := daemon.Audiences(c, nil, p.log(c, true))
	if err != nil {
		return nil, err
	}
	made, err := lists.Make(ctx, d, p.fetching())
	if err != nil {
		return nil, err
	}
	in.List, in.Offer = made.Path, made.Offer()
	return made.Remove, nil
}
