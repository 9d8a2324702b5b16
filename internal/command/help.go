package command

import (
	"strings"

	"github.com/spf13/cobra"
)

// HelpWidth is the width of help in columns. On a narrower terminal help has the width of the
// terminal.
const HelpWidth = 100

// FitHelp wraps the descriptions of a command and its subcommands at so many columns.
func FitHelp(c *cobra.Command, columns int) {
	c.Long = fit(c.Long, columns)
	for _, below := range c.Commands() {
		FitHelp(below, columns)
	}
}

// fit wraps text at so many columns. Empty lines end a paragraph, and indented lines stay as they
// are.
func fit(text string, columns int) string {
	var out []string
	used := 0 // columns of the last line; 0: the next word begins a line
	for _, line := range strings.Split(text, "\n") {
		if line == "" || line[0] == ' ' {
			out, used = append(out, line), 0
			continue
		}
		for _, word := range strings.Fields(line) {
			n := len([]rune(word))
			if used > 0 && used+1+n <= columns {
				out[len(out)-1] += " " + word
				used += 1 + n
			} else {
				out, used = append(out, word), n
			}
		}
	}
	return strings.Join(out, "\n")
}
