package recipients

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"unicode/utf8"
)

// guard stands between the decoded list and encoding/csv, which reads a line of any length and,
// after an unclosed quote, the whole file into one cell. guard keeps the bytes since the last
// finished record. With them
//   - a record longer than the limit stops the list while the memory is still small;
//   - a record that csv refuses can be shown with its cells and its lines;
//   - a NUL byte gets its line and column.
//
// At most limit + block bytes are kept.
type guard struct {
	src   io.Reader
	name  string
	comma rune
	limit int   // bytes of a record
	size  int64 // bytes of the list

	win  []byte // the input since the last finished record, as of the last Read
	off  int64  // input offset of win[0]
	line int    // line of win[0]
	end  int64  // input offset where the last record ended; the Reader sets it after each record
	err  error  // the error that ends the list, once known
}

// Read implements io.Reader. csv calls it when it needs bytes that it has not seen. It has consumed
// all complete lines by then, so the window holds only the pending record.
func (g *guard) Read(p []byte) (int, error) {
	g.drop(int(g.end - g.off))
	g.drop(blank(g.win))
	if len(g.win) > g.limit {
		return 0, g.fail(g.tooLong(g.win))
	}
	if g.err != nil {
		return 0, g.err
	}
	have := len(g.win)
	n := min(len(p), block)
	g.win = slices.Grow(g.win, n)
	n, err := g.src.Read(g.win[have : have+n])
	fresh := g.win[have : have+n]
	if i := bytes.IndexByte(fresh, 0); i >= 0 {
		line, column := g.position(have + i)
		fresh, err = fresh[:i], &FileError{File: g.name, Line: line, Column: column, Message: "the list holds a NUL byte",
			Remedy: "save it again as CSV UTF-8; it may be another kind of file, or UTF-16"}
	}
	g.win = g.win[:have+len(fresh)]
	if g.off+int64(len(g.win)) > g.size {
		err = &FileError{File: g.name, Message: fmt.Sprintf("the list is larger than %d MiB", g.size>>20), Remedy: "split it"}
		fresh = fresh[:0]
	}
	g.err = err
	n = copy(p, fresh)
	if n > 0 {
		return n, nil
	}
	return 0, err
}

func (g *guard) fail(err error) error {
	g.err = err
	return err
}

// drop forgets the first n bytes of the window.
func (g *guard) drop(n int) {
	if n <= 0 {
		return
	}
	g.line += bytes.Count(g.win[:n], []byte("\n"))
	g.off += int64(n)
	g.win = append(g.win[:0], g.win[n:]...)
}

// blank is the length of the empty lines at the beginning of b. csv skips them.
func blank(b []byte) int {
	n := 0
	for {
		switch rest := b[n:]; {
		case len(rest) > 0 && rest[0] == '\n':
			n++
		case len(rest) > 1 && rest[0] == '\r' && rest[1] == '\n':
			n += 2
		default:
			return n
		}
	}
}

// record returns the input between the last finished record and end, without leading empty lines,
// and the line where it begins. The bytes are valid until the next Read.
func (g *guard) record(end int64) (raw []byte, line int) {
	from := max(0, int(g.end-g.off))
	to := min(len(g.win), int(end-g.off))
	raw = g.win[from:max(from, to)]
	from += blank(raw)
	line = g.line + bytes.Count(g.win[:from], []byte("\n"))
	return raw[blank(raw):], line
}

// position returns the line and column of win[i].
func (g *guard) position(i int) (line, column int) {
	before := g.win[:i]
	return g.line + bytes.Count(before, []byte("\n")), i - bytes.LastIndexByte(before, '\n')
}

// tooLong is the error of a record that does not end within the limit. raw begins at the record.
func (g *guard) tooLong(raw []byte) *FileError {
	_, line := g.record(g.off + int64(len(g.win)))
	if at, open := openQuote(raw, g.comma); open {
		return g.unclosed(raw, at, line, fmt.Sprintf("is not closed within %d KiB", g.limit>>10))
	}
	return &FileError{
		File: g.name, Line: line,
		Message: fmt.Sprintf("the record that begins here is longer than %d KiB", g.limit>>10),
		Remedy:  "see whether its line ends are lost, or whether this is a CSV list at all",
	}
}

// unclosed is the error for the quote at raw[at]; raw begins on line.
func (g *guard) unclosed(raw []byte, at, line int, what string) *FileError {
	before := raw[:at]
	return &FileError{
		File: g.name, Line: line + bytes.Count(before, []byte("\n")), Column: at - bytes.LastIndexByte(before, '\n'),
		Message: "the quote opened here " + what,
		Remedy:  `close it, or write a quote that belongs to the text as ""`,
	}
}

// openQuote walks a record as encoding/csv does (RFC 4180, section 2, rules 5 to 7), and reports
// where a quoted cell began that does not end in raw.
func openQuote(raw []byte, comma rune) (at int, open bool) {
	sep := utf8.AppendRune(nil, comma)
	for i := 0; i < len(raw); {
		if raw[i] != '"' { // a plain cell: to the next delimiter, or to the end of the record
			next := bytes.Index(raw[i:], sep)
			if next < 0 || bytes.IndexByte(raw[i:i+next], '\n') >= 0 {
				return 0, false
			}
			i += next + len(sep)
			continue
		}
		at = i
		i++
		for {
			q := bytes.IndexByte(raw[i:], '"')
			if q < 0 {
				return at, true
			}
			i += q + 1
			if i < len(raw) && raw[i] == '"' {
				i++
				continue
			}
			break
		}
		if !bytes.HasPrefix(raw[i:], sep) {
			return 0, false // the record ends, or the quote is in the wrong place: either way it was closed
		}
		i += len(sep)
	}
	return 0, false
}
