package daemon

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"time"

	"campaignd/campaign"
	"campaignd/campaign/file"
	"campaignd/campaign/launch"
	"campaignd/internal/audience"
	"campaignd/internal/config"
)

// WriteAudience makes the list of a campaign's audience at path. An error that names a key of the
// campaign file is a *file.Error.
func WriteAudience(ctx context.Context, cfg *config.Config, log *slog.Logger, d *file.Definition, path string) (
	audience.Counts, error) {
	if !cfg.Commerce.Configured() {
		return audience.Counts{}, audience.Fault("audience", "needs a commerce platform, and none is configured; set commerce.base_url")
	}
	client, err := config.NewCommerce(cfg, log)
	if err != nil {
		return audience.Counts{}, err
	}
	defer client.Close()
	return audience.Write(ctx, client, d, path)
}

// takeAudience sets the list and the key of a launch whose campaign has an audience: those of the
// campaign's newest run while that is unfinished, or has ended and no other is wanted; else a new
// list. done deletes the list unless its import is to go on.
func (d *Daemon) takeAudience(ctx context.Context, def *file.Definition, l *launch.Request) (
	done func(launch.Outcome) error, err error) {
	folder := d.cfg.AudienceFolder()
	if folder == "" {
		return nil, audience.Fault("audience", "its list has no folder; set data_dir")
	}
	if folder, err = filepath.Abs(folder); err != nil {
		return nil, err
	}
	lists := audienceLists{folder, "audience-" + def.Name + "-"}
	runs, err := d.ledger.Runs(ctx, campaign.RunFilter{Campaign: def.Name})
	if err != nil {
		return nil, err
	}
	l.Key = audienceKey
	for _, r := range runs {
		if r.Parent == 0 && filepath.Dir(r.ListName) == folder && lists.has(r.ListName) {
			if !r.State.Ended() || !l.New {
				l.Key, l.List = r.Launch, r.ListName
			}
			break
		}
	}
	if l.List == "" {
		if err := lists.clean(time.Now().Add(-abandoned)); err != nil {
			return nil, err
		}
		if l.List, err = lists.reserve(); err != nil {
			return nil, err
		}
		if _, err := WriteAudience(ctx, d.cfg, d.log, def, l.List); err != nil {
			return nil, errors.Join(err, removed(l.List))
		}
	}
	path := l.List
	return func(launched launch.Outcome) error {
		if launched.Run.No != 0 && launched.Run.State == campaign.Importing {
			return nil // the next call goes on with the list
		}
		return removed(path)
	}, nil
}

// audienceKey is Launch.Key of the first run of a campaign with an audience.
const audienceKey = "audience"

// abandoned is the age at which a list that no unfinished run has is of a killed process. A list is
// written to until it is complete.
const abandoned = time.Hour

// audienceLists are the lists that this program made of one campaign's audience.
type audienceLists struct{ folder, prefix string }

// has reports whether a file is one of the lists.
func (a audienceLists) has(path string) bool {
	random, ok := strings.CutPrefix(filepath.Base(path), a.prefix)
	random, isCSV := strings.CutSuffix(random, ".csv")
	return ok && isCSV && random != "" && strings.Trim(random, "0123456789") == ""
}

// reserve makes an empty list of mode 0600.
func (a audienceLists) reserve() (string, error) {
	f, err := os.CreateTemp(a.folder, a.prefix+"*.csv")
	if err != nil {
		return "", fmt.Errorf("write the list of the audience into data_dir: %w", err)
	}
	return f.Name(), f.Close()
}

// clean deletes what killed processes left before an instant.
func (a audienceLists) clean(before time.Time) error {
	entries, err := os.ReadDir(a.folder)
	if err != nil {
		return err
	}
	for _, e := range entries {
		info, e2 := e.Info()
		if e2 == nil && (a.has(e.Name()) || strings.HasPrefix(e.Name(), ".audience-")) && info.ModTime().Before(before) {
			err = errors.Join(err, os.RemoveAll(filepath.Join(a.folder, e.Name())))
		}
	}
	return err
}

func removed(path string) error {
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}
