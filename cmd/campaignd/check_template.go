package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"campaignd/campaign"
	"campaignd/campaign/file"
	"campaignd/campaign/launch"
	"campaignd/campaign/template"
	"campaignd/internal/config"
	"campaignd/internal/daemon"
	"campaignd/internal/messaging"
)

// templateFile is the template file of a campaign, as check judges it. It is empty if there is
// none.
type templateFile struct {
	path string
	t    *template.Template // nil if err is not
	err  error
}

// templateFileOf reads the template file of a campaign: in the folder templates beside the campaign
// file, else in the folder templates of the working directory.
func templateFileOf(campaignFile string, use *file.TemplateUse) templateFile {
	name := use.Name + "." + messaging.FoldLanguage(use.Language) + ".yaml"
	for _, folder := range []string{filepath.Join(filepath.Dir(campaignFile), templatesFolder), templatesFolder} {
		path := filepath.Join(folder, name)
		if _, err := os.Stat(path); err == nil {
			t, err := template.ReadFile(path)
			return templateFile{path, t, err}
		}
	}
	return templateFile{}
}

// checkWithTemplate runs the preflight, and adds what the template file of the campaign has to say.
// Where the service is not asked, the file stands for its template.
func checkWithTemplate(ctx context.Context, c *config.Config, l campaign.Ledger, in launch.PreflightInput) (*launch.Preflight, error) {
	file := templateFileOf(in.File, &in.Definition.Template)
	if in.Service == nil {
		in.Template = file.record()
	}
	found, err := daemon.CheckCampaign(ctx, c, l, nil, in)
	if err == nil {
		found.Findings = append(found.Findings, file.findings(found.Template)...)
	}
	return found, err
}

// record is what the service will have once the file is pushed and approved; nil if that is not
// known. The category of the file is left out: the category of the service counts.
func (f templateFile) record() *messaging.TemplateRecord {
	if f.t == nil || len(f.t.Components) == 0 {
		return nil
	}
	r := f.t.TemplateRecord
	r.Status, r.Category = "APPROVED", ""
	return &r
}

// findings are warnings: what is sent is the template of the service, not the file. listed is that
// of the service; nil if it was not asked or has none.
func (f templateFile) findings(listed *messaging.TemplateRecord) []file.Finding {
	var out []file.Finding
	var faults *file.Error
	switch {
	case errors.As(f.err, &faults):
		for _, fault := range faults.Findings {
			fault.Level, fault.Kind = file.KindTemplateFile.Level(), file.KindTemplateFile
			out = append(out, fault)
		}
	case f.err != nil:
		out = append(out, file.Warning(file.KindTemplateFile, 0, f.path, f.err.Error(), "make it a readable file"))
	case f.t != nil && listed != nil && listed.Status != "":
		if differences := f.t.Differences(listed); len(differences) > 0 {
			out = append(out, file.Warning(file.KindTemplateFile, 0, f.path,
				fmt.Sprintf("it is not what the service has: %s", strings.Join(differences, "; ")),
				"`campaignd templates push` edits the template at the service"))
		}
	}
	return out
}
