package launch

import (
	"context"
	"fmt"

	"campaignd/campaign"
	"campaignd/campaign/file"
)

// UsedAssets returns the files at the service that unfinished runs use: the id of one such run by
// assetId. It returns an error while a run is being launched that has not noted its file yet.
func UsedAssets(ctx context.Context, l campaign.RunLedger) (map[string]string, error) {
	runs, err := l.Runs(ctx, campaign.RunFilter{Unfinished: true})
	if err != nil {
		return nil, err
	}
	used := map[string]string{}
	for _, r := range runs {
		def, err := file.ParseStored(r.ID(), r.Definition)
		if err != nil {
			return nil, err
		}
		assets, err := l.Assets(ctx, r.No)
		if err != nil {
			return nil, err
		}
		for _, a := range assets {
			used[a.ID] = r.ID()
		}
		_, m := def.Template.Header.Media()
		switch {
		case m == nil:
		case m.AssetID != "":
			used[m.AssetID] = r.ID()
		case m.File != "" && len(assets) == 0:
			return nil, fmt.Errorf("run %s is being launched and its file %s is not noted yet; try again when it sends", r.ID(), m.File)
		}
	}
	return used, nil
}
