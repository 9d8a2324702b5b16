package operator

import (
	"context"
	"fmt"

	"campaignd/campaign"
	"campaignd/internal/client/resource"
)

// Drops lists files of watched folders: first those that wait, then at most limit of those that
// were taken, the newest first. before is the next that the previous page returned; 0: the first
// page. next is 0 on the last page. A session of one company sees the files that started a run of
// that company.
func (d *Session) Drops(ctx context.Context, before int64, limit int) (all []resource.Drop, next int64, err error) {
	if limit < 1 || limit > mostPage {
		return nil, 0, invalid("limit %d: want 1 to %d", limit, mostPage)
	}
	all = []resource.Drop{}
	if before == 0 && d.Company == "" {
		waits, err := d.Ledger.DropWaits(ctx)
		if err != nil {
			return nil, 0, err
		}
		for _, w := range waits {
			all = append(all, waitOf(w))
		}
	}
	files, err := d.Ledger.DroppedFiles(ctx, campaign.DropFilter{Before: before, Limit: limit + 1})
	if err != nil {
		return nil, 0, err
	}
	if len(files) > limit {
		files = files[:limit]
		next = files[limit-1].No
	}
	seen := map[campaign.RunNo]bool{}
	for _, f := range files {
		sees, known := seen[f.Run]
		if !known {
			sees = d.seesDrop(ctx, f)
			seen[f.Run] = sees
		}
		if sees {
			all = append(all, DropOf(f))
		}
	}
	return all, next, nil
}

// Drop returns one file that was taken, by its number. The error is ErrAbsent if there is none.
func (d *Session) Drop(ctx context.Context, no int64) (resource.Drop, error) {
	files, err := d.Ledger.DroppedFiles(ctx, campaign.DropFilter{No: no, Limit: 1})
	if err != nil {
		return resource.Drop{}, err
	}
	if no == 0 || len(files) == 0 || !d.seesDrop(ctx, files[0]) {
		return resource.Drop{}, fmt.Errorf("%w: no file with the number %d was taken; `campaignd drops` lists them", ErrAbsent, no)
	}
	return DropOf(files[0]), nil
}

func (d *Session) seesDrop(ctx context.Context, f campaign.DroppedFile) bool {
	if d.Company == "" {
		return true
	}
	if f.Run == 0 {
		return false
	}
	r, err := d.Ledger.Run(ctx, f.Run)
	return err == nil && d.sees(ctx, r)
}

func waitOf(w campaign.DropWait) resource.Drop {
	out := resource.Drop{Bucket: w.Bucket, Key: w.Key, State: resource.DropWaiting, Detail: w.Reason, Since: w.Since}
	if out.Key == "" {
		out.Key = w.Prefix // the folder itself
	}
	return out
}

// DropOf is a file that was taken.
func DropOf(f campaign.DroppedFile) resource.Drop {
	out := resource.Drop{File: f.No, Bucket: f.Bucket, Key: f.Key, Campaign: f.Campaign, State: string(f.State), Place: f.Place,
		Detail: f.Detail, Bytes: f.Size, SHA256: f.Hash, TakenAt: f.TakenAt}
	if f.Run != 0 {
		out.Run = campaign.Run{No: f.Run, Campaign: f.Campaign}.ID()
	}
	return out
}
