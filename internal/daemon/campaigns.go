package daemon

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"campaignd/campaign"
	"campaignd/campaign/plan"
	"campaignd/internal/operator"
)

// CampaignFiles reads the campaigns folder, and returns its files by name.
func CampaignFiles(dir string) ([]operator.File, error) {
	d := newFolder(dir)
	_, err := d.look()
	var faults *campaign.FileError // the faults of each file are with the file
	if err != nil && !errors.As(err, &faults) {
		return nil, err
	}
	all := make([]operator.File, 0, len(d.files))
	for path, f := range d.files {
		file := operator.File{Path: path, Source: f.good.Source, Definition: f.good.Definition, Cron: f.good.Cron}
		file.Findings = withoutFolder(dir, f.findings())
		if f.twin != nil {
			file.Cron = nil // it does not fire
		}
		all = append(all, file)
	}
	slices.SortFunc(all, func(a, b operator.File) int { return strings.Compare(a.Path, b.Path) })
	return all, nil
}

func (d *Daemon) campaignFiles() ([]operator.File, error) { return CampaignFiles(d.cfg.Campaigns) }

// withoutFolder names the files of findings without the path of their folder.
func withoutFolder(dir string, findings []campaign.Finding) []campaign.Finding {
	out := slices.Clone(findings)
	path := strings.NewReplacer(dir+string(filepath.Separator), "", filepath.Clean(dir)+string(filepath.Separator), "")
	for i, f := range out {
		out[i].Where, out[i].What, out[i].Remedy = path.Replace(f.Where), path.Replace(f.What), path.Replace(f.Remedy)
	}
	return out
}

// checkFile checks a campaign and a list; "" is the campaign's own. The service's answers may be a
// minute old.
func (d *Daemon) checkFile(ctx context.Context, f operator.File, list string) (*campaign.Preflight, error) {
	in := campaign.PreflightInput{Definition: f.Definition, Source: f.Source, File: f.Path, Examples: manyExamples, Rate: d.cfg.Rate,
		Suppressions: d.ledger, Reached: d.ledger, List: cmp.Or(list, campaign.Beside(f.Path, f.Definition.Recipients.File))}
	if in.List == "" {
		return nil, &campaign.FileError{Findings: []campaign.Finding{{Level: campaign.LevelError,
			Where: filepath.Base(f.Path), What: "the campaign names no list", Remedy: "set recipients.file, or launch it with a list"}}}
	}
	if d.asked != nil {
		in.Service = d.asked
	}
	found, err := checkCampaign(ctx, d.cfg, d.ledger, d.directory, in)
	if err != nil {
		return nil, err
	}
	found.Findings = withoutFolder(d.cfg.Campaigns, found.Findings)
	found.List = filepath.Base(found.List)
	return found, nil
}

// manyExamples is the number of rows that a check lists for each reason.
const manyExamples = 1000

// forecastFile forecasts a campaign over a list, as if it were launched now; "" is the campaign's
// own list.
func (d *Daemon) forecastFile(ctx context.Context, f operator.File, list string) (out plan.Forecast, err error) {
	found, err := d.checkFile(ctx, f, list)
	switch {
	case err != nil:
		return out, err
	case !found.OK():
		return out, &campaign.PreflightError{Preflight: found}
	}
	out, err = forecastLaunch(ctx, d.cfg, d.ledger, d.directory, f.Definition, found, time.Now())
	if err != nil {
		err = fmt.Errorf("forecast %s: %w", filepath.Base(f.Path), err)
	}
	return out, err
}
