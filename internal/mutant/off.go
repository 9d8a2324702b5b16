//go:build !mutants

// Package mutant ends the process at named points for the process harness
// (docs/protocol.md#mutations). In this build it does nothing and costs nothing.
package mutant

// Enabled reports whether this build has crash points.
const Enabled = false

// Awaits reports whether the process is still to end at a point: never in this build.
func Awaits(string) bool { return false }

// Crash does nothing in this build.
func Crash(string) {}
