//go:build linux || darwin

package config

import (
	"io/fs"
	"syscall"
)

// FreeSpace is how many bytes this user may still write in a folder.
func FreeSpace(folder string) (uint64, error) {
	var s syscall.Statfs_t
	if err := syscall.Statfs(folder, &s); err != nil {
		return 0, &fs.PathError{Op: "statfs", Path: folder, Err: err}
	}
	return s.Bavail * uint64(s.Bsize), nil //nolint:gosec // a block has a positive size
}
