// Package conventions holds the tests of the repository's own rules: which package may import
// which, that each citation leads to a heading, how long files, lines and names of tests may be,
// and that each promise of docs/security.md names its test. The tests read sources and pages and
// link nothing of the program, so they run in seconds; `make quick` and the gate run them first.
package conventions
