// Package console is what an operator sees of a process in a browser: pages on the admin listener,
// under /console/. internal/daemon serves it without importing it, because cmd/campaignd passes it
// to the daemon.
//
// Each page asks an operator.Session or the operator.Process, as the operator's API does, and shows
// what it returns with a template of the folder pages. Pages need no script. The package promises
// that no page answers without a session of its scope, that a session of one company sees nothing
// of another, that no GET changes anything, that a value is never markup, and that a page loads
// nothing from another host.
package console
