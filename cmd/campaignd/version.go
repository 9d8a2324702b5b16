package main

import (
	"fmt"
	"runtime"

	"github.com/spf13/cobra"

	"campaignd/internal/command"
	"campaignd/internal/version"
)

func (p *program) cmdVersion() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "version",
		Short:   "Print the version",
		Example: "  campaignd version",
		Args:    command.NoArguments,
	}
	o := command.AddOutput(cmd)
	cmd.RunE = func(*cobra.Command, []string) error {
		v := versionNow()
		return p.Say(o, v, v.String())
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
	return versionFacts{Version: version.String(), Go: runtime.Version(), OS: runtime.GOOS, Arch: runtime.GOARCH}
}
