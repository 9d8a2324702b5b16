package dbfile

import (
	"fmt"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// IDOf returns the id of the file at path (https://man7.org/linux/man-pages/man2/statx.2.html). An
// error wraps fs.ErrNotExist when there is none.
func IDOf(path string) (ID, error) {
	var s unix.Statx_t
	if err := unix.Statx(unix.AT_FDCWD, path, 0, unix.STATX_INO|unix.STATX_BTIME, &s); err != nil { // perhaps a sandbox without statx
		info, err := os.Stat(path)
		if err != nil {
			return "", err
		}
		return ID(fmt.Sprintf("%d-", info.Sys().(*syscall.Stat_t).Ino)), nil
	}
	if s.Mask&unix.STATX_BTIME == 0 || s.Btime.Sec == 0 {
		return ID(fmt.Sprintf("%d-", s.Ino)), nil
	}
	return ID(fmt.Sprintf("%d-%d", s.Ino, s.Btime.Sec*1e9+int64(s.Btime.Nsec))), nil
}

// linksOf returns how many names the file has.
func linksOf(info os.FileInfo) uint64 {
	return uint64(info.Sys().(*syscall.Stat_t).Nlink) //nolint:unconvert // uint32 on arm64
}
