package messaging

import (
	"errors"
	"net/netip"
	"slices"
	"strings"
	"unicode/utf8"

	"campaignd/internal/sentence"
)

// maskPhone hides the middle of a phone number: +15555550101 becomes +1555•••0101. An operator can
// still recognise the country and the number of a complaint, but nobody can call the number. A
// number of fewer than 8 digits is hidden whole.
func maskPhone(phone string) string {
	plus := ""
	digits := phone
	if strings.HasPrefix(digits, "+") {
		plus, digits = "+", digits[1:]
	}
	if len(digits) < 8 || !utf8.ValidString(digits) {
		return plus + "•••"
	}
	head := min(len(digits)-7, 5)
	return plus + digits[:head] + "•••" + digits[len(digits)-4:]
}

// maskID hides a message id, because the number of the recipient can be read from it
// (RecipientOfID). The last six characters stay, which is enough to compare two log lines.
func maskID(id string) string {
	if len(id) < 24 || allDigits(id) {
		return "•••"
	}
	if strings.HasPrefix(id, wamidPrefix) {
		return wamidPrefix + "•••" + id[len(id)-6:]
	}
	return "•••" + id[len(id)-6:]
}

// Scrub makes prose from outside safe to show in one line. Control characters become spaces, runs
// of eight or more digits and message ids are masked, and the result is cut to limit bytes at the
// end of a rune.
func Scrub(text string, limit int) string { return scrub(text, limit, nil) }

// ScrubError is Scrub of the text of an error, in which the ids of NamedBy stay readable.
func ScrubError(err error, limit int) string {
	var ids []string
	if n, ok := errors.AsType[*named](err); ok {
		ids = n.ids
	}
	return scrub(err.Error(), limit, ids)
}

// NamedBy returns err, whose text has ids of the platform that are no phone numbers, although they
// look like one.
func NamedBy(err error, ids ...string) error { return &named{err, ids} }

type named struct {
	error
	ids []string
}

func (n *named) Unwrap() error { return n.error }

func scrub(text string, limit int, ids []string) string {
	if len(text) > 4*limit {
		text = text[:4*limit]
	}
	text = strings.ToValidUTF8(text, "\uFFFD")
	var b strings.Builder
	for i := 0; i < len(text); {
		c := text[i]
		switch {
		case c >= '0' && c <= '9':
			j, digits := phoneRun(text[i:])
			if run := text[i : i+j]; digits >= 8 && !isAddress(run) && !slices.Contains(ids, run) {
				b.WriteString(maskPhone(onlyDigits(run)))
			} else {
				b.WriteString(text[i : i+j])
			}
			i += j
		case strings.HasPrefix(text[i:], wamidPrefix):
			j := len(wamidPrefix)
			for i+j < len(text) && base64Char(text[i+j]) {
				j++
			}
			b.WriteString(maskID(text[i : i+j]))
			i += j
		default:
			r, n := utf8.DecodeRuneInString(text[i:])
			if r < 0x20 || r == 0x7f || r >= 0x80 && r < 0xa0 || r == '\u2028' || r == '\u2029' {
				r = ' '
			}
			b.WriteRune(r)
			i += n
		}
	}
	return sentence.Clip(strings.TrimSpace(b.String()), limit)
}

// phoneRun measures the run of digits at the start of s. Single spaces, hyphens and dots between
// the digits belong to the run, and so do parentheses, because people write them in phone numbers:
// +1 (555) 010-0100.
func phoneRun(s string) (length, digits int) {
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c >= '0' && c <= '9':
			digits++
			length = i + 1
		case c == '(' && i > 0 && length >= i-1, c == ')' && length == i:
		case (c == ' ' || c == '-' || c == '.') && i > 0 && (length == i || length == i-1 && s[i-1] == ')'):
		default:
			return length, digits
		}
	}
	return length, digits
}

// isAddress reports whether a run is an IPv4 address, as in the text of a network error.
func isAddress(run string) bool {
	_, err := netip.ParseAddr(run)
	return err == nil
}

func base64Char(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '+' || c == '/' || c == '=' || c == '-' || c == '_'
}

func allDigits(s string) bool {
	for i := 0; i < len(s); i++ {
		if s[i] < '0' || s[i] > '9' {
			return false
		}
	}
	return s != ""
}

// onlyDigits returns the ASCII digits of s. It allocates only if it must.
func onlyDigits(s string) string {
	if allDigits(s) {
		return s
	}
	if strings.HasPrefix(s, "+") && allDigits(s[1:]) {
		return s[1:]
	}
	out := make([]byte, 0, len(s))
	for i := 0; i < len(s); i++ {
		if s[i] >= '0' && s[i] <= '9' {
			out = append(out, s[i])
		}
	}
	return string(out)
}
