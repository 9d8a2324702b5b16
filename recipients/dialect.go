package recipients

import (
	"bufio"
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/unicode"
	"golang.org/x/text/transform"
)

// Dialect is how a list is written, as detected or as configured. `check` prints it.
type Dialect struct {
	Delimiter   rune
	Encoding    string // UTF8, UTF16LE, UTF16BE or Windows1252
	Compression string // Gzip, Zstd or ""
	BOM         bool   // the list began with a byte order mark
}

// String is one phrase: "semicolon-separated utf-8 with byte order mark, gzip".
func (d Dialect) String() string {
	s := delimiterName(d.Delimiter) + "-separated " + d.Encoding
	if d.BOM {
		s += " with byte order mark"
	}
	if d.Compression != "" {
		s += ", " + d.Compression
	}
	return s
}

func delimiterName(r rune) string {
	switch r {
	case ',':
		return "comma"
	case ';':
		return "semicolon"
	case '\t':
		return "tab"
	case '|':
		return "pipe"
	}
	return fmt.Sprintf("%q", r)
}

// decode detects the encoding on the first block of plain, unless told says it, and returns the
// list as UTF-8 without its byte order mark. UTF-8 passes through unchecked: the reader checks each
// cell, so that a stray byte costs a row and not the list.
func decode(plain *bufio.Reader, name, told string) (text *bufio.Reader, enc string, bom bool, err error) {
	head, _ := plain.Peek(block)
	if len(head) == 0 {
		// The cause, an error or the end of the list, comes again on reading.
		return plain, UTF8, false, nil
	}
	mark, markLen := markOf(head)
	if told != "" && mark != "" && mark != told {
		return nil, "", false, &FileError{
			File: name, Line: 1,
			Message: "recipients.encoding says " + told + ", but the file begins with the byte order mark of " + mark,
			Remedy:  "leave recipients.encoding out",
		}
	}
	switch enc = told; {
	case enc != "":
	case mark != "":
		enc = mark
	case likelyUTF16(head) != "":
		return nil, "", false, &FileError{
			File: name, Line: 1,
			Message: "the file holds NUL bytes and no byte order mark: it looks like " + likelyUTF16(head),
			Remedy:  "set recipients.encoding: " + likelyUTF16(head) + ", or save it as UTF-8",
		}
	case mostlyUTF8(head):
		enc = UTF8
	default:
		enc = Windows1252
	}
	if _, err := plain.Discard(markLen); err != nil {
		return nil, "", false, err
	}
	var e encoding.Encoding
	switch enc {
	case UTF8:
		return plain, enc, mark != "", nil
	case UTF16LE:
		e = unicode.UTF16(unicode.LittleEndian, unicode.IgnoreBOM)
	case UTF16BE:
		e = unicode.UTF16(unicode.BigEndian, unicode.IgnoreBOM)
	case Windows1252:
		e = charmap.Windows1252
	}
	return bufio.NewReaderSize(transform.NewReader(plain, e.NewDecoder()), block), enc, mark != "", nil
}

func markOf(head []byte) (enc string, length int) {
	switch {
	case bytes.HasPrefix(head, []byte("\xef\xbb\xbf")):
		return UTF8, 3
	case bytes.HasPrefix(head, []byte("\xff\xfe")):
		return UTF16LE, 2
	case bytes.HasPrefix(head, []byte("\xfe\xff")):
		return UTF16BE, 2
	}
	return "", 0
}

// likelyUTF16 recognises UTF-16 without a mark by the NUL in every second byte of its header. The
// list is not decoded on this evidence: the operator must confirm the encoding.
func likelyUTF16(head []byte) string {
	head = head[:min(len(head), 64)]
	var nul [2]int
	for i, b := range head {
		if b == 0 {
			nul[i&1]++
		}
	}
	switch most := len(head) / 4; {
	case len(head) < 4:
		return ""
	case nul[1] > most && nul[0] == 0:
		return UTF16LE
	case nul[0] > most && nul[1] == 0:
		return UTF16BE
	}
	return ""
}

// mostlyUTF8 tells UTF-8 from Windows-1252. One stray byte does not make a list Windows-1252:
// every accented letter would then be sent as two wrong ones. Therefore sequences that only UTF-8
// explains are weighed against stray bytes. Rows with stray bytes are faulted.
func mostlyUTF8(b []byte) bool {
	if utf8.Valid(b) {
		return true
	}
	sequences, stray := 0, 0
	for len(b) > 0 {
		r, n := utf8.DecodeRune(b)
		switch {
		case r == utf8.RuneError && n == 1 && !utf8.FullRune(b):
			b = nil // the end of the sample cuts a rune
			continue
		case r == utf8.RuneError && n == 1:
			stray++
		case n > 1:
			sequences++
		}
		b = b[n:]
	}
	return stray == 0 || sequences > stray
}

// EncodedTwice reports whether a text was written as UTF-8, read as Windows-1252 and written as
// UTF-8 again, as "JÃ¼rgen" was. All of its bytes then are UTF-8 in Windows-1252, which other text
// is not.
func EncodedTwice(s string) bool {
	at := 0
	for at < len(s) && s[at] < utf8.RuneSelf {
		at++
	}
	if at == len(s) {
		return false
	}
	once := make([]byte, 0, len(s))
	for _, r := range s {
		b, known := charmap.Windows1252.EncodeRune(r)
		if !known && r <= 0x9f { // five bytes that Windows-1252 leaves open
			b, known = byte(r), true
		}
		if !known {
			return false
		}
		once = append(once, b)
	}
	return utf8.Valid(once)
}

// sepLine removes Excel's first line, such as `sep=;`, and returns its delimiter; 0 if there is
// none.
func sepLine(text *bufio.Reader) rune {
	head, _ := text.Peek(16)
	line, _, ok := bytes.Cut(head, []byte("\n"))
	if !ok {
		return 0
	}
	size := len(line) + 1
	line = bytes.TrimSuffix(line, []byte("\r"))
	if n := len(line); n >= 2 && line[0] == '"' && line[n-1] == '"' {
		line = line[1 : n-1]
	}
	if len(line) < 5 || !bytes.EqualFold(line[:4], []byte("sep=")) {
		return 0
	}
	r, n := utf8.DecodeRune(line[4:])
	if n != len(line)-4 {
		return 0
	}
	if _, err := delimiterOf(string(r)); err != nil {
		return 0
	}
	if _, err := text.Discard(size); err != nil {
		return 0
	}
	return r
}

// sniffDelimiter reads the first 20 records with each candidate. It takes the candidate with which
// most of them have as many cells as the header, and more than one. A list that no candidate splits
// has one column.
func sniffDelimiter(text *bufio.Reader) rune {
	const records = 20
	head, err := text.Peek(block)
	if err == nil || errors.Is(err, bufio.ErrBufferFull) { // there is more: the last line is cut
		if i := bytes.LastIndexByte(head, '\n'); i >= 0 {
			head = head[:i+1]
		}
	}
	best, bestAgree, bestCells := ',', 0, 0
	for _, c := range []rune{',', ';', '\t', '|'} {
		cr := csv.NewReader(bytes.NewReader(head))
		cr.Comma, cr.LazyQuotes, cr.FieldsPerRecord, cr.ReuseRecord = c, true, -1, true
		agree, cells := 0, 0
		for n := range records {
			rec, err := cr.Read()
			if err != nil {
				break
			}
			if n == 0 {
				cells = len(rec)
			}
			if len(rec) == cells {
				agree++
			}
		}
		if cells > 1 && (agree > bestAgree || agree == bestAgree && cells > bestCells) {
			best, bestAgree, bestCells = c, agree, cells
		}
	}
	return best
}

// isEnd tells the end of a list from every other error. It compares with io.EOF itself, as
// io.Reader demands: an error that wraps io.EOF is a fault.
func isEnd(err error) bool { return err == io.EOF } //nolint:errorlint // see above

// foldName is the form in which column names are compared with the aliases.
func foldName(s string) string {
	return strings.NewReplacer(" ", "", "_", "", "-", "", ".", "", "\u00a0", "", "/", "").Replace(strings.ToLower(s))
}
