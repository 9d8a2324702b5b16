package operator

import (
	"context"
	"io"
	"slices"

	"campaignd/campaign/file"
	"campaignd/campaign/launch"
	"campaignd/internal/messaging"
	"campaignd/reporting"
)

// Rejects returns a Writer of the rows of a list that a correction can help, as a list with the
// reason of each (reporting.Rejects). They are judged with the template that the service lists, or
// without it while the service does not answer; the ledger is not asked.
// The error is that of a list that cannot be read.
func (p *Process) Rejects(ctx context.Context, f File, path string) (Writer, error) {
	list, err := launch.OpenList(path, f.Definition.ListOptions(path))
	if err != nil {
		return nil, err
	}
	header, comma := slices.Clone(list.Header()), list.Dialect().Delimiter
	if err := list.Close(); err != nil {
		return nil, err
	}
	return func(w io.Writer) error {
		out, err := reporting.NewRejects(w, header, comma)
		if err != nil {
			return err
		}
		in := launch.PreflightInput{Definition: f.Definition, Source: f.Source, File: f.Path, List: path, Rejects: out.Add,
			Template: p.listed(ctx, f.Definition)}
		if _, err := launch.RunPreflight(ctx, in); err != nil {
			return err
		}
		return out.Close()
	}, nil
}

// listed returns the template of a campaign as the service lists it; nil: it does not tell.
func (p *Process) listed(ctx context.Context, d *file.Definition) *messaging.TemplateRecord {
	if p.Messages == nil {
		return nil
	}
	for _, id := range d.Connections {
		all, _ := p.Messages.Templates(ctx, id)
		for i := range all {
			if all[i].Name == d.Template.Name && all[i].Language == messaging.FoldLanguage(d.Template.Language) {
				return &all[i]
			}
		}
	}
	return nil
}
