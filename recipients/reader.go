package recipients

import (
	"bufio"
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/gocarina/gocsv"
)

// Reader streams the rows of one list. It is not safe for concurrent use, but several readers may
// run at the same time.
type Reader struct {
	name    string
	dialect Dialect
	limits  Limits
	header  *header
	abroad  Abroad
	remarks int // see Remarks
	phones  *Phones
	guard   *guard
	csv     *csv.Reader
	rows    *gocsv.Unmarshaller
	keys    []string // gocsv's names of the columns, in order
	shift   int      // lines before the first line that csv reads: Options.Skip, or 1 with Excel's sep= line
	number  int64    // of the last record
	ahead   []*Row   // read and not yet returned: at least one by NewReader, and Options.SkipLast
	last    int      // Options.SkipLast
	skipped []*Row   // left out by Options.SkipBelow
	width   int      // cells of each record so far: see padded
	// doubt is the row that padded took first, with the fault that it has if the next record is not
	// padded; nil: there is none, or it is known.
	doubt   *Row
	err     error // the error that ended the list
	closers []func() error
}

// NewReader reads a list from r; errors call it name. It detects the dialect from the first 64 KiB,
// checks the header, and reads the first record: a list without rows is an error. The error is a
// *FileError, or names the option that is wrong.
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
	phones, err := o.Phones()
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

// begin detects the dialect, and reads the header and the first record.
func (l *Reader) begin(plain *bufio.Reader, compression, told string, comma rune, o Options) error {
	text, enc, bom, err := decode(plain, l.name, told)
	if err != nil {
		return err
	}
	l.dialect = Dialect{Delimiter: comma, Encoding: enc, Compression: compression, BOM: bom}
	if sep := sepLine(text); sep != 0 {
		l.shift = 1
		if comma == 0 {
			l.dialect.Delimiter = sep
		}
	}
	if err := l.skipLines(text, o.Skip); err != nil {
		return err
	}
	if l.dialect.Delimiter == 0 {
		l.dialect.Delimiter = sniffDelimiter(text)
	}
	head, _ := text.Peek(block)
	head = bytes.Clone(head) // only an error of the header needs it, and the buffer is used again
	l.guard = &guard{src: newTextCells(text, l.dialect.Delimiter, l.limits.Record), name: l.name, comma: l.dialect.Delimiter,
		limit: l.limits.Record, size: l.limits.Size, line: 1 + l.shift}
	l.csv = csv.NewReader(bufio.NewReaderSize(l.guard, block))
	l.csv.Comma = l.dialect.Delimiter
	l.csv.ReuseRecord = true // gocsv copies the strings
	// FieldsPerRecord stays 0, "as many as the header". With -1, gocsv panics on a longer row.

	l.rows, err = gocsv.NewUnmarshaller(l.csv, &record{})
	if err != nil {
		return l.below(l.headerError(err), head, comma, o)
	}
	_, line := l.guard.record(l.csv.InputOffset())
	if l.header, err = readHeader(l.rows.Headers, l.name, line, o); err != nil {
		return l.below(err, head, comma, o)
	}
	if i := likelyCountry(l.header.names); l.header.country < 0 && i >= 0 && !o.HideNames {
		l.abroad = Abroad{Column: l.header.names[i], unmapped: i}
		l.phones.remedy = "write + and the country code, map the country with recipients.columns: {country: " + YAMLText(l.header.names[i]) +
			"}, or set recipients.default_region if the whole list is of one country"
	}
	l.keys = l.header.keys()
	if err := l.rows.RenormalizeHeaders(func([]string) []string { return l.keys }); err != nil {
		return &FileError{File: l.name, Line: line, Message: "the header cannot be mapped", Err: err}
	}
	l.finish(l.csv.InputOffset())

	l.last = max(o.SkipLast, 0)
	for range o.SkipBelow {
		var row *Row
		if row, l.err = l.read(); l.err != nil {
			break
		}
		l.skipped = append(l.skipped, row)
	}
	l.number, l.width, l.doubt = 0, 0, nil
	if l.fill(); len(l.ahead) <= l.last && isEnd(l.err) {
		return &FileError{
			File: l.name, Line: line,
			Message: "the list has a header and no rows",
			Remedy:  "put one recipient on each line after it",
		}
	}
	return nil // Next returns any other error
}

// below adds to an error of the header the line that looks like it, if there is one below.
func (l *Reader) below(err error, head []byte, comma rune, o Options) error {
	var f *FileError
	if at := likelyHeader(head, comma, o); at > 0 && errors.As(err, &f) {
		f.Skip = l.shift + at - 1
		f.Remedy = fmt.Sprintf("line %d looks like the header: set recipients.skip: %d", l.shift+at, f.Skip)
	}
	return err
}

// fill reads ahead until it is known that a row is none of the last that are left out, and whether
// it is padded.
func (l *Reader) fill() {
	for l.err == nil && (len(l.ahead) <= l.last || l.doubt != nil) {
		doubt := l.doubt
		var row *Row
		if row, l.err = l.read(); l.err != nil {
			return
		}
		if doubt != nil {
			if l.width == len(l.keys) {
				l.ahead[len(l.ahead)-1] = doubt
			}
			l.doubt = nil
		}
		l.ahead = append(l.ahead, row)
	}
}

func (l *Reader) headerError(err error) error {
	if isEnd(err) {
		return emptyList(l.name)
	}
	var parse *csv.ParseError
	if !errors.As(err, &parse) {
		return l.fatal(err)
	}
	raw, line := l.guard.record(l.csv.InputOffset())
	if at, open := openQuote(raw, l.csv.Comma); open {
		return l.guard.unclosed(raw, at, line, "is never closed")
	}
	return &FileError{
		File: l.name, Line: parse.Line + l.shift, Column: parse.Column,
		Message: "the header has a quote in the wrong place",
		Remedy:  `quote a whole name or none of it, and write a quote inside as ""`,
	}
}

// Header returns the list's own column names, trimmed and in order. The caller must not change it.
func (l *Reader) Header() []string { return l.header.names }

// Column returns the column of a field (to, country, timezone) or a variable: the first one that
// Options.Columns maps it to, else the one with that name; -1 if there is none or if several
// columns have it.
func (l *Reader) Column(name string) int {
	if i, ok := l.header.columns[name]; ok {
		return i
	}
	return -1
}

// Abroad are the rows whose number was read as one of the default region although a column that is
// not read seems to name another country.
type Abroad struct {
	Column   string // "" if the list has no such column
	Country  string // the cell of the first such row
	Line     int    // of the first such row
	Rows     int64
	unmapped int // index of Column
}

// Abroad returns the rows of this kind that were read so far.
func (l *Reader) Abroad() Abroad { return l.abroad }

// Homeless returns the numbers without + and without a country that were read so far.
func (l *Reader) Homeless() Homeless { return l.phones.homeless }

// WhatsApp returns a column that is named after WhatsApp and not read, beside the column that is
// read for the phone because of its name; "" for none, or if Options.Columns names the phone.
func (l *Reader) WhatsApp() (unread, read string) {
	for _, i := range l.header.unread {
		if !l.header.mapped && hasWord(words(l.header.names[i]), whatsAppWords) {
			return l.header.names[i], l.header.names[l.header.to]
		}
	}
	return "", ""
}

// Remarks returns how many of the records that Next returned last are no recipients, such as totals
// or a line that says who made the export.
func (l *Reader) Remarks() int { return l.remarks }

// Dialect returns how the list is written.
func (l *Reader) Dialect() Dialect { return l.dialect }

// Next returns the next row. The error is io.EOF after the last one, else a *FileError: the list
// cannot be read further. A row with a fault of its own comes without an error. The row belongs to
// the caller.
func (l *Reader) Next() (*Row, error) {
	l.fill()
	if len(l.ahead) <= l.last {
		return nil, l.err
	}
	row := l.ahead[0]
	if l.remarks++; !remark(row) {
		l.remarks = 0
	}
	l.ahead = l.ahead[:copy(l.ahead, l.ahead[1:])]
	return row, nil
}

// Close frees the decoder, and closes the file if Open opened it. Next must not be called
// afterwards.
func (l *Reader) Close() error {
	var errs []error
	for _, c := range slices.Backward(l.closers) {
		errs = append(errs, c())
	}
	l.closers = nil
	return errors.Join(errs...)
}

// finish tells the guard where the record ended.
func (l *Reader) finish(end int64) { l.guard.end = end }

// fatal is the error of a source, with the file and the line.
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
