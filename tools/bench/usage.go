//go:build unix

package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// usage is what this process has used. getrusage fails only for other arguments.
func usage() (u syscall.Rusage) {
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return u
}

// cpu returns the CPU time of this process, user and system.
func cpu() time.Duration {
	u := usage()
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// peak returns the most resident memory of this process in bytes: VmHWM on Linux (proc(5)), else
// ru_maxrss.
func peak() int64 {
	status, err := os.ReadFile("/proc/self/status")
	if err == nil {
		if _, line, ok := bytes.Cut(status, []byte("VmHWM:")); ok {
			var kib int64
			if _, err := fmt.Sscanf(string(line), "%d kB", &kib); err == nil {
				return kib << 10
			}
		}
	}
	most := int64(usage().Maxrss) //nolint:unconvert // 32 bits elsewhere
	if runtime.GOOS == "darwin" || runtime.GOOS == "ios" {
		return most
	}
	return most << 10
}

// serverCPU returns the CPU time of a process and its children, also of those that have ended. It
// returns 0 without /proc or pid. The time is a multiple of a clock tick, 10 ms (proc(5)).
func serverCPU(pid int) (sum time.Duration) {
	files, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, f := range files {
		b, err := os.ReadFile(f)
		if err != nil || pid == 0 {
			continue // the process has ended
		}
		text := string(b)
		fields := strings.Fields(text[strings.LastIndexByte(text, ')')+1:])
		own := filepath.Base(filepath.Dir(f)) == strconv.Itoa(pid)
		if len(fields) < 15 || !own && fields[1] != strconv.Itoa(pid) {
			continue
		}
		times := fields[11:13] // utime and stime
		if own {
			times = fields[11:15] // and cutime and cstime, of the children that have ended
		}
		for _, t := range times {
			ticks, _ := strconv.ParseInt(t, 10, 64)
			sum += time.Duration(ticks) * 10 * time.Millisecond
		}
	}
	return sum
}
