//go:build !linux

package sqlite

// networkFS knows no network file system here.
func networkFS(string) string { return "" }
