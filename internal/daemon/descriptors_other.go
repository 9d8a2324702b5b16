//go:build !unix

package daemon

// descriptors returns how many files this process may have open.
func descriptors() int { return 1 << 14 }
