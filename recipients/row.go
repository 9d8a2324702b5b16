package recipients

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"campaignd/internal/sentence"
	"campaignd/internal/spreadsheet"
)

// Row is one record of the list.
type Row struct {
	Number   int64    // from 1; the header is not counted
	Line     int      // line of the file where the record begins
	To       string   // E.164 with the leading +; with a Fault, the cell of the list
	Key      int64    // Key(To); 0 with a Fault
	Timezone string   // the cell of the list; "" without such a column
	Cells    []string // one per column of Header; a malformed row is padded or cut to fit
	Fault    *Fault   // nil for a row that can be sent to
}

// record is the part of a row that gocsv decodes into fields; the other columns are in its map.
type record struct {
	To       string `csv:"to"`
	Timezone string `csv:"timezone"`
}

func (l *Reader) read() (*Row, error) {
	v, rest, err := l.rows.ReadUnmatched()
	end := l.csv.InputOffset()
	defer l.finish(end)
	var parse *csv.ParseError
	switch {
	case err == nil:
	case isEnd(err):
		return nil, io.EOF
	case errors.As(err, &parse):
		return l.malformed(parse, end)
	default:
		return nil, l.fatal(err)
	}
	if err := l.count(end); err != nil {
		return nil, err
	}
	l.width = len(l.keys)
	rec, ok := v.(*record)
	if !ok {
		return nil, l.fatal(fmt.Errorf("gocsv gave a %T", v))
	}
	line, _ := l.csv.FieldPos(0)
	cells := make([]string, len(l.keys))
	for i, key := range l.keys {
		switch i {
		case l.header.to:
			cells[i] = rec.To
		case l.header.timezone:
			cells[i] = rec.Timezone
		default:
			cells[i] = rest[key]
		}
	}
	return l.row(line+l.shift, cells), nil
}

// row is the row of a record that was read whole.
func (l *Reader) row(line int, cells []string) *Row {
	row := &Row{Number: l.number, Line: line, Cells: cells}
	broken := -1
	for i, cell := range cells {
		if broken < 0 && !decoded(cell, l.dialect.Encoding) {
			broken = i
		}
		cells[i] = spreadsheet.Unescape(textCell(cell))
	}
	to := l.header.filled(cells)
	row.To = cells[to]
	if l.header.timezone >= 0 {
		row.Timezone = cells[l.header.timezone]
	}
	if broken >= 0 {
		l.undecodable(row, broken)
		return row
	}
	l.checkPhone(row, to)
	return row
}

// undecodable faults a row whose cell i is not in the list's encoding. A guess at another encoding
// would put wrong letters into a person's name.
func (l *Reader) undecodable(row *Row, i int) {
	name := l.header.names[i]
	row.Fault = &Fault{Kind: MalformedRow, Column: name,
		Message: fmt.Sprintf("line %d, column %s: %s is not %s; save the list as UTF-8, or set recipients.encoding to what it is (windows-1252?)",
			row.Line, named(name), shown(row.Cells[i]), l.dialect.Encoding)}
	for i, cell := range row.Cells {
		row.Cells[i] = readable(cell)
	}
	row.To, row.Timezone = readable(row.To), readable(row.Timezone)
}

// decoded reports whether a cell is valid in the encoding. Bytes that are not UTF-16 arrive as
// U+FFFD; UTF-8 arrives unchanged.
func decoded(cell, enc string) bool {
	if !utf8.ValidString(cell) {
		return false
	}
	return (enc != UTF16LE && enc != UTF16BE) || !strings.ContainsRune(cell, utf8.RuneError)
}

// checkPhone reads the number of a row, which is in the given column.
func (l *Reader) checkPhone(row *Row, column int) {
	country := ""
	if l.header.country >= 0 {
		country = row.Cells[l.header.country]
	}
	to, key, fault := l.phones.ParseIn(row.To, country)
	if fault == nil {
		if l.abroad.Column != "" && l.phones.region != "" {
			l.compareCountry(row)
		}
		row.To, row.Key = to, key
		return
	}
	if fault.Column == FieldCountry {
		column = l.header.country
	}
	fault.Column = l.header.names[column]
	fault.Message = fmt.Sprintf("line %d, column %s: %s", row.Line, named(fault.Column), fault.Message)
	row.Fault = fault
	if fault.Kind == MissingPhone && l.header.unread != nil {
		l.hintAtOther(row)
	}
	if why := l.noRecipient(row); why != "" {
		fault.Kind, fault.Column, fault.Message = MalformedRow, "", why
	}
}

// compareCountry counts a row whose number has no + if a column that is not read names a country
// other than the default region.
func (l *Reader) compareCountry(row *Row) {
	if strings.Contains(row.To, "+") {
		return
	}
	cell := row.Cells[l.abroad.unmapped]
	if country := l.phones.countryOf(cell); country == "" || country == l.phones.region {
		return
	}
	if l.abroad.Rows++; l.abroad.Rows == 1 {
		l.abroad.Country, l.abroad.Line = strings.Clone(strings.TrimSpace(cell)), row.Line
	}
}

// hintAtOther says of a row without a number that a column that is not read may have it.
func (l *Reader) hintAtOther(row *Row) {
	for _, i := range l.header.unread {
		if strings.TrimSpace(row.Cells[i]) != "" {
			row.Fault.Message = fmt.Sprintf("line %d, column %s: the cell is empty, and column %s is not; "+
				"read both with recipients.columns: {to: [%s, %s]}",
				row.Line, named(row.Fault.Column), named(l.header.names[i]), YAMLText(row.Fault.Column), YAMLText(l.header.names[i]))
			return
		}
	}
}

// count numbers the record that ends at end, and enforces the limits of record and list.
func (l *Reader) count(end int64) error {
	if end-l.guard.end > int64(l.limits.Record) { // rare: it may be only empty lines
		if raw, line := l.guard.record(end); len(raw) > l.limits.Record {
			return &FileError{
				File: l.name, Line: line,
				Message: fmt.Sprintf("the record that begins here is longer than %d KiB", l.limits.Record>>10),
				Remedy:  "shorten its cells, or see whether a quote is missing",
			}
		}
	}
	if l.number++; l.number > l.limits.Rows {
		return &FileError{File: l.name, Message: fmt.Sprintf("the list has more than %d rows", l.limits.Rows), Remedy: "split it"}
	}
	return nil
}

// malformed makes a row of a record that csv refused, with its cells as a person would read them.
// Only an unclosed quote is fatal: it has swallowed every row after it.
func (l *Reader) malformed(parse *csv.ParseError, end int64) (*Row, error) {
	raw, line := l.guard.record(end)
	if at, open := openQuote(raw, l.csv.Comma); open && errors.Is(parse.Err, csv.ErrQuote) {
		return nil, l.guard.unclosed(raw, at, line, "is never closed")
	}
	if err := l.count(end); err != nil {
		return nil, err
	}
	columns := len(l.keys)
	cells := lenient(raw, l.csv.Comma)
	if begins := l.width == 0; errors.Is(parse.Err, csv.ErrFieldCount) && l.padded(cells) {
		if begins {
			l.doubt = l.misshapen(parse, raw, line, cells)
		}
		return l.row(line, cells[:columns:columns]), nil
	}
	return l.misshapen(parse, raw, line, cells), nil
}

// padded reports whether the cells of a record that has more or fewer than the header are padded:
// spreadsheets and exporters fill up each record to the longest one. All records so far have as
// many cells then. A single one with an empty cell too many has a delimiter in a cell without
// quotes, and its values are one cell too far to the right.
func (l *Reader) padded(cells []string) bool {
	columns := len(l.keys)
	switch {
	case len(cells) < max(columns, l.width):
		l.width = columns // this list is not padded
		return false
	case !blankCells(cells[columns:]):
		return false
	case l.width == 0:
		l.width = len(cells)
	}
	return len(cells) == l.width
}

// misshapen is the row of a record that csv refused.
func (l *Reader) misshapen(parse *csv.ParseError, raw []byte, line int, cells []string) *Row {
	columns := len(l.keys)
	where := fmt.Sprintf("line %d", line)
	if last := line + bytes.Count(bytes.TrimRight(raw, "\r\n"), []byte("\n")); last > line {
		where = fmt.Sprintf("lines %d to %d, read as one record", line, last)
	}
	fault := &Fault{Kind: MalformedRow}
	switch {
	case !errors.Is(parse.Err, csv.ErrFieldCount):
		fault.Message = fmt.Sprintf(`%s: a quote stands in the wrong place (line %d, byte %d); `+
			`quote a whole cell or none of it, and write a quote inside as ""`, where, parse.Line+l.shift, parse.Column)
	case bytes.ContainsRune(bytes.TrimRight(raw, "\r\n"), '\r'):
		fault.Message = fmt.Sprintf("%s: %s where the header has %d, and a carriage return without line feed among them; "+
			"save the list with LF or CRLF line ends", where, sentence.Count(len(cells), "cell", "cells"), columns)
	case len(cells) > columns:
		fault.Message = fmt.Sprintf("%s: %s where the header has %d; quote a cell that holds the delimiter (%s)",
			where, sentence.Count(len(cells), "cell", "cells"), columns, delimiterName(l.csv.Comma))
		if blankCells(cells[columns:]) {
			fault.Message += ", or remove empty cells at the end"
		}
	default:
		fault.Message = fmt.Sprintf("%s: %s where the header has %d; add the missing ones, empty if need be",
			where, sentence.Count(len(cells), "cell", "cells"), columns)
		if len(cells) == 1 && columns > 2 && !looksLikePhone(cells[0]) { // such as "Generated by", which Salesforce writes at the end
			fault.Message += ", or leave a remark at the end out with recipients.skip_last"
		}
	}
	row := &Row{Number: l.number, Line: line, Cells: make([]string, columns), Fault: fault}
	for i := range row.Cells[:min(columns, len(cells))] {
		row.Cells[i] = readable(cells[i])
	}
	row.To = row.Cells[l.header.filled(row.Cells)]
	if l.header.timezone >= 0 {
		row.Timezone = row.Cells[l.header.timezone]
	}
	if why := l.noRecipient(row); why != "" {
		fault.Message = why
	}
	return row
}

func blankCells(cells []string) bool {
	return !slices.ContainsFunc(cells, func(cell string) bool { return strings.TrimSpace(cell) != "" })
}
