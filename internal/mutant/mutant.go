//go:build mutants

// Package mutant plants known mistakes for the tests that must find them, and
// ends the process at named points for the process harness. Built with the tag
// mutants only; without it every call is a constant that the compiler removes.
//
// CAMPAIGND_MUTANT names one mistake (reliability.md 4.6). CAMPAIGND_CRASH=POINT:N sends this
// process SIGKILL when it reaches POINT for the N-th time.
package mutant

import (
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
)

var (
	name             = os.Getenv("CAMPAIGND_MUTANT")
	point, countText = cut(os.Getenv("CAMPAIGND_CRASH"))
	left             = parse(countText)
)

func cut(s string) (string, string) { a, b, _ := strings.Cut(s, ":"); return a, b }

func parse(s string) *atomic.Int64 {
	var n atomic.Int64
	if v, err := strconv.ParseInt(s, 10, 64); err == nil {
		n.Store(v)
	}
	return &n
}

// On reports whether the mistake is planted.
func On(mistake string) bool { return name == mistake }

// Set plants a mistake from a test in the same process; "" removes it.
func Set(mistake string) { name = mistake }

// Enabled reports whether this build can plant mistakes.
const Enabled = true

// Crash kills the process if the harness asked for it here.
func Crash(at string) {
	if at == point && left.Add(-1) == 0 {
		_ = syscall.Kill(syscall.Getpid(), syscall.SIGKILL)
		select {}
	}
}
