// Package sentence helps to write messages: it finds the known name nearest to an unknown one,
// writes counts, and makes texts short and printable. Every package that writes messages calls it.
// Its functions are pure and take texts of any length.
package sentence

import (
	"fmt"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// Nearest returns the candidate that a person most likely meant by name. A candidate may differ
// from name in case, spaces, _, - and ., and in a third of the letters of name, or one. Nearest
// returns "" if no candidate is as near.
func Nearest(name string, candidates []string) string {
	bare := plain(name)
	best, bestDistance := "", 1+max(1, utf8.RuneCountInString(bare)/3)
	for _, c := range candidates {
		p := plain(c)
		if p == bare {
			return c
		}
		if d := distance(bare, p); d < bestDistance {
			best, bestDistance = c, d
		}
	}
	return best
}

// DidYouMean returns the remedy for an unknown name: the nearest candidate, else all of them.
func DidYouMean(name string, candidates []string) string {
	if n := Nearest(name, candidates); n != "" {
		return fmt.Sprintf("did you mean %q?", n)
	}
	return "known here: " + strings.Join(candidates, ", ")
}

// Count is a number with the words that agree with it: Count(1, "row is", "rows are") is "1 row
// is".
func Count[N int | int64](n N, one, many string) string {
	if n == 1 {
		return fmt.Sprintf("%d %s", n, one)
	}
	return fmt.Sprintf("%d %s", n, many)
}

// Clip shortens s to at most n bytes, at the end of a rune.
func Clip(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}

// Shorten makes a value fit for a message: at most n characters and "..." for the rest, printable.
func Shorten(s string, n int) string {
	for i := range s {
		if n == 0 {
			s = s[:i] + "..."
			break
		}
		n--
	}
	return Printable(s)
}

// Wrap breaks text between words into lines of at most so many columns. A longer word stands alone
// on a line. There is at least one line.
func Wrap(text string, columns int) []string {
	lines := []string{""}
	for i, word := range strings.Fields(text) {
		last := &lines[len(lines)-1]
		switch {
		case i == 0:
			*last = word
		case utf8.RuneCountInString(*last)+1+utf8.RuneCountInString(word) > columns:
			lines = append(lines, word)
		default:
			*last += " " + word
		}
	}
	return lines
}

// FirstLine returns s up to its first line feed.
func FirstLine(s string) string {
	line, _, _ := strings.Cut(s, "\n")
	return line
}

// Printable replaces every unprintable character of s by U+FFFD, so that text from outside cannot
// control the terminal.
func Printable(s string) string {
	return strings.ToValidUTF8(strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return utf8.RuneError
	}, s), string(utf8.RuneError))
}

func plain(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) || r == '_' || r == '-' || r == '.' {
			return -1
		}
		return unicode.ToLower(r)
	}, s)
}

// distance returns how many letters to insert, delete, change or swap to turn a into b, by optimal
// string alignment. It compares the first 64 letters, because the name of a column may have any
// length.
func distance(a, b string) int {
	x, y := []rune(a), []rune(b)
	x, y = x[:min(len(x), 64)], y[:min(len(y), 64)]
	before, last, now := make([]int, len(y)+1), make([]int, len(y)+1), make([]int, len(y)+1)
	for j := range last {
		last[j] = j
	}
	for i := range x {
		now[0] = i + 1
		for j := range y {
			cost := 1
			if x[i] == y[j] {
				cost = 0
			}
			now[j+1] = min(last[j]+cost, last[j+1]+1, now[j]+1)
			if i > 0 && j > 0 && x[i] == y[j-1] && x[i-1] == y[j] {
				now[j+1] = min(now[j+1], before[j-1]+1)
			}
		}
		before, last, now = last, now, before
	}
	return last[len(y)]
}

// Instant writes t in UTC as every sentence does; "" for the zero time.
func Instant(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format("2006-01-02 15:04:05 UTC")
}
