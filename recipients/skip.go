package recipients

import (
	"bufio"
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"
)

// skipLines reads past the lines above the header; l.shift counts them. The first of them may be
// Excel's sep= line, which is read past already.
func (l *Reader) skipLines(text *bufio.Reader, lines int) error {
	for length := 0; l.shift < lines; {
		part, err := text.ReadSlice('\n')
		length += len(part)
		switch {
		case errors.Is(err, bufio.ErrBufferFull) && length <= l.limits.Record:
		case errors.Is(err, bufio.ErrBufferFull):
			return &FileError{File: l.name, Line: l.shift + 1, Message: fmt.Sprintf("the line is longer than %d KiB", l.limits.Record>>10),
				Remedy: "see whether this is a CSV list at all"}
		case isEnd(err):
			return &FileError{File: l.name, Message: fmt.Sprintf("recipients.skip leaves out %d lines, and the list has no more", lines),
				Remedy: "lower it to the number of lines above the header"}
		case err != nil:
			return &FileError{File: l.name, Line: l.shift + 1, Message: "the list cannot be read", Err: err, Remedy: "try again, or copy it anew"}
		default:
			l.shift, length = l.shift+1, 0
		}
	}
	return nil
}

// likelyHeader returns the line of the text that looks like the header, counted from 1: it names
// the phone. 0: none does, or it is the first. Titles stand above the header of many reports.
func likelyHeader(text []byte, comma rune, o Options) int {
	const most = 50
	commas := []rune{',', ';', '\t', '|'}
	if comma != 0 {
		commas = []rune{comma}
	}
	for n := 1; n <= most && len(text) > 0; n++ {
		line, rest, _ := bytes.Cut(text, []byte("\n"))
		text = rest
		for _, c := range commas {
			if cells := lenient(line, c); namesPhone(cells, o) {
				if n == 1 {
					return 0
				}
				return n
			}
		}
	}
	return 0
}

// namesPhone reports whether the cells are the names of columns, with a column of phone numbers
// among them.
func namesPhone(cells []string, o Options) bool {
	for i := range cells {
		cells[i] = strings.TrimFunc(cells[i], func(r rune) bool { return unicode.IsSpace(r) || invisible(r) })
	}
	if slices.ContainsFunc(cells, looksLikePhone) {
		return false
	}
	if to := o.Columns[FieldTo]; len(to) > 0 {
		return slices.ContainsFunc(to, func(name string) bool { return slices.Contains(cells, strings.TrimSpace(name)) })
	}
	return len(cells) > 1 && len(likelyPhones(cells)) > 0
}

// Omitted is a record that Options.SkipBelow or SkipLast leaves out although its phone number is
// valid, so that it is probably a recipient.
type Omitted struct {
	Option string // skip_below or skip_last
	Row    *Row
}

// Omitted returns the records of this kind, once Next has returned io.EOF.
func (l *Reader) Omitted() (omitted []Omitted) {
	for _, row := range l.skipped {
		if l.hasPhone(row) {
			omitted = append(omitted, Omitted{"skip_below", row})
		}
	}
	for _, row := range l.ahead {
		if l.hasPhone(row) {
			omitted = append(omitted, Omitted{"skip_last", row})
		}
	}
	return omitted
}

// hasPhone reports whether the phone cell of a row is valid, also if the row has another fault.
func (l *Reader) hasPhone(row *Row) bool {
	if row.Fault == nil || row.Fault.Kind != MalformedRow {
		return row.Fault == nil
	}
	country := ""
	if l.header.country >= 0 {
		country = row.Cells[l.header.country]
	}
	_, _, fault := l.phones.ParseIn(row.To, country)
	return fault == nil
}

// remark reports whether a faulted row is no recipient: its record is broken or looks like totals,
// or its only text has no number.
func remark(row *Row) bool {
	if row.Fault == nil {
		return false
	}
	filled, only := 0, ""
	for _, cell := range row.Cells {
		if strings.TrimSpace(cell) != "" {
			filled, only = filled+1, cell
		}
	}
	return row.Fault.Kind == MalformedRow && filled < len(row.Cells) || filled == 1 && len(row.Cells) > 1 && !looksLikePhone(only)
}

// totals are the words with which a row of totals begins.
var totals = []string{"total", "totals", "subtotal", "sum", "sums", "count", "summe", "gesamt", "gesamtsumme", "anzahl", "totaux",
	"somme", "suma", "soma"}

// noRecipient says of a faulted row that it is no recipient, and what leaves it out; "" if it may
// be one. Such rows stand right below the header and at the end of the list.
func (l *Reader) noRecipient(row *Row) string {
	if row.Number == 1 {
		if namesOnlyPhone(row.Cells[l.header.filled(row.Cells)]) {
			return fmt.Sprintf("line %d: this looks like a second header; leave it out with recipients.skip_below: 1, "+
				"or read it as the header with recipients.skip: %d", row.Line, row.Line-1)
		}
	}
	for _, cell := range row.Cells {
		w := words(cell)
		switch {
		case strings.TrimSpace(cell) == "":
			continue
		case len(w) > 0 && (slices.Contains(totals, w[0]) || len(w) > 1 && w[0] == "grand" && slices.Contains(totals, w[1])):
			return fmt.Sprintf("line %d: this looks like a row of totals; leave it out with recipients.skip_last", row.Line)
		}
		break
	}
	return ""
}

// namesOnlyPhone reports whether a cell is the name of a column of phone numbers, and no remark
// such as "no phone".
func namesOnlyPhone(cell string) bool {
	w := words(cell)
	only := !slices.ContainsFunc(w, func(w string) bool {
		return !slices.Contains(mobileWords, w) && !slices.Contains(phoneWords, w) && !slices.Contains([]string{"number", "nummer", "nr"}, w)
	})
	return !strings.ContainsFunc(cell, unicode.IsDigit) && (len(w) > 0 && only || slices.Contains(toAliases, foldName(cell)))
}

// lenient reads the cells of a broken record as well as possible.
func lenient(raw []byte, comma rune) []string {
	cr := csv.NewReader(bytes.NewReader(bytes.TrimRight(raw, "\r\n")))
	cr.Comma, cr.LazyQuotes, cr.FieldsPerRecord = comma, true, -1
	cells, err := cr.Read()
	if err != nil {
		return []string{string(raw)}
	}
	return cells
}
