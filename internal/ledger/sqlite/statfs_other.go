//go:build !linux

package sqlite

// networkFS recognises network file systems on Linux only.
func networkFS(string) string { return "" }
