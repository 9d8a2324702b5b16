package command

import "testing"

func TestHelpIsWrappedBetweenWords(t *testing.T) {
	in := "one two three\nfour\n\n  an indented line stays as wide as it is\nfünf sechs averylongword"
	want := "one two\nthree four\n\n  an indented line stays as wide as it is\nfünf sechs\naverylongword"
	if got := fit(in, 10); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
