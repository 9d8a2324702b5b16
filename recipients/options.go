package recipients

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/nyaruka/phonenumbers"
)

// Options are how a list is to be read. The zero value detects the dialect, finds the phone column
// by its name, and demands valid international numbers.
type Options struct {
	// Delimiter is comma, semicolon, tab, pipe, or the character itself; "" detects it.
	Delimiter string
	// Encoding is utf-8, utf-16le, utf-16be or windows-1252; "" detects it.
	Encoding string
	// DefaultRegion is an ISO 3166 alpha-2 code, such as NG, for rows that name no country. Without
	// it, a number without + is invalid.
	DefaultRegion string
	// International reads a number without + as a country code and the rest. Only a number that cannot
	// be read so is one of the country of its row.
	International bool
	// Validate is none, possible or valid; "" is valid. The Validate constants say what they check.
	Validate string
	// Columns maps a field (to, country, timezone) or a variable to the name of a column; to may have
	// several. country or timezone "" says that no column is one, whatever its name.
	Columns map[string]Names
	// Skip is how many lines of the file stand above the header, SkipBelow how many records right
	// below it are no recipients, and SkipLast how many at the end.
	Skip, SkipBelow, SkipLast int
	// Within is a folder that the list must lie in, itself and not by a link that leads out; "" is any
	// folder.
	Within string
	// HideNames keeps the names of the list's columns out of errors: a log may have more readers than
	// the list, and the file may not be a list.
	HideNames bool
	// Limits are the limits of the list's size.
	Limits Limits
}

// MaxSize is the most bytes of a list, 4 GiB, if Limits.Size says nothing.
const MaxSize = 4 << 30

// Limits are the largest list that is read. A field that is 0 or less takes its default.
type Limits struct {
	Record  int     // bytes of one decoded record, its line end included; default 1 MiB
	Columns int     // default 200
	Size    int64   // decoded bytes of the whole list; default MaxSize
	Ratio   float64 // decoded bytes per compressed byte, checked after the first MiB; default 100
	Rows    int64   // default 100,000,000
}

func (l Limits) withDefaults() Limits {
	if l.Record <= 0 {
		l.Record = 1 << 20
	}
	if l.Columns <= 0 {
		l.Columns = 200
	}
	if l.Size <= 0 {
		l.Size = MaxSize
	}
	if l.Ratio <= 0 {
		l.Ratio = 100
	}
	if l.Rows <= 0 {
		l.Rows = 100_000_000
	}
	return l
}

// The levels of validation of phone numbers; each includes the one before.
const (
	ValidateNone     = "none"     // E.164 syntax
	ValidatePossible = "possible" // the country exists and has numbers of that length
	ValidateValid    = "valid"    // the digits lie in a range of that country's plan
)

func validateLevel(s string) (string, error) {
	switch s {
	case "":
		return ValidateValid, nil
	case ValidateNone, ValidatePossible, ValidateValid:
		return s, nil
	}
	return "", fmt.Errorf("recipients.validate: %s is not a level; use none, possible or valid", shown(s))
}

// regionCode checks an ISO 3166 code against the regions that have a numbering plan.
func regionCode(s string) (string, error) {
	if s == "" {
		return "", nil
	}
	up := strings.ToUpper(strings.TrimSpace(s))
	if phonenumbers.GetSupportedRegions()[up] {
		return up, nil
	}
	hint := "use the two letters of ISO 3166, such as NG or DE"
	if up == "UK" {
		hint = "the United Kingdom is GB"
	}
	return "", fmt.Errorf("recipients.default_region: %s is not a region with telephone numbers; %s", shown(s), hint)
}

// delimiterOf reads the option; 0 means that it is to be detected.
func delimiterOf(s string) (rune, error) {
	switch strings.ToLower(s) {
	case "":
		return 0, nil
	case "comma":
		return ',', nil
	case "semicolon":
		return ';', nil
	case "tab", `\t`:
		return '\t', nil
	case "pipe":
		return '|', nil
	}
	r, n := utf8.DecodeRuneInString(s)
	// A character that occurs in phone numbers or names cannot separate cells.
	if n != len(s) || r == utf8.RuneError || unicode.IsLetter(r) || unicode.IsDigit(r) ||
		unicode.IsControl(r) && r != '\t' || strings.ContainsRune("\"'+-(). ", r) {
		return 0, fmt.Errorf("recipients.delimiter: %s cannot separate cells; use comma, semicolon, tab, pipe or another single character",
			shown(s))
	}
	return r, nil
}

// Comma is the character of Delimiter; 0 when it is to be detected.
func (o Options) Comma() (rune, error) { return delimiterOf(o.Delimiter) }

// The encodings a list may have.
const (
	UTF8        = "utf-8"
	UTF16LE     = "utf-16le"
	UTF16BE     = "utf-16be"
	Windows1252 = "windows-1252"
)

// encodingOf reads the option; "" means that it is to be detected.
func encodingOf(s string) (string, error) {
	switch strings.NewReplacer("_", "-", " ", "-").Replace(strings.ToLower(strings.TrimSpace(s))) {
	case "":
		return "", nil
	case "utf-8", "utf8", "ascii", "us-ascii":
		return UTF8, nil
	case "utf-16le", "utf16le":
		return UTF16LE, nil
	case "utf-16be", "utf16be":
		return UTF16BE, nil
	// Latin-1 is read as Windows-1252, as every browser does
	// (https://encoding.spec.whatwg.org/#names-and-labels).
	case "windows-1252", "cp1252", "latin1", "iso-8859-1":
		return Windows1252, nil
	}
	return "", fmt.Errorf("recipients.encoding: %s is not known; use utf-8, utf-16le, utf-16be or windows-1252", shown(s))
}
