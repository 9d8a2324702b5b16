// Package version has the version of this program, for the command, the User-Agent, the metrics and
// the document of the operator's API.
package version

import "runtime/debug"

// linked is set by the linker (Makefile, .goreleaser.yaml). It is empty after go install and go
// build.
var linked string

// String returns the version: the linker's, else the build information's, such as v1.2.3 or
// v0.0.0-20261122120000-0123456789ab, else "(devel)".
func String() string {
	if linked != "" {
		return linked
	}
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		return info.Main.Version
	}
	return "(devel)"
}
