package main

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"
)

// version is set by the linker (Makefile). It is empty after go install, and versionNow then takes
// the version from the build information.
var version string

func (p *program) cmdVersion() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "version",
		Short:   "Print the version",
		Example: "  campaignd version",
		Args:    noArguments,
	}
	o := addOutput(cmd)
	cmd.RunE = func(*cobra.Command, []string) error {
		v := versionNow()
		if o.json() {
			return writeJSON(p.stdout, v)
		}
		_, err := fmt.Fprintln(p.stdout, v)
		return err
	}
	return cmd
}

// versionFacts is the version and its platform in JSON.
type versionFacts struct {
	Version string `json:"version"`
	Go      string `json:"go"`
	OS      string `json:"os"`
	Arch    string `json:"arch"`
}

func (v versionFacts) String() string {
	return fmt.Sprintf("campaignd %s (%s, %s/%s)", v.Version, v.Go, v.OS, v.Arch)
}

func versionNow() versionFacts {
	v := versionFacts{Version: version, Go: runtime.Version(), OS: runtime.GOOS, Arch: runtime.GOARCH}
	if info, ok := debug.ReadBuildInfo(); ok && v.Version == "" {
		v.Version = info.Main.Version
	}
	if v.Version == "" {
		v.Version = "(devel)"
	}
	return v
}
