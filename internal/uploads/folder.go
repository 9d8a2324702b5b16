package uploads

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"campaignd/campaign"
)

// AtOnce is the largest number of folders at a time. Each import needs one core and 16 bytes of
// memory a row.
const AtOnce = 2

// folderPrefix begins the name of each upload's folder, and CampaignPrefix and ListPrefix those of
// the files in one.
const (
	folderPrefix   = "upload-"
	CampaignPrefix = "campaign-"
	ListPrefix     = "list-"
)

// Folder has the uploads of a process. Make it with New.
type Folder struct {
	// Limit is the bytes of a list; New sets MaxList. Closed means that the process sends nothing, so
	// that it takes no list. Nobody changes them after the first upload.
	Limit  int64
	Closed bool

	dir        string
	most       int64 // maxStaged
	unfinished func(context.Context) ([]campaign.Run, error)

	mu      sync.Mutex
	busy    map[string]bool // folders of the uploads under way
	writing map[string]bool // hashes of the lists to which a part is being written
}

// New returns the uploads of a folder, which is made when it is needed, for this user alone.
// unfinished returns the runs whose uploads are kept.
func New(dir string, unfinished func(context.Context) ([]campaign.Run, error)) *Folder {
	return &Folder{Limit: MaxList, dir: dir, most: maxStaged, unfinished: unfinished, busy: map[string]bool{}, writing: map[string]bool{}}
}

// Dir is the folder.
func (f *Folder) Dir() string { return f.dir }

// Begin makes the folder of an upload, which End ends.
func (f *Folder) Begin() (dir string, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.busy) >= AtOnce {
		return "", &Fault{Busy, fmt.Sprintf("%d lists are being uploaded or imported; the next one is taken when one of them has ended",
			len(f.busy)), 0}
	}
	if err := os.MkdirAll(f.dir, 0o700); err != nil {
		return "", err
	}
	if dir, err = os.MkdirTemp(f.dir, folderPrefix+"*"); err != nil {
		return "", err
	}
	f.busy[dir] = true
	return dir, nil
}

// End ends an upload, and removes those that no run needs.
func (f *Folder) End(ctx context.Context, dir string) error {
	f.mu.Lock()
	delete(f.busy, dir)
	f.mu.Unlock()
	return f.Clean(ctx)
}

// Clean removes the uploads that no run needs. It reads the runs after the list of ended uploads,
// so that the runs of these uploads are known.
func (f *Folder) Clean(ctx context.Context) error {
	f.mu.Lock()
	ended, err := f.ended()
	f.mu.Unlock()
	if err != nil {
		return err
	}
	runs, err := f.unfinished(ctx)
	if err != nil {
		return err
	}
	return sweep(ended, runs)
}

// ended returns the folders of the uploads that are not under way. The caller has the lock.
func (f *Folder) ended() (dirs []string, err error) {
	entries, err := os.ReadDir(f.dir)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	for _, e := range entries {
		if dir := filepath.Join(f.dir, e.Name()); e.IsDir() && strings.HasPrefix(e.Name(), folderPrefix) && !f.busy[dir] {
			dirs = append(dirs, dir)
		}
	}
	return dirs, err
}

// sweep removes the uploads whose list no unfinished run uses.
func sweep(dirs []string, unfinished []campaign.Run) error {
	var errs []error
	for _, dir := range dirs {
		if !slices.ContainsFunc(unfinished, func(r campaign.Run) bool { return filepath.Dir(r.ListName) == dir }) {
			errs = append(errs, os.RemoveAll(dir))
		}
	}
	return errors.Join(errs...)
}
