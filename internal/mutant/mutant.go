//go:build mutants

// Package mutant ends the process at named points for the process harness, and switches the
// mutations that a build overlay of tools/mutate puts into the program
// (docs/protocol.md#mutations). This file is built only with the tag mutants. Without the tag every
// call is a constant that the compiler removes, and no code can ask for a mutation.
//
// CAMPAIGND_MUTANT names one mutation. CAMPAIGND_CRASH=POINT:N sends this process SIGKILL when it
// reaches POINT for the N-th time, and CAMPAIGND_STOP=POINT:N sends it SIGSTOP.
package mutant

import (
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"time"
)

var (
	name  = os.Getenv("CAMPAIGND_MUTANT")
	crash = parse(os.Getenv("CAMPAIGND_CRASH"))
	stop  = parse(os.Getenv("CAMPAIGND_STOP"))
)

// visit is a later pass of the process through a point: left passes from now.
type visit struct {
	point string
	left  atomic.Int64
}

func parse(s string) *visit {
	point, count, _ := strings.Cut(s, ":")
	v := &visit{point: point}
	if n, err := strconv.ParseInt(count, 10, 64); err == nil {
		v.left.Store(n)
	}
	return v
}

func (v *visit) at(point string) bool { return point == v.point && v.left.Add(-1) == 0 }

func (v *visit) awaits(point string) bool {
	return point != "" && point == v.point && v.left.Load() > 0
}

// On reports whether the named mutation is applied. Only an overlay of tools/mutate calls it.
func On(mutation string) bool { return name == mutation }

// Enabled reports whether this build has crash points.
const Enabled = true

// Awaits reports whether the process is still to end or stop at a point.
func Awaits(at string) bool { return crash.awaits(at) || stop.awaits(at) }

// Crash ends or stops the process if the harness has asked for it at this pass of the point.
func Crash(at string) {
	if crash.at(at) {
		_ = syscall.Kill(syscall.Getpid(), syscall.SIGKILL)
		select {}
	}
	if stop.at(at) {
		_ = syscall.Kill(syscall.Getpid(), syscall.SIGSTOP)
		// The signal takes effect a little after Kill returns. The sleep keeps the process here
		// meanwhile.
		time.Sleep(50 * time.Millisecond)
	}
}
