package conventions

import (
	"path"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"
)

// unwrapped matches a comment that no wrap can shorten: a table or an example behind a tab, and a
// link on a line of its own.
var unwrapped = regexp.MustCompile(`^\s*//(\t| https?://\S+$)`)

// A comment is wrapped at 100 columns, so that two files fit beside each other. A tab is one
// column.
func TestACommentIsWrappedAt100Columns(t *testing.T) {
	const most = 100
	for file, text := range sources(t) {
		output := false // of an example, which is as wide as it is
		for line := range strings.Lines(string(text)) {
			line = strings.TrimSuffix(line, "\n")
			words := strings.TrimLeft(line, "\t ")
			comment := path.Ext(file) == ".go" && strings.HasPrefix(words, "//") || path.Ext(file) == ".sql" && strings.HasPrefix(words, "--")
			output = comment && (output || strings.HasPrefix(words, "// Output:"))
			if n := utf8.RuneCountInString(line); comment && n > most && !output && !unwrapped.MatchString(line) {
				t.Errorf("%s: got a comment of %d columns, want at most %d: %q", file, n, most, words)
			}
		}
	}
}
