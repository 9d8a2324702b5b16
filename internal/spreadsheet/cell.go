// Package spreadsheet writes and reads the cells of CSV files so that a spreadsheet takes none of
// them for a formula. The reports escape each cell, and the reader of lists takes the escapes away.
package spreadsheet

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Escape makes a value safe for a spreadsheet
// (https://owasp.org/www-community/attacks/CSV_Injection). A cell that a program may take for a
// formula gets a leading apostrophe, which spreadsheets hide: one that begins with = + - @ TAB CR
// LF, or with a full-width = + - @, also behind spaces and characters that nobody sees, which some
// programs take off. A cell of only a sign, digits and one point stays unchanged: a plain number
// computes nothing, and phone numbers begin with +.
//
// A spreadsheet whose separator is another one than the file's splits a cell, also a quoted one.
// The part behind such a separator gets an apostrophe too if it begins with = + - @, or with spaces
// and =.
func Escape(s string) string {
	if trigger(s) && !plainNumber(unblank(s)) {
		s = "'" + s
	}
	for i := 0; i < len(s); i++ {
		if separator(s[i]) && formulaBehind(s[i+1:], s[i]) {
			s = s[:i+1] + "'" + s[i+1:]
		}
	}
	return s
}

// Unescape returns the value that Escape was given, unless the value itself had an apostrophe
// before such a character. Escape leaves those unchanged, so that a report that is imported as a
// list again and again does not collect apostrophes.
func Unescape(s string) string {
	if strings.IndexByte(s, '\'') < 0 {
		return s
	}
	for i := len(s) - 2; i >= 0; i-- {
		if separator(s[i]) && s[i+1] == '\'' && formulaBehind(s[i+2:], s[i]) {
			s = s[:i+1] + s[i+2:]
		}
	}
	if len(s) > 1 && s[0] == '\'' && trigger(s[1:]) && !plainNumber(unblank(s[1:])) {
		return s[1:]
	}
	return s
}

// separator reports whether a spreadsheet may end a cell at c.
func separator(c byte) bool { return strings.IndexByte(",;|\t\r\n", c) >= 0 }

// formulaBehind reports whether the part s of a cell, behind the separator by, begins with a
// formula, perhaps in quotes. A tab or a line break does not begin one there: text has several.
func formulaBehind(s string, by byte) bool {
	s, _, _ = strings.Cut(s, string(by))
	s = strings.TrimLeft(s, `"`)
	if text := unblank(s); len(text) < len(s) { // a sign behind a comma and a space is often text: ", -5 off"
		return strings.HasPrefix(text, "=") || strings.HasPrefix(text, "\uff1d")
	}
	return s != "" && !separator(s[0]) && trigger(s) && !plainNumber(s)
}

// unblank is s without spaces, no-break spaces, byte order marks, zero-width and control characters
// at its begin. Separators stay.
func unblank(s string) string {
	if s == "" || s[0] > ' ' && s[0] < utf8.RuneSelf {
		return s
	}
	return strings.TrimLeftFunc(s, func(r rune) bool {
		return unicode.In(r, unicode.Z, unicode.Cc, unicode.Cf) && (r > ' ' || !separator(byte(r)))
	})
}

// trigger reports whether s begins with a character that starts a formula, perhaps behind blanks.
func trigger(s string) bool {
	if s = unblank(s); s == "" {
		return false
	}
	switch s[0] {
	case '=', '+', '-', '@', '\t', '\r', '\n':
		return true
	}
	if s[0] < utf8.RuneSelf {
		return false
	}
	switch r, _ := utf8.DecodeRuneInString(s); r {
	case '\uff1d', '\uff0b', '\uff0d', '\uff20': // ＝ ＋ － ＠: East Asian spreadsheets treat them as ASCII
		return true
	}
	return false
}

// plainNumber reports whether s is an optional ASCII sign and digits with at most one
// point, and at least one digit.
func plainNumber(s string) bool {
	if s != "" && (s[0] == '+' || s[0] == '-') {
		s = s[1:]
	}
	digits, points := 0, 0
	for i := 0; i < len(s); i++ {
		switch {
		case '0' <= s[i] && s[i] <= '9':
			digits++
		case s[i] == '.':
			points++
		default:
			return false
		}
	}
	return digits > 0 && points <= 1
}

// AsText writes a number as ="+2348031234567" if Excel would take digits or a sign from it: with
// a +, with leading zeros, or with more than 11 digits, which it shows as 2.34803E+12. Such a
// formula computes nothing. Any other cell stays unchanged.
func AsText(s string) string {
	if !plainNumber(s) || s[0] != '+' && !(len(s) > 1 && s[0] == '0' && s[1] != '.') && len(s) <= 11 {
		return s
	}
	return `="` + s + `"`
}
