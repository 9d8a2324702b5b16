package ledgertest

import (
	"os"
	"syscall"
	"testing"
)

// Folder returns a folder of the test's own in memory if that has room; otherwise one on the disk.
// Most tests are not about the disk, and a commit waits for it.
func Folder(t testing.TB) string {
	t.Helper()
	const folder, room = "/dev/shm", 1 << 30 // a container often has 64 MB only
	var s syscall.Statfs_t
	if syscall.Statfs(folder, &s) != nil || s.Bavail*uint64(s.Bsize) < room {
		return t.TempDir()
	}
	dir, err := os.MkdirTemp(folder, "campaignd-sqlite-")
	if err != nil {
		return t.TempDir()
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	return dir
}
