package recipients

import (
	"strings"
	"unicode"
)

// schemes are what programs write before a number. Upper and lower case are the same.
var schemes = []string{
	"tel:",      // RFC 3966
	"whatsapp:", // https://www.twilio.com/docs/whatsapp/api#whatsapp-user-addresses
	"p:",        // exports of Meta's lead forms
}

// between stands between the numbers of one cell where Google Contacts exports a person's numbers
// that have the same label.
const between = ":::"

// written is a number without what programs write before it, after it and between its digits, and
// what means nothing: the text mark of a spreadsheet ('), a scheme (tel:), characters that nobody
// sees, the second and further numbers of an export by Google, and one slash behind an area code.
// Spaces of every kind become plain ones. No digit is added, changed or lost.
func written(s string) string {
	s, _, _ = strings.Cut(s, between)
	if len(s) > maxPhone {
		return s // damage refuses it
	}
	for i := range len(s) {
		if s[i] < 0x80 {
			continue
		}
		s = strings.Map(func(r rune) rune {
			switch {
			case invisible(r):
				return -1
			case unicode.Is(unicode.Zs, r):
				return ' '
			}
			return r
		}, s)
		break
	}
	s = strings.Trim(s, " \t")
	if len(s) > 1 && s[0] == '\'' && strings.IndexByte("+(0123456789", s[1]) >= 0 {
		s = s[1:]
	}
	for _, scheme := range schemes {
		if len(s) > len(scheme) && strings.EqualFold(s[:len(scheme)], scheme) {
			s = strings.Trim(s[len(scheme):], " \t")
			break
		}
	}
	if area, rest, found := strings.Cut(s, "/"); found && slashed(area, rest) {
		s = area + " " + rest
	}
	return s
}

// slashed reports whether the slash between the two texts divides an area code from the number, as
// in 0151/46722372. Two numbers, and one with alternative last digits (030 901820/21), are
// written with a slash too: the part behind it then begins like another number, or is short.
func slashed(area, rest string) bool {
	rest = strings.TrimLeft(rest, " ")
	code, plus := strip(area)
	number, another := strip(rest)
	least, most := 2, 6
	if plus || strings.HasPrefix(code, "00") {
		most = 9 // with the country code
	}
	return len(code) >= least && len(code) <= most && len(number) >= 5 && !another && rest[0] >= '1' && rest[0] <= '9'
}

// bidi reports whether r is one of the marks, embeddings, overrides and isolates of Unicode
// Standard Annex 9 (https://www.unicode.org/reports/tr9/).
func bidi(r rune) bool {
	return r == '\u200e' || r == '\u200f' || r == '\u061c' || r >= '\u202a' && r <= '\u202e' || r >= '\u2066' && r <= '\u2069'
}

// invisible reports whether r is a bidi, zero-width or soft character, or the byte order mark.
func invisible(r rune) bool {
	return bidi(r) || r >= '\u200b' && r <= '\u200d' || r >= '\u2060' && r <= '\u2064' ||
		r == '\ufeff' || r == '\u00ad' || r == '\u034f' || r == '\u180e'
}
