package dbfile

import (
	"fmt"
	"os"
	"syscall"
)

// IDOf returns the id of the file at path. An error wraps fs.ErrNotExist when there is none.
func IDOf(path string) (ID, error) {
	info, err := os.Stat(path)
	if err != nil {
		return "", err
	}
	s := info.Sys().(*syscall.Stat_t)
	return ID(fmt.Sprintf("%d-%d", s.Ino, s.Birthtimespec.Nano())), nil
}

// linksOf returns how many names the file has.
func linksOf(info os.FileInfo) uint64 { return uint64(info.Sys().(*syscall.Stat_t).Nlink) }
