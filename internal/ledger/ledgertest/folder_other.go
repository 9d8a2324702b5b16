//go:build !linux

package ledgertest

import "testing"

// Folder returns a folder of the test's own.
func Folder(t testing.TB) string {
	t.Helper()
	return t.TempDir()
}
