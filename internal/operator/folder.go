package operator

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"campaignd/campaign"
	"campaignd/campaign/file"
	"campaignd/campaign/plan"
	"campaignd/internal/client/resource"
)

// File is a file of the campaigns folder. Definition is nil if it cannot be read, and Cron is nil
// without a schedule, or if another file with a schedule has the campaign name.
type File struct {
	Path       string
	Source     []byte
	Definition *file.Definition
	Cron       *plan.Cron
	Findings   []file.Finding
}

// ErrAbsent says that there is no such campaign or dropped file.
var ErrAbsent = errors.New("not found")

// mostFirings is the most firings listed for each campaign.
const mostFirings = 1000

// seesFile reports whether the file is of the company of the session. A file that cannot be read
// belongs to no company.
func (d *Session) seesFile(ctx context.Context, f *File) bool {
	return d.Company == "" || f.Definition != nil && d.ofCompany(d.Origins(ctx, nil), f.Definition.Connections)
}

// Campaigns lists files of the campaigns folder.
func (d *Session) Campaigns(ctx context.Context, files []File) ([]resource.Campaign, error) {
	all := []resource.Campaign{}
	for i := range files {
		if !d.seesFile(ctx, &files[i]) {
			continue
		}
		c, err := d.campaignOf(ctx, &files[i])
		if err != nil {
			return nil, err
		}
		all = append(all, c)
	}
	return all, nil
}

func (d *Session) campaignOf(ctx context.Context, f *File) (c resource.Campaign, err error) {
	c = resource.Campaign{File: filepath.Base(f.Path), Findings: f.Findings}
	if def := f.Definition; def != nil {
		c.Name, c.List, c.Connections = def.Name, def.Recipients.File, def.Connections
		c.Template, c.Language = def.Template.Name, def.Template.Language
	}
	if f.Cron != nil {
		c.Schedule, c.Timezone = f.Cron.String(), f.Cron.Zone().String()
		c.Next, err = d.next(ctx, f, time.Now())
	}
	return c, err
}

// Campaign returns the file of a campaign, and its entry in Campaigns. If several files have its
// name, it is the one with a schedule that is used. The error is ErrAbsent if there is none, and
// ErrInvalid if several have the name and no schedule, or none of them is used.
func (d *Session) Campaign(ctx context.Context, files []File, name string) (File, resource.Campaign, error) {
	var found *File
	var all []string
	for i := range files {
		f := &files[i]
		if f.Definition == nil || f.Definition.Name != name || !d.seesFile(ctx, f) {
			continue
		}
		if all = append(all, filepath.Base(f.Path)); found == nil || f.Cron != nil {
			found = f
		}
	}
	switch {
	case found == nil:
		return File{}, resource.Campaign{}, fmt.Errorf("%w: no file of the campaigns folder that can be read has the campaign %q",
			ErrAbsent, name)
	case len(all) > 1 && found.Cron == nil:
		return File{}, resource.Campaign{}, invalid("the name %s is used by %s, so none of these files is used: "+
			"give each campaign its own name", name, strings.Join(all, ", "))
	}
	c, err := d.campaignOf(ctx, found)
	return *found, c, err
}

// Schedule lists for each campaign with a schedule at most next firings to come and last past
// firings, the newest of those first. name selects one campaign; "": all.
func (d *Session) Schedule(ctx context.Context, files []File, name string, next, last int) (all []resource.Firing, err error) {
	if next < 0 || next > mostFirings || last < 0 || last > mostFirings {
		return nil, invalid("next %d, last %d: want 0 to %d", next, last, mostFirings)
	}
	all = []resource.Firing{}
	var past []resource.Firing
	for i := range files {
		f := &files[i]
		if f.Cron == nil || name != "" && f.Definition.Name != name || !d.seesFile(ctx, f) {
			continue
		}
		at := time.Now()
		for range next {
			if at, err = d.next(ctx, f, at); err != nil {
				return nil, err
			}
			if at.IsZero() {
				break
			}
			all = append(all, firingOf(f, at))
		}
		if last == 0 {
			continue
		}
		firings, err := d.Ledger.Firings(ctx, campaign.FiringFilter{Campaign: f.Definition.Name, Limit: last})
		if err != nil {
			return nil, err
		}
		for _, was := range firings {
			past = append(past, pastFiring(f, was))
		}
	}
	if last > 0 && d.Company == "" && slices.ContainsFunc(files, func(f File) bool { return f.Definition == nil }) {
		more, err := d.firingsOfOthers(ctx, files, name, last)
		if err != nil {
			return nil, err
		}
		past = append(past, more...)
	}
	return append(all, past...), nil
}

// recentRuns is the number of scheduled runs that firingsOfOthers reads to find campaigns.
const recentRuns = 200

// firingsOfOthers returns the last firings of campaigns that no readable file of the folder has:
// their file is broken, but a process that read it earlier still fires them.
func (d *Session) firingsOfOthers(ctx context.Context, files []File, name string, last int) (past []resource.Firing, err error) {
	runs, err := d.Ledger.Runs(ctx, campaign.RunFilter{Campaign: name, Fired: true, Limit: recentRuns})
	if err != nil {
		return nil, err
	}
	seen := map[string]bool{}
	for _, r := range runs {
		known := slices.ContainsFunc(files, func(f File) bool { return f.Definition != nil && f.Definition.Name == r.Campaign })
		if known || seen[r.Campaign] {
			continue
		}
		seen[r.Campaign] = true
		firings, err := d.Ledger.Firings(ctx, campaign.FiringFilter{Campaign: r.Campaign, Limit: last})
		if err != nil {
			return nil, err
		}
		for _, was := range firings {
			f := resource.Firing{Campaign: was.Campaign, At: was.At, Timezone: "UTC", Local: was.At.UTC().Format("Mon 2006-01-02 15:04 MST")}
			past = append(past, outcomeOf(f, was))
		}
	}
	return past, nil
}

// firingOf is a firing to come.
func firingOf(f *File, at time.Time) resource.Firing {
	zone, layout := f.Cron.Zone(), "Mon 2006-01-02 15:04 MST"
	if at.Second() != 0 { // schedule.at may have seconds
		layout = "Mon 2006-01-02 15:04:05 MST"
	}
	return resource.Firing{Campaign: f.Definition.Name, File: filepath.Base(f.Path), Schedule: f.Cron.String(), Timezone: zone.String(),
		At: at, Local: at.In(zone).Format(layout), Outcome: "next"}
}

func pastFiring(f *File, was campaign.Firing) resource.Firing {
	return outcomeOf(firingOf(f, was.At), was)
}

// outcomeOf adds to a firing what became of it.
func outcomeOf(out resource.Firing, was campaign.Firing) resource.Firing {
	out.Outcome, out.Detail, out.Missed, out.MissedSince = string(was.Outcome), was.Detail, was.Missed, was.MissedSince
	if was.Run != 0 {
		out.Run = campaign.Run{No: was.Run, Campaign: was.Campaign}.ID()
	}
	return out
}
