package file

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// part is a piece of a parameter: a literal or a variable.
type part struct {
	text     string // the literal, or the variable's name
	variable bool
}

// parts splits a string of the campaign file into literals and {{ .name }}. It understands nothing
// else. Nothing is parsed twice: the value of a row is data
// (docs/protocol.md#untrusted-input).
func parts(s string) ([]part, error) {
	var ps []part
	for s != "" {
		open := strings.Index(s, "{{")
		if open < 0 {
			if strings.Contains(s, "}}") {
				return nil, fmt.Errorf("%q closes a variable that was not opened: want {{ .name }}", shorten(s))
			}
			return append(ps, part{text: s}), nil
		}
		if open > 0 {
			ps = append(ps, part{text: s[:open]})
		}
		inner, rest, closed := strings.Cut(s[open+2:], "}}")
		if !closed {
			return nil, fmt.Errorf("%q opens a variable and does not close it: want {{ .name }}", shorten(s[open:]))
		}
		name := strings.TrimSpace(inner)
		switch bare, dotted := strings.CutPrefix(name, "."); {
		case dotted && isIdentifier(bare):
			ps = append(ps, part{text: bare, variable: true})
		case isIdentifier(name):
			return nil, fmt.Errorf("%q lacks its dot: write {{ .%s }}", shorten("{{"+inner+"}}"), name)
		default:
			return nil, fmt.Errorf("%q is not a variable: want {{ .name }}, a name of letters, digits and _; "+
				"functions and expressions are not understood, "+
				"and a column whose name has other characters is named under recipients.columns",
				shorten("{{"+inner+"}}"))
		}
		s = rest
	}
	return ps, nil
}

// variables lists the names in s in order, repetitions included. It is empty when s cannot be read.
func variables(s string) []string {
	ps, err := parts(s)
	if err != nil {
		return nil
	}
	var names []string
	for _, p := range ps {
		if p.variable {
			names = append(names, p.text)
		}
	}
	return names
}

// isIdentifier reports whether s is a letter or _, then letters, digits and _ of any script, at
// most 64 in all.
func isIdentifier(s string) bool {
	for i, r := range s {
		switch {
		case r == '_' || unicode.IsLetter(r):
		case i > 0 && (unicode.IsDigit(r) || unicode.Is(unicode.Mn, r)):
		default:
			return false
		}
	}
	return s != "" && utf8.RuneCountInString(s) <= 64
}
