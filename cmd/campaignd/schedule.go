package main

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"campaignd/internal/daemon"
)

// firingFacts is one firing of a schedule in JSON.
type firingFacts struct {
	Campaign string    `json:"campaign"`
	File     string    `json:"file"`
	Cron     string    `json:"cron"`
	Timezone string    `json:"timezone"`
	At       time.Time `json:"at"`
	Local    string    `json:"local"`
}

func (p *program) cmdSchedule() *cobra.Command {
	var count int
	cmd := &cobra.Command{
		Use:     "schedule",
		Short:   "List the next firings of the campaigns that have a schedule",
		Example: "  campaignd schedule\n  campaignd schedule --next 10 -o json",
		Args:    noArguments,
	}
	cmd.Flags().IntVar(&count, "next", 3, "firings to list for each campaign, at most 1000")
	o := addOutput(cmd)
	cmd.RunE = func(*cobra.Command, []string) error {
		c, err := p.load()
		if err != nil {
			return err
		}
		if err := daemon.CheckFolder(c.Campaigns); err != nil {
			fmt.Fprintf(p.stderr, "campaignd: %s\n", printable(err.Error()))
		}
		all, faults := daemon.ReadSchedule(c.Campaigns)
		facts := []firingFacts{}
		for _, s := range all {
			at := time.Now()
			for range min(count, 1000) {
				f := s.Next(at)
				if f.At.IsZero() {
					break
				}
				at = f.At
				zone := s.Cron.Zone()
				local := f.At.In(zone).Format("Mon 2006-01-02 15:04 MST")
				facts = append(facts, firingFacts{s.Definition.Name, s.File, s.Cron.String(), zone.String(), f.At, local})
			}
		}
		if o.json() {
			err = writeJSON(p.stdout, facts)
		} else {
			var rows [][]string
			for _, f := range facts {
				rows = append(rows, []string{f.Campaign, f.Local, f.Cron, f.Timezone, f.File})
			}
			err = writeTable(p.stdout, []string{"CAMPAIGN", "NEXT", "CRON", "ZONE", "FILE"}, rows)
		}
		if err != nil {
			return err
		}
		if faults != nil {
			return invalid(faults)
		}
		return nil
	}
	return cmd
}
