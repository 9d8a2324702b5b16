package recipients

import (
	"bufio"
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/gocarina/gocsv"
)

// Reader streams the rows of one list. It is not safe for concurrent use; several
// readers may run at once.
type Reader struct {
	name    string
	dialect Dialect
	limits  Limits
	header  *header
	phones  *Phones
	guard   *guard
	csv     *csv.Reader
	rows    *gocsv.Unmarshaller
	keys    []string // gocsv's names of the columns, in order
	shift   int      // lines before csv's first: Excel's sep=
	number  int64    // of the last record
	first   *Row     // read ahead by NewReader
	err     error    // what ended the list
	closers []func() error
}

// Row is one record of the list.
type Row struct {
	Number   int64    // from 1, the header not counted
	Line     int      // in the file, where the record begins
	To       string   // E.164 with the leading +; with a Fault, the cell as it stands
	Key      int64    // Key(To); 0 with a Fault
	Timezone string   // the cell as it stands; "" without such a column
	Cells    []string // one per column of Header; a malformed row is padded or cut to fit
	Fault    *Fault   // nil for a row that can be sent to
}

// record is the fixed part of a row for gocsv; every other column is in its map.
type record struct {
	To       string `csv:"to"`
	Timezone string `csv:"timezone"`
}

// NewReader reads a list from r, which it calls name in errors. It looks at the first 64 KiB to
// find the dialect, checks the header, and reads the first record: a list without any is an
// error. The error is a *FileError, unless an option is wrong.
func NewReader(r io.Reader, name string, o Options) (*Reader, error) {
	o.Limits = o.Limits.withDefaults()
	comma, err := delimiterOf(o.Delimiter)
	if err != nil {
		return nil, err
	}
	told, err := encodingOf(o.Encoding)
	if err != nil {
		return nil, err
	}
	phones, err := NewPhones(o.Validate, o.DefaultRegion)
	if err != nil {
		return nil, err
	}
	plain, compression, closeSource, err := unpack(bufio.NewReaderSize(&source{r: r}, block), name, o.Limits)
	if err != nil {
		return nil, err
	}
	l := &Reader{name: name, limits: o.Limits, phones: phones}
	l.closers = append(l.closers, func() error { closeSource(); return nil })
	if err := l.begin(plain, compression, told, comma, o); err != nil {
		_ = l.Close()
		return nil, err
	}
	return l, nil
}

// begin settles the dialect, and reads the header and the first record.
func (l *Reader) begin(plain *bufio.Reader, compression, told string, comma rune, o Options) error {
	text, enc, bom, err := decode(plain, l.name, told)
	if err != nil {
		return err
	}
	l.dialect = Dialect{Delimiter: comma, Encoding: enc, Compression: compression, BOM: bom}
	if sep := sepLine(text); sep != 0 {
		l.shift, l.dialect.SepLine = 1, true
		if comma == 0 {
			l.dialect.Delimiter = sep
		}
	} else if comma == 0 {
		l.dialect.Delimiter = sniffDelimiter(text)
	}
	l.guard = &guard{src: text, name: l.name, comma: l.dialect.Delimiter, limit: l.limits.Record, size: l.limits.Size, line: 1 + l.shift}
	l.csv = csv.NewReader(bufio.NewReaderSize(l.guard, block))
	l.csv.Comma = l.dialect.Delimiter
	l.csv.ReuseRecord = true // gocsv copies the strings out
	// FieldsPerRecord stays 0, "as many as the header": with -1, gocsv panics on a longer row.

	l.rows, err = gocsv.NewUnmarshaller(l.csv, &record{})
	if err != nil {
		return l.headerError(err)
	}
	_, line := l.guard.record(l.csv.InputOffset())
	if l.header, err = readHeader(l.rows.Headers, l.name, line, o); err != nil {
		return err
	}
	l.keys = l.header.keys()
	if err := l.rows.RenormalizeHeaders(func([]string) []string { return l.keys }); err != nil {
		return &FileError{File: l.name, Line: line, Message: "the header cannot be mapped", Err: err}
	}
	l.finish(l.csv.InputOffset())

	l.first, err = l.read()
	if isEnd(err) {
		return &FileError{File: l.name, Line: line, Message: "the list has a header and no rows", Remedy: "put one recipient on each line after it"}
	}
	l.err = err // any other is told by Next
	return nil
}

func (l *Reader) headerError(err error) error {
	if isEnd(err) {
		return &FileError{File: l.name, Message: "the list is empty", Remedy: "give it a header line, such as to,first_name, and one recipient on each line after it"}
	}
	var parse *csv.ParseError
	if !errors.As(err, &parse) {
		return l.fatal(err)
	}
	raw, line := l.guard.record(l.csv.InputOffset())
	if at, open := openQuote(raw, l.csv.Comma); open {
		return l.guard.unclosed(raw, at, line, "is never closed")
	}
	return &FileError{File: l.name, Line: parse.Line + l.shift, Column: parse.Column, Message: "the header has a quote in the wrong place", Remedy: `quote a whole name or none of it, and write a quote inside as ""`}
}

// Header is the list's own column names, trimmed, in order. The caller must not change it.
func (l *Reader) Header() []string { return l.header.names }

// Column is the column that supplies a field (to, timezone) or a variable: the one that
// Options.Columns maps it to, else the one of that name; -1 if there is none.
func (l *Reader) Column(name string) int {
	if i, ok := l.header.columns[name]; ok {
		return i
	}
	return -1
}

// Dialect is how the list turned out to be written.
func (l *Reader) Dialect() Dialect { return l.dialect }

// Next gives the next row. The error is io.EOF after the last one, else a *FileError: the list
// cannot be read further. A row that is wrong by itself comes with a Fault and no error. The
// row belongs to the caller.
func (l *Reader) Next() (*Row, error) {
	if row := l.first; row != nil {
		l.first = nil
		return row, nil
	}
	if l.err != nil {
		return nil, l.err
	}
	row, err := l.read()
	l.err = err
	return row, err
}

// Close frees the decoder, and the file if Open opened it. Next must not be called after it.
func (l *Reader) Close() error {
	var errs []error
	for _, c := range slices.Backward(l.closers) {
		errs = append(errs, c())
	}
	l.closers = nil
	return errors.Join(errs...)
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
	rec, ok := v.(*record)
	if !ok {
		return nil, l.fatal(fmt.Errorf("gocsv gave a %T", v))
	}
	line, _ := l.csv.FieldPos(0)
	row := &Row{Number: l.number, Line: line + l.shift, To: rec.To, Timezone: rec.Timezone, Cells: make([]string, len(l.keys))}
	broken := -1
	for i, key := range l.keys {
		cell := rest[key]
		switch i {
		case l.header.to:
			cell = rec.To
		case l.header.timezone:
			cell = rec.Timezone
		}
		if broken < 0 && !decoded(cell, l.dialect.Encoding) {
			broken = i
		}
		row.Cells[i] = cell
	}
	if broken >= 0 {
		l.undecodable(row, broken)
		return row, nil
	}
	l.judge(row)
	return row, nil
}

// undecodable faults a row whose cell i is not in the list's encoding. Guessing another encoding for
// one row would put wrong letters into somebody's name.
func (l *Reader) undecodable(row *Row, i int) {
	name := l.header.names[i]
	row.Fault = &Fault{Kind: MalformedRow, Column: name, Message: fmt.Sprintf("line %d, column %s: %s is not %s; save the list as UTF-8, or set recipients.encoding to what it is (windows-1252?)",
		row.Line, shown(name), shown(row.Cells[i]), l.dialect.Encoding)}
	for i, cell := range row.Cells {
		row.Cells[i] = readable(cell)
	}
	row.To, row.Timezone = readable(row.To), readable(row.Timezone)
}

// decoded reports whether a cell came through the encoding whole. What UTF-16 cannot
// decode arrives as U+FFFD; UTF-8 passes as it is.
func decoded(cell, enc string) bool {
	if !utf8.ValidString(cell) {
		return false
	}
	return (enc != UTF16LE && enc != UTF16BE) || !strings.ContainsRune(cell, utf8.RuneError)
}

func (l *Reader) judge(row *Row) {
	to, key, fault := l.phones.Parse(row.To)
	if fault == nil {
		row.To, row.Key = to, key
		return
	}
	fault.Column = l.header.names[l.header.to]
	fault.Message = fmt.Sprintf("line %d, column %s: %s", row.Line, shown(fault.Column), fault.Message)
	row.Fault = fault
}

// count numbers the record that ends at end, and holds the limits of record and list.
func (l *Reader) count(end int64) error {
	if end-l.guard.end > int64(l.limits.Record) { // rare: look whether it is only empty lines
		if raw, line := l.guard.record(end); len(raw) > l.limits.Record {
			return &FileError{File: l.name, Line: line, Message: fmt.Sprintf("the record that begins here is longer than %d KiB", l.limits.Record>>10), Remedy: "shorten its cells, or see whether a quote is missing"}
		}
	}
	if l.number++; l.number > l.limits.Rows {
		return &FileError{File: l.name, Message: fmt.Sprintf("the list has more than %d rows", l.limits.Rows), Remedy: "split it"}
	}
	return nil
}

// malformed turns what csv refused into a row with its cells as a person would read them. An
// unclosed quote alone is fatal: it has swallowed every row after it.
func (l *Reader) malformed(parse *csv.ParseError, end int64) (*Row, error) {
	raw, line := l.guard.record(end)
	if at, open := openQuote(raw, l.csv.Comma); open && errors.Is(parse.Err, csv.ErrQuote) {
		return nil, l.guard.unclosed(raw, at, line, "is never closed")
	}
	if err := l.count(end); err != nil {
		return nil, err
	}
	cells, columns := lenient(raw, l.csv.Comma), len(l.keys)
	where := fmt.Sprintf("line %d", line)
	if last := line + bytes.Count(bytes.TrimRight(raw, "\r\n"), []byte("\n")); last > line {
		where = fmt.Sprintf("lines %d to %d, read as one record", line, last)
	}
	fault := &Fault{Kind: MalformedRow}
	switch {
	case !errors.Is(parse.Err, csv.ErrFieldCount):
		fault.Message = fmt.Sprintf(`%s: a quote stands in the wrong place (line %d, byte %d); quote a whole cell or none of it, and write a quote inside as ""`, where, parse.Line+l.shift, parse.Column)
	case bytes.ContainsRune(bytes.TrimRight(raw, "\r\n"), '\r'):
		fault.Message = fmt.Sprintf("%s: %d cells where the header has %d, and a carriage return without line feed among them; save the list with LF or CRLF line ends", where, len(cells), columns)
	case len(cells) > columns:
		fault.Message = fmt.Sprintf("%s: %d cells where the header has %d; quote a cell that holds the delimiter (%s)", where, len(cells), columns, delimiterName(l.csv.Comma))
	default:
		fault.Message = fmt.Sprintf("%s: %d cells where the header has %d; add the missing ones, empty if need be", where, len(cells), columns)
	}
	row := &Row{Number: l.number, Line: line, Cells: make([]string, columns), Fault: fault}
	for i := range row.Cells[:min(columns, len(cells))] {
		row.Cells[i] = readable(cells[i])
	}
	row.To = row.Cells[l.header.to]
	if l.header.timezone >= 0 {
		row.Timezone = row.Cells[l.header.timezone]
	}
	return row, nil
}

// lenient reads the cells of a broken record.
func lenient(raw []byte, comma rune) []string {
	cr := csv.NewReader(bytes.NewReader(bytes.TrimRight(raw, "\r\n")))
	cr.Comma, cr.LazyQuotes, cr.FieldsPerRecord = comma, true, -1
	cells, err := cr.Read()
	if err != nil {
		return []string{string(raw)}
	}
	return cells
}

// finish tells the guard where the record ended.
func (l *Reader) finish(end int64) { l.guard.end = end }

// fatal gives an error of the source its place.
func (l *Reader) fatal(err error) error {
	var file *FileError
	if errors.As(err, &file) {
		if file.Line == 0 {
			at := *file
			_, at.Line = l.guard.record(l.guard.off + int64(len(l.guard.win)))
			return &at
		}
		return file
	}
	_, line := l.guard.record(l.guard.off + int64(len(l.guard.win)))
	return &FileError{File: l.name, Line: line, Message: "the list cannot be read", Err: err, Remedy: "try again, or copy it anew"}
}
