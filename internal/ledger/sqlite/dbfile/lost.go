package dbfile

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"campaignd/internal/filelock"
)

// Lost returns an error when there is no file at path, and its companion shows that there was a
// ledger. It names the process that still has the file open.
func Lost(path string) error {
	path, err := Resolve(path)
	if err != nil || Exists(path) {
		return nil //nolint:nilerr // opening it returns the error
	}
	if _, err := ReadStamp(StampPath(path)); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	text := fmt.Sprintf("the ledger %s is gone (its companion %s is there)", path, filepath.Base(StampPath(path)))
	if by := filelock.Holder(path + ".lock"); by != "" {
		return fmt.Errorf("%s from process %s, which sends nothing more: put the file back, or stop it and restore a backup", text, by)
	}
	return fmt.Errorf("%s: put the file or a backup in its place", text)
}
