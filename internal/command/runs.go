package command

import (
	"fmt"
	"strconv"

	"github.com/spf13/cobra"

	"campaignd/campaign"
	"campaignd/internal/client/resource"
)

// StateOf returns the state with its reason, or with the wanted state that the run has not reached
// yet, for a cell of a table.
func StateOf(f resource.Run) string {
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

// Runs returns the command runs.
func (p *Program) Runs() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "runs",
		Short:   "List the runs, newest first",
		Example: "  campaignd runs\n  campaignd runs -o json",
		Args:    NoArguments,
	}
	o := AddOutput(cmd)
	p.AddServer(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		return p.WithOperations(cmd.Context(), ToRead, func(d Operations) error {
			runs, err := d.Runs(cmd.Context(), campaign.RunFilter{})
			if err != nil {
				return err
			}
			heads := []string{"RUN", "STATE", "ROWS", "LAUNCHED", "ENDED", "LIST"}
			err = WriteList(p, o, heads, runs, func(r resource.Run) []string {
				return []string{r.ID, StateOf(r), strconv.FormatInt(r.Rows, 10), Clock(r.CreatedAt), Clock(r.EndedAt), r.List}
			})
			if err == nil && !o.JSON() {
				p.writeHolds(runs)
			}
			return err
		})
	}
	cmd.AddCommand(p.cmdCompare())
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
				fmt.Fprintln(p.Stdout)
			}
			said[h.Sentence] = true
			WriteParagraph(p.Stdout, "held: "+h.Sentence)
		}
	}
}
