package main

import (
	"fmt"
	"strconv"

	"github.com/spf13/cobra"

	"campaignd/campaign"
	"campaignd/internal/client/resource"
)

// stateOf returns the state with its reason, or with the wanted state that the run has not reached
// yet, for a cell of a table.
func stateOf(f resource.Run) string {
	s := string(f.State)
	if f.Reason != "" {
		s += " (" + string(f.Reason) + ")"
	}
	if !f.State.Ended() && f.Wanted != campaign.WantRun && f.Wanted != "" && f.State != campaign.Paused {
		s += ", wanted: " + string(f.Wanted)
	}
	if f.Retired.Rows > 0 {
		s += ", rows deleted"
	}
	if len(f.Holds) > 0 {
		s += ", held"
	}
	return s
}

func (p *Program) cmdRuns() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "runs",
		Short:   "List the runs, newest first",
		Example: "  campaignd runs\n  campaignd runs -o json",
		Args:    noArguments,
	}
	o := addOutput(cmd)
	p.addServer(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		return p.withOperations(cmd.Context(), toRead, func(d operations) error {
			runs, err := d.Runs(cmd.Context(), campaign.RunFilter{})
			if err != nil {
				return err
			}
			if o.json() {
				return writeJSON(p.stdout, runs)
			}
			var rows [][]string
			for _, r := range runs {
				rows = append(rows, []string{r.ID, stateOf(r), strconv.FormatInt(r.Rows, 10), clock(r.CreatedAt), clock(r.EndedAt), r.List})
			}
			if err := writeTable(p.stdout, []string{"RUN", "STATE", "ROWS", "LAUNCHED", "ENDED", "LIST"}, rows); err != nil {
				return err
			}
			p.writeHolds(runs)
			return nil
		})
	}
	return cmd
}

// writeHolds writes each hold of the runs once.
func (p *Program) writeHolds(runs []resource.Run) {
	said := map[string]bool{}
	for _, r := range runs {
		for _, h := range r.Holds {
			if said[h.Sentence] {
				continue
			}
			if len(said) == 0 {
				fmt.Fprintln(p.stdout)
			}
			said[h.Sentence] = true
			writeParagraph(p.stdout, "held: "+h.Sentence)
		}
	}
}
