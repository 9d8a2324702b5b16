package recipients

import (
	"bufio"
	"bytes"
	"fmt"
	"io"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

// block is the unit in which everything below encoding/csv reads. It is also how much of the list
// is read to detect its dialect.
const block = 64 << 10

// foreign lists the beginnings of other files, so that the error names the kind of file instead of
// a missing column.
var foreign = []struct{ magic, name, remedy string }{
	{"PK\x03\x04", "an Excel workbook or a zip archive", "save the sheet as CSV UTF-8, or unpack the archive"},
	{"\xd0\xcf\x11\xe0", "an old Excel workbook", "save the sheet as CSV UTF-8"},
	{"%PDF", "a PDF", "export the list as CSV"},
	{"BZh", "a bzip2 archive", "compress the list with gzip or zstd, or not at all"},
	{"\xfd7zXZ", "an xz archive", "compress the list with gzip or zstd, or not at all"},
	{"7z\xbc\xaf", "a 7-Zip archive", "compress the list with gzip or zstd, or not at all"},
	{"SQLite format 3", "an SQLite database", "export the list as CSV"},
	{"PAR1", "a Parquet file", "export the list as CSV"},
}

// The compressions that are unpacked.
const (
	Gzip = "gzip"
	Zstd = "zstd"
)

// unpack detects compression by its magic number (RFC 1952, section 2.3.1; RFC 8878, section
// 3.1.1), not by the file name, and returns the plain bytes. close frees the decoder.
func unpack(raw *bufio.Reader, name string, l Limits) (plain *bufio.Reader, compression string, close func(), err error) {
	compression = magicOf(raw)
	in := &counted{r: raw}
	close = func() {}
	var dec io.Reader
	switch compression {
	case "":
		return raw, "", close, foreignFile(raw, name, "")
	case Gzip:
		if dec, err = gzip.NewReader(in); err != nil {
			return nil, compression, close, damaged(name, compression, err)
		}
	case Zstd:
		// The decoder starts no goroutine. zstd -19 needs a window of at most 8 MiB; --long=27 (128 MiB)
		// and above is refused.
		z, err := zstd.NewReader(in, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxWindow(32<<20))
		if err != nil {
			return nil, compression, close, damaged(name, compression, err)
		}
		dec, close = z, z.Close
	}
	plain = bufio.NewReaderSize(&expanded{dec: dec, in: in, name: name, kind: compression, ratio: l.Ratio}, block)
	if inner := magicOf(plain); inner != "" {
		close()
		return nil, compression, func() {},
			&FileError{File: name, Message: "the list is compressed twice (" + inner + " inside " + compression + ")", Remedy: "compress it once"}
	}
	if err := foreignFile(plain, name, " inside "+compression); err != nil {
		close()
		return nil, compression, func() {}, err
	}
	return plain, compression, close, nil
}

func magicOf(r *bufio.Reader) string {
	switch head, _ := r.Peek(4); {
	case bytes.HasPrefix(head, []byte{0x1f, 0x8b}):
		return Gzip
	case bytes.HasPrefix(head, []byte{0x28, 0xb5, 0x2f, 0xfd}):
		return Zstd
	}
	return ""
}

func foreignFile(r *bufio.Reader, name, where string) error {
	head, _ := r.Peek(16)
	for _, f := range foreign {
		if bytes.HasPrefix(head, []byte(f.magic)) {
			return &FileError{File: name, Message: "this is " + f.name + where + ", not a CSV list", Remedy: f.remedy}
		}
	}
	return nil
}

func damaged(name, kind string, err error) error {
	return &FileError{File: name, Message: "the " + kind + " file is cut off or damaged", Err: err, Remedy: "upload it again"}
}

// source keeps the first error of its reader. A bufio.Reader returns an error once, possibly while
// looking ahead; a reader that then returns io.EOF would turn a broken list into a shorter one.
type source struct {
	r   io.Reader
	err error
}

func (s *source) Read(p []byte) (int, error) {
	if s.err != nil {
		return 0, s.err
	}
	n, err := s.r.Read(p)
	s.err = err
	return n, err
}

// counted counts the bytes read: the compressed side of the ratio.
type counted struct {
	r io.Reader
	n int64
}

func (c *counted) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.n += int64(n)
	return n, err
}

// expanded is the plain side of a decoder. It stops a compression bomb after the first MiB
// (docs/protocol.md#untrusted-input). It keeps its error and returns it on every further read.
type expanded struct {
	dec   io.Reader
	in    *counted
	name  string
	kind  string
	ratio float64 // plain bytes per compressed byte
	out   int64   // plain bytes so far
	err   error
}

func (e *expanded) Read(p []byte) (int, error) {
	if e.err != nil {
		return 0, e.err
	}
	n, err := e.dec.Read(p)
	e.out += int64(n)
	if e.out > 1<<20 && float64(e.out) > e.ratio*float64(e.in.n) {
		e.err = &FileError{File: e.name, Message: fmt.Sprintf("the %s file expands more than %g-fold",
			e.kind, e.ratio), Remedy: "upload the list uncompressed if it really is that repetitive"}
		return 0, e.err
	}
	if err != nil && !isEnd(err) {
		err = damaged(e.name, e.kind, err)
	}
	e.err = err
	return n, err
}
