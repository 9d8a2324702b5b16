package wirelog

import (
	"os"
	"strings"
	"syscall"

	"campaignd/internal/mutant"
)

// bootID returns the id that the kernel drew when it started
// (https://man7.org/linux/man-pages/man4/random.4.html).
func bootID() (string, error) {
	if id := os.Getenv("CAMPAIGND_BOOT_ID"); mutant.Enabled && id != "" {
		return id, nil // the harness starts the machine again
	}
	b, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if id := strings.TrimSpace(string(b)); err == nil && id != "" {
		return id, nil
	}
	return "", ErrUnsupported
}

// inode returns the number of an open file.
func inode(f *os.File) (uint64, error) {
	s, err := f.Stat()
	if err != nil {
		return 0, err
	}
	return s.Sys().(*syscall.Stat_t).Ino, nil
}
