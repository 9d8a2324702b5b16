package main

import (
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"campaignd/internal/command"
)

func TestHelpFitsTheTerminal(t *testing.T) {
	root := (&program{Program: command.Program{Stdout: new(strings.Builder), Stderr: new(strings.Builder)}}).root()
	var look func(*cobra.Command)
	look = func(c *cobra.Command) {
		for _, line := range strings.Split(c.Long, "\n") {
			most := command.HelpWidth
			if strings.HasPrefix(line, " ") {
				most = 120 // tables of routes
			}
			if n := len([]rune(line)); n > most {
				t.Errorf("%s: a line of %d columns, want at most %d: %s", c.CommandPath(), n, most, line)
			}
		}
		for _, below := range c.Commands() {
			look(below)
		}
	}
	look(root)
}
