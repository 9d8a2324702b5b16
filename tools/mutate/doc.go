// Command mutate measures how many mutations of one line the tests detect.
//
// It draws a sample of mutations (a condition negated, a comparison shifted by one, a constant
// changed, an argument or a branch dropped, another error returned, a SQL or Lua comparison
// inverted), applies one at a time by a build overlay, so that the work tree does not change, and
// runs the tests that reach the site: those of its package first, then those of the packages that
// import it directly, quick ones first. A mutation is killed when a test fails or runs out of time.
// A mutation with which every test passes survives, and is printed with its file, line and change.
//
//	go run ./tools/mutate -n 150 -seed 7            150 mutations over all packages
//	go run ./tools/mutate -packages ./throttle      one package
//	go run ./tools/mutate -at throttle/cubic.go:40  every mutation of a line, to try a new test
//	go run ./tools/mutate -again REPORT             the survivors of a report (-o), for new tests
//	go run ./tools/mutate -written [NAME|FILE...]   the mutations of the lists, or these
//	go run ./tools/mutate -overlay DIR              a build overlay with all of them
//
// The lists mutations.txt and mistakes.txt have mutations that people wrote down. All of them are
// in one overlay: a function that one changes begins with "if CAMPAIGND_MUTANT names it, run the
// changed body". The tests are therefore built once. Each proof of an entry, which is tests of a
// package, must pass without the mutation and fail with it.
//
// A survivor without any observable effect belongs in equivalent.txt, with the reason. The exit
// code is 1 when fewer than 90 % are killed, or fewer than 80 % in a package with ten or more
// mutations; equivalent ones do not count (docs/decisions/0013-mutations.md).
package main
