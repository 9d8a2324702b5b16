//go:build !linux

package sqlite

import "testing"

// memory returns a folder of the test's own.
func memory(t testing.TB) string {
	t.Helper()
	return t.TempDir()
}
