package api

import (
	"strings"
	"testing"
)

// A caller's id of a request stands in the log, so it has plain characters only.
func TestAnIDOfARequestIsPlain(t *testing.T) {
	for given, kept := range map[string]bool{"": false, "az-AZ_09.": true, strings.Repeat("a", 100): true, strings.Repeat("a", 101): false,
		"a b": false, "a\nb": false, "a/b": false, "a:b": false, "a@b": false, "a[b": false, "a`b": false, "a{b": false, "é": false} {
		if got := requestID(given); (got == given) != kept || got == "" {
			t.Errorf("%q: got %q, want it kept: %v", given, got, kept)
		}
	}
}
