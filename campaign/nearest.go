package campaign

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// nearest is the candidate that a person most likely meant by name: equal but for case, spaces, _ and -,
// or at most a third of its letters away. "" when there is none.
func nearest(name string, candidates []string) string {
	plain := plainName(name)
	best, bestDistance := "", 1+max(1, utf8.RuneCountInString(plain)/3)
	for _, c := range candidates {
		p := plainName(c)
		if p == plain {
			return c
		}
		if d := distance(plain, p); d < bestDistance {
			best, bestDistance = c, d
		}
	}
	return best
}

// didYouMean is the remedy to show behind a name that is unknown.
func didYouMean(name string, candidates []string) string {
	if n := nearest(name, candidates); n != "" {
		return fmt.Sprintf("did you mean %q?", n)
	}
	return "known here: " + strings.Join(candidates, ", ")
}

func plainName(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) || r == '_' || r == '-' || r == '.' {
			return -1
		}
		return unicode.ToLower(r)
	}, s)
}

// distance counts the letters to insert, delete, change or swap to make a of b. Names are cut
// at 64 letters: a header cell may be of any length.
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

// shorten makes a value fit for a message: at most 40 letters, nothing that moves the cursor.
func shorten(s string) string {
	const most = 40
	n := 0
	for i := range s {
		if n == most {
			s = s[:i] + "..."
			break
		}
		n++
	}
	return strings.ToValidUTF8(strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return '\uFFFD'
	}, s), "\uFFFD")
}
