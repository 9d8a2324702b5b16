package ledger

import (
	"strings"
	"unicode/utf8"
)

// PlainText replaces NUL and what is not UTF-8. PostgreSQL refuses both, and one such webhook would
// keep its batch from ever being stored.
func PlainText(s string) string {
	if strings.IndexByte(s, 0) < 0 && utf8.ValidString(s) {
		return s
	}
	return strings.ReplaceAll(strings.ToValidUTF8(s, "\uFFFD"), "\x00", "\uFFFD")
}
