//go:build !mutants

// Package mutant plants known mistakes for the tests that must find them. In this
// build it does nothing and costs nothing.
package mutant

// On reports whether the mistake is planted: never in this build.
func On(string) bool { return false }

// Set does nothing in this build.
func Set(string) {}

// Enabled reports whether this build can plant mistakes.
const Enabled = false

// Awaits reports whether the process is to end somewhere: never in this build.
func Awaits(string) bool { return false }

// Crash does nothing in this build.
func Crash(string) {}
