//go:build !linux

package wirelog

import "os"

// The wire log needs the kernel's boot id, which only Linux has in this form.

func bootID() (string, error) { return "", ErrUnsupported }

func inode(*os.File) (uint64, error) { return 0, ErrUnsupported }
