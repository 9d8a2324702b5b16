//go:build unix

package daemon

import "syscall"

// descriptors returns how many files this process may have open.
func descriptors() int {
	var l syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &l); err != nil || l.Cur > 1<<20 {
		return 1 << 20
	}
	return int(l.Cur) //nolint:gosec // at most 1<<20
}
