package ledger

import "testing"

func TestUntrustedTextsAreMadeStorable(t *testing.T) {
	for text, want := range map[string]string{
		"": "", "plain é": "plain é", "a\x00b": "a\uFFFDb", "\x00": "\uFFFD", "a\xffb": "a\uFFFDb", "\xff\x00": "\uFFFD\uFFFD",
	} {
		if got := PlainText(text); got != want {
			t.Errorf("%q becomes %q, want %q", text, got, want)
		}
	}
}
