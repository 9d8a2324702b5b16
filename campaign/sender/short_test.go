//go:build !long

package sender_test

// long reports whether the long tests run, too.
const long = false

// someSeeds is how many seeds TestSimulation runs unless -seeds is given.
const someSeeds = 2
