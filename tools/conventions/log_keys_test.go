package conventions

import (
	"path"
	"regexp"
	"strings"
	"testing"
)

// otherKey matches a call of the log whose key for an error is another one.
var otherKey = regexp.MustCompile(`[lL]og\.(Debug|Info|Warn|Error)\(.*"(error|fault|failure)", `)

// Whoever reads the log as JSON finds each error under one key.
func TestErrorsInTheLogHaveOneKey(t *testing.T) {
	for file, text := range sources(t) {
		if path.Ext(file) != ".go" || strings.HasSuffix(file, "_test.go") {
			continue
		}
		for line := range strings.Lines(string(text)) {
			if otherKey.MatchString(line) {
				t.Errorf("%s: got %q, want the key err", file, strings.TrimSpace(line))
			}
		}
	}
}
