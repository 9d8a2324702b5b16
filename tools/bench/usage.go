//go:build unix

package main

import (
	"bytes"
	"fmt"
	"os"
	"runtime"
	"syscall"
	"time"
)

// cpu returns the CPU time of this process, user and system.
func cpu() (time.Duration, error) {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0, fmt.Errorf("getrusage: %w", err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano()), nil
}

// peak returns the most resident memory of this process in bytes: VmHWM on Linux (proc(5)), else
// ru_maxrss.
func peak() (int64, error) {
	status, err := os.ReadFile("/proc/self/status")
	if err == nil {
		if _, line, ok := bytes.Cut(status, []byte("VmHWM:")); ok {
			var kib int64
			if _, err := fmt.Sscanf(string(line), "%d kB", &kib); err == nil {
				return kib << 10, nil
			}
		}
	}
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0, fmt.Errorf("getrusage: %w", err)
	}
	if runtime.GOOS == "darwin" || runtime.GOOS == "ios" {
		return u.Maxrss, nil //nolint:unconvert // 32 bits elsewhere
	}
	return int64(u.Maxrss) << 10, nil //nolint:unconvert // 32 bits elsewhere
}
