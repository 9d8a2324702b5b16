package drops

import (
	"errors"
	"io/fs"
	"os"
	"syscall"
)

// The calls of a lease (https://man7.org/linux/man-pages/man2/F_SETLEASE.2const.html).
const (
	setLease  = 1024 // F_SETLEASE
	readLease = syscall.F_RDLCK
	noLease   = syscall.F_UNLCK
)

// The file systems whose files other machines write too, so that this kernel does not know all
// writers (https://man7.org/linux/man-pages/man2/statfs.2.html).
var networks = map[uint32]bool{
	0x6969: true, 0xff534d42: true, 0xfe534d42: true, 0x517b: true, 0x65735546: true, 0x01021997: true, 0x00c36400: true,
}

// hasWriter reports whether a process has f open for writing. The kernel grants a read lease only
// while none has, and only to the owner of the file or to root; known is false if it cannot tell.
func hasWriter(f *os.File) (written, known bool) {
	var at syscall.Statfs_t
	if err := syscall.Fstatfs(int(f.Fd()), &at); err != nil || networks[uint32(at.Type)] { //nolint:gosec // a magic number of 32 bits
		return false, false
	}
	_, _, fault := syscall.Syscall(syscall.SYS_FCNTL, f.Fd(), setLease, readLease)
	switch {
	case fault == 0:
		_, _, fault = syscall.Syscall(syscall.SYS_FCNTL, f.Fd(), setLease, noLease)
		return false, fault == 0
	case errors.Is(fault, syscall.EAGAIN):
		return true, true
	}
	return false, false
}

func inode(info fs.FileInfo) uint64 {
	if s, ok := info.Sys().(*syscall.Stat_t); ok {
		return s.Ino
	}
	return 0
}
