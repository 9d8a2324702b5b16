package main

import (
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

func TestHelpFitsTheTerminal(t *testing.T) {
	in := "one two three\nfour\n\n  an indented line stays as wide as it is\nfünf sechs averylongword"
	want := "one two\nthree four\n\n  an indented line stays as wide as it is\nfünf sechs\naverylongword"
	if got := fit(in, 10); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	root := (&program{stdout: new(strings.Builder), stderr: new(strings.Builder)}).root()
	var look func(*cobra.Command)
	look = func(c *cobra.Command) {
		for _, line := range strings.Split(c.Long, "\n") {
			most := helpWidth
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
