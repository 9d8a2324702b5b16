package main

import (
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// Every user of a machine sees the arguments of its processes.
func TestNoFlagTakesASecret(t *testing.T) {
	p := &program{}
	var walk func(*cobra.Command)
	walk = func(c *cobra.Command) {
		c.Flags().VisitAll(func(f *pflag.Flag) {
			for _, word := range []string{"secret", "password", "token", "api-key"} {
				if strings.Contains(f.Name, word) && !strings.HasSuffix(f.Name, "-file") {
					t.Errorf("%s --%s: want a file that holds it", c.CommandPath(), f.Name)
				}
			}
		})
		for _, below := range c.Commands() {
			walk(below)
		}
	}
	walk(p.root())
}
