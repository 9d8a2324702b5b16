package file

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// The most characters of a parameter (docs/service.md#variable-values). Where the platform does not
// say whether it counts code points or UTF-16 units, UTF-16 units are counted, since they are more.
const (
	maxParameter = 1024 // any parameter; also the body with its variables filled in (132005)
	maxURL       = 2000 // url button, base and suffix together
	MaxCopyCode  = 20   // since 3 Dec 2025; two of the platform's pages still say 15
	OldCopyCode  = 15
	maxOTP       = 15
)

// clean is the value of a cell without white space and invisible marks around it, in the composed
// form (NFC), which looks the same. The inside is never repaired.
func clean(cell string) string {
	for i := range len(cell) {
		if cell[i] >= utf8.RuneSelf {
			return norm.NFC.String(strings.TrimFunc(cell, invisible))
		}
	}
	return strings.TrimSpace(cell)
}

func invisible(r rune) bool {
	switch r {
	case '\u200B', '\u200E', '\u200F', '\u2060', '\uFEFF': // zero width space, direction marks, word joiner, BOM
		return true
	}
	return unicode.IsSpace(r)
}

// fault says why s cannot be a template parameter; "" when it can. The platform refuses line
// breaks, tabs and more than 4 spaces in a row with 132018 (docs/service.md#variable-values); no
// author intends the other faults. fault also counts the UTF-16 units up to the fault.
func fault(s string) (units int, why string) {
	spaces := 0
	for i := 0; i < len(s); {
		c := s[i]
		if c < utf8.RuneSelf {
			i++
			units++
			switch {
			case c == ' ':
				if spaces++; spaces > 4 {
					return units, "has more than 4 spaces in a row"
				}
				continue
			case c == '\n' || c == '\r':
				return units, "has a line break"
			case c == '\t':
				return units, "has a tab"
			case c < ' ' || c == 0x7f:
				return units, fmt.Sprintf("has the control character U+%04X", c)
			}
			spaces = 0
			continue
		}
		r, size := utf8.DecodeRuneInString(s[i:])
		i += size
		units++
		switch {
		case r == utf8.RuneError && size == 1:
			return units, "is not UTF-8 text"
		case r == utf8.RuneError:
			return units, "has the replacement character U+FFFD: the list was saved or read in a wrong encoding"
		case r == '\u2028' || r == '\u2029' || r == '\u0085':
			return units, "has a line break"
		case r == '\uFEFF' || unicode.Is(unicode.Cc, r):
			return units, fmt.Sprintf("has the control character U+%04X", r)
		case r == '\u00A0':
			if spaces++; spaces > 4 {
				return units, "has more than 4 spaces in a row"
			}
			continue
		case r > 0xFFFF:
			units++
		}
		spaces = 0
	}
	return units, ""
}

// unitsOf counts UTF-16 units.
func unitsOf(s string) int {
	n := 0
	for _, r := range s {
		if n++; r > 0xFFFF {
			n++
		}
	}
	return n
}

// use is where a parameter goes. It decides what the parameter may contain.
type use uint8

const (
	inBody use = iota + 1
	inPayload
	inURL
	inLink
	inCopyCode
	inOTP
)

func useOf(buttonType string) use {
	switch buttonType {
	case "url":
		return inURL
	case "copy_code":
		return inCopyCode
	case "otp":
		return inOTP
	}
	return inPayload
}

// finish checks a whole parameter, and percent-encodes the parameters that go into an address.
func finish(u use, s string) (out string, units int, why string) {
	units, why = fault(s)
	if why != "" {
		return "", units, why
	}
	switch u {
	case inURL:
		if out, why = encodeURL(s); why != "" {
			return "", units, why
		}
		if strings.HasPrefix(out, "//") || hasScheme(out) {
			return "", units, "is a whole address: the template has the beginning of it, the variable is only its end"
		}
		return out, len(out), tooLong(len(out), maxURL)
	case inLink:
		if out, why = encodeURL(s); why != "" {
			return "", units, why
		}
		rest, ok := strings.CutPrefix(out, "https://")
		if !ok {
			rest, ok = strings.CutPrefix(out, "http://")
		}
		if !ok || rest == "" || strings.ContainsRune("/?#@:", rune(rest[0])) {
			return "", units, "is not a link: want https://host/path"
		}
		return out, len(out), tooLong(len(out), maxURL)
	case inCopyCode:
		for i := range len(s) {
			if !alphanumeric(s[i]) {
				return "", units, "is not a coupon code: want letters a-z, A-Z and digits only"
			}
		}
		return s, units, tooLong(units, MaxCopyCode)
	case inOTP:
		for i := range len(s) {
			if s[i] <= ' ' || s[i] > '~' || s[i] == '/' {
				return "", units, "is not a one-time code: want letters, digits and signs without spaces, links or emoji"
			}
		}
		return s, units, tooLong(units, maxOTP)
	}
	return s, units, tooLong(units, maxParameter)
}

func tooLong(n, most int) string {
	if n <= most {
		return ""
	}
	return fmt.Sprintf("has %d characters; at most %d are allowed", n, most)
}

// encodeURL percent-encodes what RFC 3986 does not allow in a path, query or fragment: letters of
// other scripts (as UTF-8, RFC 3987, section 3.1) and "<>\^`{|}. Encoded parts stay. Spaces and a
// lone % are refused, because the encoding that was meant cannot be known.
func encodeURL(s string) (string, string) {
	extra := 0
	for i := range len(s) {
		switch c := s[i]; {
		case c == ' ':
			return "", "has a space, which an address cannot have"
		case c == '%' && (i+2 >= len(s) || !hexDigit(s[i+1]) || !hexDigit(s[i+2])):
			return "", "has a % that is not followed by two hexadecimal digits; a percent sign in an address is written %25"
		case mustEncode(c):
			extra += 2
		}
	}
	if extra == 0 {
		return s, ""
	}
	const digits = "0123456789ABCDEF"
	b := make([]byte, 0, len(s)+extra)
	for i := range len(s) {
		if c := s[i]; mustEncode(c) {
			b = append(b, '%', digits[c>>4], digits[c&15])
		} else {
			b = append(b, c)
		}
	}
	return string(b), ""
}

func mustEncode(c byte) bool {
	return c >= utf8.RuneSelf || c < ' ' || c == 0x7f || strings.IndexByte("\"<>\\^`{|}", c) >= 0
}

// hasScheme reports whether s begins with a scheme (RFC 3986, section 3.1) and ://.
func hasScheme(s string) bool {
	scheme, _, ok := strings.Cut(s, "://")
	for i := range len(scheme) {
		if c := scheme[i]; !alphanumeric(c) && c != '+' && c != '-' && c != '.' {
			return false
		}
	}
	return ok && scheme != ""
}

func hexDigit(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'f' || c >= 'A' && c <= 'F'
}

func alphanumeric(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}
