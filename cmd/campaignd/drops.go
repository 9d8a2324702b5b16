package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"campaignd/internal/client/resource"
	"campaignd/internal/sentence"
)

func (p *Program) cmdDrops() *cobra.Command {
	var last int
	cmd := &cobra.Command{
		Use:   "drops",
		Short: "List the files that were taken from watched folders, and those that wait",
		Long: `Lists what serve saw in the watched folders (drops of the configuration): the files that wait there, with the reason, and
those that were taken, the newest first: claimed (being read and launched), launched (its run sends; results follow), settled
(the last results were written), rejected (no run, with the reason), gone (removed or replaced before it was read).`,
		Example: "  campaignd drops\n  campaignd drops --last 100 -o json",
		Args:    noArguments,
	}
	addWhole(cmd.Flags(), &last, "last", 20, "taken files to list, at most 1000")
	o := addOutput(cmd)
	p.addServer(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if err := within("last", last, 1, 1000); err != nil {
			return err
		}
		return p.withOperations(cmd.Context(), toRead, func(d operations) error {
			all, _, err := d.Drops(cmd.Context(), 0, last)
			if err != nil {
				return err
			}
			if o.json() {
				return writeJSON(p.stdout, all)
			}
			return p.writeDrops(all)
		})
	}
	return cmd
}

// writeDrops writes the table of waiting files, if there are any, and that of taken files.
func (p *Program) writeDrops(all []resource.Drop) error {
	var waiting, taken [][]string
	for _, f := range all {
		name := strings.TrimSuffix(f.Bucket, "/") + "/" + f.Key
		if f.State == resource.DropWaiting {
			waiting = append(waiting, []string{sentence.Printable(name), clock(f.Since), sentence.Printable(f.Detail)})
			continue
		}
		where := f.Place
		if f.Detail != "" {
			where = strings.TrimPrefix(where+": "+f.Detail, ": ")
		}
		taken = append(taken, []string{sentence.Printable(name), clock(f.TakenAt), f.State, f.Run, sentence.Printable(where)})
	}
	if len(waiting) > 0 {
		if err := writeTable(p.stdout, []string{"WAITING", "SINCE", "WHY"}, waiting); err != nil {
			return err
		}
		fmt.Fprintln(p.stdout)
	}
	return writeTable(p.stdout, []string{"FILE", "TAKEN", "STATE", "RUN", "WHERE AND WHY"}, taken)
}
