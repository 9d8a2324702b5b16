//go:build !mutants

// Package mutant applies named mutations for the tests that must detect them
// (docs/protocol.md#mutations). In this build it does nothing and costs nothing.
package mutant

// On reports whether a mutation is applied: never in this build.
func On(string) bool { return false }

// Set does nothing in this build.
func Set(string) {}

// Enabled reports whether this build can apply mutations.
const Enabled = false

// Awaits reports whether the process is still to end at a point: never in this build.
func Awaits(string) bool { return false }

// Crash does nothing in this build.
func Crash(string) {}
