package dbfile

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// ID tells a file from its copies: its inode, and when it was born (in nanoseconds, "" on a
// file system that does not know), as INODE-BIRTH. The device is not part of it, because its number
// changes with a reboot or when the volume is moved. "": the system tells no inodes.
type ID string

// Same reports whether two ids are of one file, as far as both are known.
func (a ID) Same(b ID) bool {
	inode, born, _ := strings.Cut(string(a), "-")
	otherInode, otherBorn, _ := strings.Cut(string(b), "-")
	if inode == "" || otherInode == "" {
		return true
	}
	return inode == otherInode && (born == "" || otherBorn == "" || born == otherBorn)
}

// mostLinks is how many links Resolve follows; Linux follows as many.
const mostLinks = 40

// Resolve returns the path of the ledger's file without links, also when the file does not exist
// yet. SQLite follows links itself. Whatever stands beside the file (its lock, for example) must
// have one name for all processes.
func Resolve(path string) (string, error) {
	for range mostLinks {
		file, err := filepath.EvalSymlinks(path)
		if err == nil || !errors.Is(err, fs.ErrNotExist) {
			return file, err
		}
		dir, err := filepath.EvalSymlinks(filepath.Dir(path))
		if err != nil {
			return "", err
		}
		path = filepath.Join(dir, filepath.Base(path))
		to, err := os.Readlink(path)
		if err != nil {
			return path, nil //nolint:nilerr // it is no link: a file that does not exist yet
		}
		if !filepath.IsAbs(to) {
			to = filepath.Join(dir, to)
		}
		path = to
	}
	return "", fmt.Errorf("%s: more than %d links", path, mostLinks)
}
