package launch

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"time"

	"campaignd/campaign"
	"campaignd/campaign/file"
	"campaignd/internal/messaging"
	"campaignd/internal/sentence"
)

// AssetRenew is how long before its end an asset is uploaded again, if its run lasts longer.
// assetHold is how long before it a run is held whose asset could not be uploaded again.
const (
	AssetRenew = 7 * 24 * time.Hour
	assetHold  = 24 * time.Hour
)

// MediaChanged is the reason of the hold of a run whose header file cannot be uploaded again.
const MediaChanged = "media_file"

// ErrMediaChanged says that a header file is not what it was when the run was launched.
var ErrMediaChanged = errors.New("the header file has changed since the run was launched")

// uploadHeader uploads the header file of a folder once for all connections that share files. hash,
// if not "", is the SHA-256 that the file must have.
func uploadHeader(ctx context.Context, s messaging.Service, kind, folder, name, hash string, connections []messaging.Connection) (
	all []campaign.Asset, err error) {
	path, err := filepath.Abs(file.Within(folder, name))
	if err != nil {
		return nil, fmt.Errorf("header file: %w", err)
	}
	f, contentType, err := file.OpenMedia(kind, folder, name)
	if err != nil {
		return nil, fmt.Errorf("header file: %w", err)
	}
	defer f.Close() //nolint:errcheck // read only
	sum := sha256.New()
	if _, err := io.Copy(sum, f); err != nil {
		return nil, fmt.Errorf("header file %s: %w", path, err)
	}
	is := hex.EncodeToString(sum.Sum(nil))
	if hash != "" && hash != is {
		return nil, fmt.Errorf("%w: %s", ErrMediaChanged, path)
	}
	type holder struct{ company, files string }
	of := map[holder]messaging.Asset{}
	for _, c := range connections {
		h := holder{c.CompanyID, c.Files}
		a, done := of[h]
		if !done {
			if _, err := f.Seek(0, io.SeekStart); err != nil {
				return nil, fmt.Errorf("header file %s: %w", path, err)
			}
			if a, err = s.UploadMedia(ctx, c.ID, filepath.Base(path), contentType, f); err != nil {
				return nil, fmt.Errorf("upload %s over %s: %w", path, c.ID, err)
			}
			of[h] = a
		}
		all = append(all, campaign.Asset{Connection: c.ID, ID: a.ID, Until: a.ExpiresAt, File: path, SHA256: is})
	}
	return all, nil
}

// MediaLedger is the part of the ledger that RenewMedia reads and writes.
type MediaLedger interface {
	campaign.RunLedger
	campaign.HoldLedger
}

// RenewMedia uploads the header file of a run again when the first of its assets ends within
// AssetRenew. It fails when the file is gone or has changed; within assetHold of the end it then
// also holds the run, until a later call succeeds.
func RenewMedia(ctx context.Context, l MediaLedger, s messaging.Service, no campaign.RunNo, now time.Time) (renewed bool, err error) {
	run, err := l.Run(ctx, no)
	if err != nil || run.AssetUntil.IsZero() || run.State.Ended() || run.AssetUntil.Sub(now) > AssetRenew {
		return false, err
	}
	assets, err := renewMedia(ctx, l, s, run)
	if err == nil {
		err = l.SetAssets(ctx, no, assets)
	}
	if err == nil {
		_, err = l.LiftHolds(ctx, []campaign.Lift{{
			Scope: campaign.HoldRun, ID: run.ID(), Reason: MediaChanged, At: now, ReceivedAt: now, By: campaign.HoldByEvent}})
		return err == nil, err
	}
	err = fmt.Errorf("the header file of %s, which the service keeps until %s, cannot be uploaded again: %w",
		run.ID(), run.AssetUntil.UTC().Format("2006-01-02 15:04 UTC"), err)
	if run.AssetUntil.Sub(now) > assetHold {
		return false, err
	}
	_, holdErr := l.AddHolds(ctx, []campaign.Hold{{
		Scope: campaign.HoldRun, ID: run.ID(), Reason: MediaChanged, Detail: sentence.Clip(err.Error(), campaign.MaxDetail),
		Source: campaign.HoldByEvent, Since: now}})
	return false, errors.Join(err, holdErr)
}

func renewMedia(ctx context.Context, l campaign.RunLedger, s messaging.Service, run campaign.Run) ([]campaign.Asset, error) {
	def, err := file.ParseStored(run.ID(), run.Definition)
	if err != nil {
		return nil, err
	}
	old, err := l.Assets(ctx, run.No)
	if err != nil {
		return nil, err
	}
	if len(old) == 0 || old[0].File == "" {
		return nil, errors.New("an earlier version uploaded it, and did not note which file it was")
	}
	known, err := s.Connections(ctx)
	if err != nil {
		return nil, fmt.Errorf("ask the service for its connections: %w", err)
	}
	kind, _ := def.Template.Header.Media()
	return uploadHeader(ctx, s, kind, filepath.Dir(old[0].File), filepath.Base(old[0].File), old[0].SHA256, connectionsOf(def, known))
}

// connectionsOf are the connections of a campaign, in its order. If the service does not list
// a connection, only its id is known.
func connectionsOf(d *file.Definition, known []messaging.Connection) (all []messaging.Connection) {
	for _, id := range d.Connections {
		c := messaging.Connection{ID: id}
		for _, k := range known {
			if k.ID == id {
				c = k
			}
		}
		all = append(all, c)
	}
	return all
}
