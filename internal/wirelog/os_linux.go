package wirelog

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"

	"campaignd/campaign"
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

// lock takes an advisory lock, which the kernel releases when the process dies, and writes this
// process's id into the file.
func lock(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("data_dir: %w: the folder must be writable by this user", err)
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		defer f.Close()
		if errors.Is(err, syscall.EWOULDBLOCK) {
			b := make([]byte, 32)
			n, _ := f.ReadAt(b, 0)
			return nil, fmt.Errorf("%w: process %s holds %s; give each process a data_dir of its own",
				campaign.ErrLocked, strings.TrimSpace(string(b[:n])), path)
		}
		return nil, fmt.Errorf("data_dir: lock %s: %w", path, err)
	}
	if err = f.Truncate(0); err == nil {
		_, err = f.WriteAt([]byte(strconv.Itoa(os.Getpid())+"\n"), 0)
	}
	if err != nil {
		f.Close()
		return nil, fmt.Errorf("data_dir: lock %s: %w", path, err)
	}
	return f, nil
}
