package launch

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"campaignd/campaign"
	"campaignd/campaign/file"
)

// freeze imports the list, uploads the header and finishes the import.
func (l Request) freeze(ctx context.Context, def *file.Definition, run campaign.Run, list string, checked *Preflight) (Outcome, error) {
	in := ImportInput{
		Ledger: l.Ledger, Run: run, Definition: def, List: list, Senders: checked.Senders,
		Template: checked.Template, SegmentRows: campaign.SegmentFor(checked.Sendable, len(def.Connections)), Sendable: checked.Sendable,
		Progress: func(rows int64) { l.progress("importing", rows) },
	}
	counts, err := Import(ctx, in)
	if err != nil {
		return Outcome{}, err
	}
	if def.Template.Header.File() != "" && run.Asset == "" {
		l.progress("uploading", counts.Rows)
		kind, _ := def.Template.Header.Media()
		assets, err := uploadHeader(ctx, l.Service, kind, filepath.Dir(l.File), def.Template.Header.File(), "", connectionsOf(def, checked.known))
		if err != nil {
			return Outcome{}, err
		}
		// After a crash before SetAssets the header is uploaded again, and the service keeps both assets.
		if err := l.Ledger.SetAssets(ctx, run.No, assets); err != nil {
			return Outcome{}, fmt.Errorf("remember the uploaded header: %w", err)
		}
	}
	// While the import keeps it from being sent.
	if err := errors.Join(l.holdEdited(ctx, run, checked, def.Connections), l.recategorize(ctx, def, run, checked)); err != nil {
		return Outcome{}, err
	}
	if err := addRepeats(ctx, l.Ledger, run, l.SentWithin, nil, checked.SentBefore.warning(run)); err != nil {
		return Outcome{}, err
	}
	run, err = endImport(ctx, l.Ledger, run, def, counts.Rows, counts.Queued)
	return Outcome{Run: run, Imported: err == nil}, err
}

func (l Request) progress(phase string, rows int64) {
	if l.Progress != nil {
		l.Progress(phase, rows)
	}
}
