package uploads

import (
	"strings"
	"testing"
)

// The name of an upload becomes that of a file.
func TestANameOfAFileIsPlain(t *testing.T) {
	for given, want := range map[string]string{"az.AZ-09": "az.AZ-09", "a/b\\c": "a_b_c", "a\x80b": "a_b", "ü 1.csv": "__1.csv",
		strings.Repeat("a", 90) + ".csv": strings.Repeat("a", 76) + ".csv"} {
		if got := Plain(given); got != want {
			t.Errorf("%q: got %q, want %q", given, got, want)
		}
	}
}
