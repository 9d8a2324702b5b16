package main

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"

	"github.com/spf13/cobra"

	"campaignd/campaign/file"
	"campaignd/internal/client"
	"campaignd/internal/client/resource"
	"campaignd/internal/command"
	"campaignd/internal/ledger/backend"
	"campaignd/internal/operator"
	"campaignd/internal/schedule"
	"campaignd/internal/sentence"
)

func (p *program) cmdSchedule() *cobra.Command {
	var next, last int
	cmd := &cobra.Command{
		Use:   "schedule",
		Short: "List the next firings of scheduled campaigns and the results of the last ones",
		Long: `Lists the next firings of each campaign of the campaigns folder, and what became of its last firings: launched, with the
run; skipped, because an earlier run was unfinished (schedule.overlap); missed, because no process fired it in time
(schedule.misfire); failed, because no launch succeeded within schedule.grace; launching and waiting are not decided yet.`,
		Example: "  campaignd schedule\n  campaignd schedule --next 10 --last 0 -o json\n  campaignd schedule --next 0 --last 20",
		Args:    command.NoArguments,
	}
	command.AddWhole(cmd.Flags(), &next, "next", 3, "firings to come to list for each campaign, at most 1000")
	command.AddWhole(cmd.Flags(), &last, "last", 3, "past firings to list for each campaign, at most 1000")
	o := command.AddOutput(cmd)
	p.AddServer(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if err := cmp.Or(command.Within("next", next, 0, 1000), command.Within("last", last, 0, 1000)); err != nil {
			return err
		}
		return p.withFolder(cmd.Context(), func(d folderOperations) error {
			all, err := d.Schedule(cmd.Context(), "", next, last)
			if err != nil {
				return err
			}
			if o.JSON() {
				err = command.WriteJSON(p.Stdout, all)
			} else {
				err = p.writeFirings(all)
			}
			if err != nil {
				return err
			}
			return d.Faults(cmd.Context())
		})
	}
	return cmd
}

// folderOperations are the requests to a campaigns folder.
type folderOperations interface {
	Schedule(ctx context.Context, name string, next, last int) ([]resource.Firing, error)
	// Faults returns the faults of the files of the folder.
	Faults(ctx context.Context) error
}

// farFolder is the folder of another campaignd.
type farFolder struct{ *client.Client }

// Faults returns the findings of the files that cannot be read.
func (f farFolder) Faults(ctx context.Context) error {
	all, err := f.Campaigns(ctx)
	if err != nil {
		return err
	}
	var faults file.Error
	for _, c := range all {
		for _, one := range c.Findings {
			if one.Level == file.LevelError {
				faults.Findings = append(faults.Findings, one)
			}
		}
	}
	if len(faults.Findings) == 0 {
		return nil
	}
	return command.Invalid(&faults)
}

// nearFolder is the folder of this machine. Its ledger is nil if nothing has run here yet.
type nearFolder struct {
	*operator.Session
	dir string
}

// Schedule lists firings of the folder, with the path of each file.
func (f nearFolder) Schedule(ctx context.Context, name string, next, last int) ([]resource.Firing, error) {
	files, err := schedule.Files(f.dir)
	if err != nil {
		return nil, err
	}
	if f.Ledger == nil {
		last = 0
	}
	all, err := f.Session.Schedule(ctx, files, name, next, last)
	for i := range all {
		if all[i].File != "" { // a past firing of a broken file has none
			all[i].File = filepath.Join(f.dir, all[i].File)
		}
	}
	return all, err
}

// Faults returns the findings of the files that cannot be read, with the path of each.
func (f nearFolder) Faults(context.Context) error {
	if _, err := schedule.Read(f.dir); err != nil {
		return command.Invalid(fmt.Errorf("%w\na `serve` that read an earlier version of such a file uses that one until it starts again", err))
	}
	return nil
}

// withFolder calls do with the campaigns folder of this machine or of the other campaignd. A folder
// may have no ledger.
func (p *program) withFolder(ctx context.Context, do func(folderOperations) error) (err error) {
	far, err := p.Remote()
	switch {
	case err != nil:
		return err
	case far != nil:
		return command.RequestError(do(farFolder{far}))
	}
	c, err := p.load()
	if err != nil {
		return err
	}
	if err := schedule.CheckFolder(c.Campaigns); err != nil {
		fmt.Fprintf(p.Stderr, "campaignd: %s\n", sentence.Printable(err.Error()))
	}
	near := nearFolder{&operator.Session{}, c.Campaigns}
	if !c.NoLedger() {
		if near.Ledger, err = backend.Read(ctx, c, p.log(c, true)); err != nil {
			return err
		}
		defer command.Leaving(near.Ledger, p.Stderr)
	}
	return command.RequestError(do(near))
}

// writeFirings writes the table of next firings, and the table of past firings if there are any.
func (p *program) writeFirings(all []resource.Firing) error {
	var rows [][]string
	var past []resource.Firing
	for _, f := range all {
		if f.Outcome != "next" {
			past = append(past, f)
			continue
		}
		rows = append(rows, []string{f.Campaign, f.Local, f.Schedule, f.Timezone, f.File})
	}
	if err := command.WriteTable(p.Stdout, []string{"CAMPAIGN", "NEXT", "SCHEDULE", "ZONE", "FILE"}, rows); err != nil || len(past) == 0 {
		return err
	}
	rows = nil
	for _, f := range past {
		why := f.Detail
		if f.Missed > 0 {
			if why != "" {
				why += "; "
			}
			why += fmt.Sprintf("%d before it missed since %s", f.Missed, command.Clock(f.MissedSince))
		}
		rows = append(rows, []string{f.Campaign, f.Local, f.Outcome, f.Run, sentence.Printable(why)})
	}
	fmt.Fprintln(p.Stdout)
	return command.WriteTable(p.Stdout, []string{"CAMPAIGN", "LAST", "OUTCOME", "RUN", "WHY"}, rows)
}
