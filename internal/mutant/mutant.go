//go:build mutants

// Package mutant plants known mistakes for the tests that must find them, and
// ends the process at named points for the process harness. Built with the tag
// mutants only; without it every call is a constant that the compiler removes.
//
// CAMPAIGND_MUTANT names one mistake (reliability.md 4.6). CAMPAIGND_CRASH=POINT:N sends this
// process SIGKILL when it reaches POINT for the N-th time, CAMPAIGND_STOP=POINT:N sends it SIGSTOP.
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

// visit is the N-th time that the process reaches a point.
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

// On reports whether the mistake is planted.
func On(mistake string) bool { return name == mistake }

// Set plants a mistake from a test in the same process; "" removes it.
func Set(mistake string) { name = mistake }

// Enabled reports whether this build can plant mistakes.
const Enabled = true

// Awaits reports whether the process is to end or stop at a point that it has not reached so often yet.
func Awaits(at string) bool { return crash.awaits(at) || stop.awaits(at) }

// Crash ends or stops the process if the harness asked for it here.
func Crash(at string) {
	if crash.at(at) {
		_ = syscall.Kill(syscall.Getpid(), syscall.SIGKILL)
		select {}
	}
	if stop.at(at) {
		_ = syscall.Kill(syscall.Getpid(), syscall.SIGSTOP)
		time.Sleep(50 * time.Millisecond) // it takes effect a little later; the sleep is over when the process goes on
	}
}
