// Command mutate applies mistakes to the program, one at a time by a build overlay, so that the
// work tree does not change, and requires that the tests find them.
//
//	go run ./tools/mutate -written [NAME|FILE...]   the mutations of the lists, or these
//	go run ./tools/mutate -overlay DIR              a build overlay with all of them
//	go run ./tools/mutate -n 40 -seed 7             40 random ones over all packages
//	go run ./tools/mutate -packages ./throttle      of one package
//	go run ./tools/mutate -at throttle/cubic.go:40  every mutation of a line, to try a new test
//
// The lists mutations.txt and mistakes.txt have mutations that people wrote down. All of them are
// in one overlay: a function that one changes begins with "if CAMPAIGND_MUTANT names it, run the
// changed body". The tests are therefore built once. Each proof of an entry, which is tests of a
// package, must pass without the mutation and fail with it.
//
// A random mutation changes a condition, an operator, a constant, a statement or an error of Go, or
// a comparison of SQL or Lua (rules.go). The tests of its package run first, then the tests of the
// packages that import it directly. One with which every test passes survives. A survivor without
// any observable effect belongs in equivalent.txt, with the reason. The exit code is 1 when fewer
// than 90 % are found; equivalent ones do not count (docs/decisions/0013-mutations.md).
package main
