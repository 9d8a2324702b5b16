package recipients

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// FaultKind is what is wrong with a row. The words are also words of campaign.SkipReason, so that
// the import can pass them on.
type FaultKind string

// The faults of a row.
const (
	MalformedRow FaultKind = "malformed_row" // not a record of this file
	MissingPhone FaultKind = "missing_phone" // the phone cell is empty
	InvalidPhone FaultKind = "invalid_phone" // the phone cell holds no number that may be sent to
)

// Fault is why a row cannot be sent to. It concerns this row alone: reading goes on.
type Fault struct {
	Kind    FaultKind
	Column  string // the list's own name of the column; "" when the fault concerns the whole row
	Message string // one sentence: line and column, what was read (shortened), and the remedy
}

// FileError ends the reading of a list: no further row can be read, or none can be trusted. The
// rows before it were read correctly.
type FileError struct {
	File    string
	Line    int    // in the file, from 1; 0 when the error belongs to no line
	Column  int    // in bytes of the decoded line, from 1; 0 when unknown
	Message string // what is wrong
	Remedy  string // what to do
	Err     error  // the cause, if another package reported it
	// Columns are the names of the list's columns if they cannot be mapped, and Skip is the
	// Options.Skip with which the line that looks like the header would be it; 0: no other line does.
	Columns []string
	Skip    int
}

// Error prints file:line:column, message and remedy on one line.
func (e *FileError) Error() string {
	var b strings.Builder
	b.WriteString(e.File)
	if e.Line > 0 {
		fmt.Fprintf(&b, ":%d", e.Line)
		if e.Column > 0 {
			fmt.Fprintf(&b, ":%d", e.Column)
		}
	}
	b.WriteString(": ")
	b.WriteString(e.Message)
	if e.Err != nil {
		b.WriteString(": ")
		b.WriteString(e.Err.Error())
	}
	if e.Remedy != "" {
		b.WriteString("; ")
		b.WriteString(e.Remedy)
	}
	return b.String()
}

// Unwrap returns the cause, or nil.
func (e *FileError) Unwrap() error { return e.Err }

// shown quotes a value in ASCII, so that invisible characters and look-alikes can be told apart,
// and shortens it: a cell may hold a megabyte.
func shown(s string) string { return quoted(s, strconv.QuoteToASCII) }

// named quotes the name of a column and shortens it. Letters of every script stay as they are;
// characters that cannot be seen, such as a no-break space, are escaped.
func named(s string) string { return quoted(s, strconv.Quote) }

func quoted(s string, quote func(string) string) string {
	const most = 32 // runes; no phone number and no sane column name is longer
	n := 0
	for i := range s {
		if n == most {
			return quote(s[:i]) + "..."
		}
		n++
	}
	return quote(s)
}

// readable makes s storable in a ledger: invalid UTF-8 becomes U+FFFD.
func readable(s string) string {
	if utf8.ValidString(s) {
		return s
	}
	return strings.ToValidUTF8(s, "\uFFFD")
}
