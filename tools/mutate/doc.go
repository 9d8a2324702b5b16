// Command mutate measures how many single-line mistakes the tests notice.
//
// It draws a sample of mutations (a condition negated, a comparison shifted by one, a constant
// changed, an argument or a branch dropped, another error returned, a SQL or Lua comparison
// turned), plants one at a time by a build overlay, so that the work tree stays as it is, and
// runs the tests that reach the place: those of its package first, then those of the packages
// that import it directly, quick ones first. A mutation is killed when a test fails or runs out
// of time; one that every test passes survived, and is printed with its file, line and change.
//
//	go run ./tools/mutate -n 150 -seed 7            150 mutations over all packages
//	go run ./tools/mutate -packages ./throttle      one package
//	go run ./tools/mutate -at throttle/cubic.go:40  every mutation of a line, to try a new test
//	go run ./tools/mutate -again REPORT             the survivors of a report (-o), to see what new tests kill
//
// A survivor that changes nothing that anybody can observe belongs in equivalent.txt, with the
// reason. The exit code is 1 when fewer than 90 % are killed, or fewer than 80 % in a package
// with ten or more mutations; equivalent ones do not count.
package main
