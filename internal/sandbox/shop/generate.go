package shop

import "strings"

// numberIn is the number that a generated e-mail address or phone number ends with, or -1.
func numberIn(text string) int {
	text, _, _ = strings.Cut(text, "@")
	if len(text) < 7 {
		return -1
	}
	n := 0
	for _, c := range text[len(text)-7:] {
		if c < '0' || c > '9' {
			return -1
		}
		n = n*10 + int(c-'0')
	}
	return n
}
