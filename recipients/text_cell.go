package recipients

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"strings"
	"unicode/utf8"
)

// textCell is the text of a cell written as ="08031234567". Exports write numbers so, because Excel
// then keeps leading zeros and all digits. Any other cell, also any other formula, stays unchanged.
func textCell(cell string) string {
	inner, ok := strings.CutPrefix(cell, `="`)
	if !ok {
		return cell
	}
	if inner, ok = strings.CutSuffix(inner, `"`); !ok {
		return cell
	}
	text := strings.ReplaceAll(inner, `""`, "\x00") // NUL bytes stop a list, so that no cell has one
	if strings.Contains(text, `"`) {
		return cell
	}
	return strings.ReplaceAll(text, "\x00", `"`)
}

// textCells puts quotes of CSV around cells written as ="text" without them, which encoding/csv
// refuses. Everything else passes unchanged, so lines and cells stay the same. It knows from
// encoding/csv where a cell begins, and where a record goes on after a quote in the wrong place: on
// the next line.
type textCells struct {
	src    *bufio.Reader
	sep    []byte
	limit  int    // bytes of a line; a longer one passes unchanged, and guard ends the list
	quoted bool   // the line begins inside of a quoted cell
	line   []byte // the bytes of the line in work
	out    []byte // what is to be read
	held   []byte // the memory of out
	err    error  // of src
}

// Read implements io.Reader.
func (c *textCells) Read(p []byte) (n int, err error) {
	for n < len(p) && (n == 0 || c.src.Buffered() > 0) {
		if len(c.out) == 0 {
			if c.err != nil {
				break
			}
			if lines := c.plain(len(p) - n); len(lines) > 0 {
				n += copy(p[n:], lines)
				_, c.err = c.src.Discard(len(lines))
				continue
			}
			c.next()
		}
		copied := copy(p[n:], c.out)
		c.out = c.out[copied:]
		n += copied
	}
	if n == 0 {
		return 0, c.err
	}
	return n, nil
}

// plain returns the next whole lines without a quote, at most n bytes of them.
func (c *textCells) plain(n int) []byte {
	if c.quoted {
		return nil
	}
	lines, _ := c.src.Peek(min(n, c.src.Buffered()))
	if quote := bytes.IndexByte(lines, '"'); quote >= 0 {
		lines = lines[:quote]
	}
	return lines[:bytes.LastIndexByte(lines, '\n')+1]
}

// next reads a line, or the part of one that is longer than the limit.
func (c *textCells) next() {
	c.line = c.line[:0]
	for {
		part, err := c.src.ReadSlice('\n')
		if errors.Is(err, bufio.ErrBufferFull) {
			err = nil
		}
		if len(c.line) == 0 && (err != nil || part[len(part)-1] == '\n') {
			c.out, c.err = c.rewrite(part), err // without a copy of the line
			return
		}
		c.line = append(c.line, part...)
		if err != nil || len(c.line) > c.limit || part[len(part)-1] == '\n' {
			c.out, c.err = c.rewrite(c.line), err
			return
		}
	}
}

// rewrite returns the line with quotes around its text cells, and notes whether it ends inside of a
// quoted cell. The result is valid until the next call.
func (c *textCells) rewrite(line []byte) []byte {
	if bytes.IndexByte(line, '"') < 0 {
		return line
	}
	end := len(bytes.TrimRight(line, "\r\n"))
	c.held = c.held[:0]
	copied, at := 0, 0 // line[:copied] is in held; a cell begins at
	for ; ; at += len(c.sep) {
		begin := at
		switch {
		case c.quoted, at < end && line[at] == '"':
			if !c.quoted {
				at++
			}
			next, closed := closing(line[at:end])
			at += next
			if c.quoted = !closed; !closed {
				return c.rest(line, copied)
			}
		case bytes.HasPrefix(line[at:end], []byte(`="`)):
			next, closed := closing(line[at+2 : end])
			at += 2 + next
			if closed && (at == end || bytes.HasPrefix(line[at:end], c.sep)) {
				c.held = append(append(c.held, line[copied:begin]...), '"')
				c.held = append(c.held, bytes.ReplaceAll(line[begin:at], []byte{'"'}, []byte(`""`))...)
				c.held, copied = append(c.held, '"'), at
			}
		default:
			if next := bytes.Index(line[at:end], c.sep); next >= 0 {
				at += next
			} else {
				at = end
			}
			if bytes.IndexByte(line[begin:at], '"') >= 0 {
				return c.rest(line, copied) // csv refuses the record
			}
		}
		if at == end || !bytes.HasPrefix(line[at:end], c.sep) {
			return c.rest(line, copied) // the record ends, or csv refuses it
		}
	}
}

// rest is the rewritten line: what is in held, and line from copied on.
func (c *textCells) rest(line []byte, copied int) []byte {
	if copied == 0 {
		return line
	}
	c.held = append(c.held, line[copied:]...)
	return c.held
}

// closing returns the length of a quoted text with its closing quote; closed is false if it goes on
// after b.
func closing(b []byte) (n int, closed bool) {
	for {
		q := bytes.IndexByte(b[n:], '"')
		if q < 0 {
			return len(b), false
		}
		if n += q + 1; n == len(b) || b[n] != '"' {
			return n, true
		}
		n++
	}
}

// newTextCells reads text, whose cells sep divides.
func newTextCells(text io.Reader, sep rune, limit int) *textCells {
	return &textCells{src: bufio.NewReaderSize(text, block), sep: utf8.AppendRune(nil, sep), limit: limit}
}
