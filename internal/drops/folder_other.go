//go:build !linux

package drops

import (
	"io/fs"
	"os"
)

// hasWriter cannot tell on this system.
func hasWriter(*os.File) (written, known bool) { return false, false }

func inode(fs.FileInfo) uint64 { return 0 }
