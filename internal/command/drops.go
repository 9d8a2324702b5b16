package command

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"campaignd/internal/client/resource"
	"campaignd/internal/sentence"
)

// Drops returns the command drops.
func (p *Program) Drops() *cobra.Command {
	var last int
	cmd := &cobra.Command{
		Use:   "drops",
		Short: "List the files that were picked up from watched folders, and those still waiting",
		Long: `Lists the files that serve found in the watched folders (drops in the configuration). Files that are still waiting
come first, with the reason. Then the files that were picked up, newest first: claimed (being read and launched),
launched (the run is sending; results follow), settled (the last results were written), rejected (no run, with the
reason), gone (removed or replaced before it was read).`,
		Example: "  campaignd drops\n  campaignd drops --last 100 -o json",
		Args:    NoArguments,
	}
	AddWhole(cmd.Flags(), &last, "last", 20, "taken files to list, at most 1000")
	o := AddOutput(cmd)
	p.AddServer(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if err := Within("last", last, 1, 1000); err != nil {
			return err
		}
		return p.WithOperations(cmd.Context(), ToRead, func(d Operations) error {
			all, _, err := d.Drops(cmd.Context(), 0, last)
			if err != nil {
				return err
			}
			if o.JSON() {
				return WriteJSON(p.Stdout, all)
			}
			return p.writeDrops(all)
		})
	}
	return cmd
}

// writeDrops writes the table of waiting files, if there are any, and the table of taken files.
func (p *Program) writeDrops(all []resource.Drop) error {
	var waiting, taken [][]string
	for _, f := range all {
		name := strings.TrimSuffix(f.Bucket, "/") + "/" + f.Key
		if f.State == resource.DropWaiting {
			waiting = append(waiting, []string{sentence.Printable(name), Clock(f.Since), sentence.Printable(f.Detail)})
			continue
		}
		where := f.Place
		if f.Detail != "" {
			where = strings.TrimPrefix(where+": "+f.Detail, ": ")
		}
		taken = append(taken, []string{sentence.Printable(name), Clock(f.TakenAt), f.State, f.Run, sentence.Printable(where)})
	}
	if len(waiting) > 0 {
		if err := WriteTable(p.Stdout, []string{"WAITING", "SINCE", "WHY"}, waiting); err != nil {
			return err
		}
		fmt.Fprintln(p.Stdout)
	}
	return WriteTable(p.Stdout, []string{"FILE", "TAKEN", "STATE", "RUN", "WHERE AND WHY"}, taken)
}
