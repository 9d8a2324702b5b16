package ledger

import (
	"strings"
	"testing"
)

func TestProseIsClippedAtARunesBorder(t *testing.T) {
	for _, c := range []struct {
		text string
		most int
		want string
	}{
		{"abc", 3, "abc"},
		{"abcd", 3, "abc"},
		{"abé", 4, "abé"},
		{"abéd", 3, "ab"},
		{"abéd", 4, "abé"},
		{"€", 2, ""},
		{"\x80\x80\x80", 2, ""}, // no rune begins
		{strings.Repeat("é", 200), MaxDetail, strings.Repeat("é", MaxDetail/2)},
	} {
		if got := Clip(c.text, c.most); got != c.want {
			t.Errorf("%q clipped to %d bytes = %q, want %q", c.text, c.most, got, c.want)
		}
	}
}
