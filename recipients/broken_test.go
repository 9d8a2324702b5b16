package recipients

import (
	"errors"
	"io"
	"slices"
	"testing"

	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/unicode"
)

var errBroken = errors.New("input/output error")

// broken is a source that fails after its text, again and again; with once, it fails once and then
// says that it is at its end.
type broken struct {
	text      string
	withBytes bool // the error comes with the last bytes
	once      bool
	failed    bool
}

func (b *broken) Read(p []byte) (int, error) {
	n := copy(p, b.text)
	b.text = b.text[n:]
	switch {
	case b.text != "" || n > 0 && !b.withBytes:
		return n, nil
	case b.failed && b.once:
		return n, io.EOF
	}
	b.failed = true
	return n, errBroken
}

// A list that cannot be read to its end is never taken for a shorter one, wherever its source
// fails. Its last row is never taken for complete: a number that was cut is another person's.
func TestAListThatBreaksOffIsNeverAShorterList(t *testing.T) {
	const list = "to,name\r\n+12025550101,Zo\u00eb\n+12025550102,\"a\nb\"\n+12025550103,\u00e9\n"
	lines := []int{1, 2, 3, 5, 6} // the header, each row, the end
	for name, encode := range map[string]func() (string, error){
		UTF8:        func() (string, error) { return list, nil },
		Windows1252: func() (string, error) { return charmap.Windows1252.NewEncoder().String(list) },
		UTF16LE: func() (string, error) {
			return unicode.UTF16(unicode.LittleEndian, unicode.UseBOM).NewEncoder().String(list)
		},
		UTF16BE: func() (string, error) {
			return unicode.UTF16(unicode.BigEndian, unicode.UseBOM).NewEncoder().String(list)
		},
	} {
		for _, compression := range []string{"", Gzip, Zstd} {
			text, err := encode()
			if err != nil {
				t.Fatal(err)
			}
			if compression != "" {
				text = packed(t, compression, text)
			}
			for n := range len(text) + 1 {
				for _, source := range []*broken{{text: text[:n]}, {text: text[:n], withBytes: true, once: true}} {
					o := Options{Encoding: name, Validate: ValidateNone}
					if name == UTF16LE || name == UTF16BE {
						o.Encoding = "" // the byte order mark says it
					}
					rows, r, err := all(source, o)
					var file *FileError
					if !errors.Is(err, errBroken) || !errors.As(err, &file) || file.File != "list.csv" || file.Remedy == "" {
						t.Fatalf("%s %s, %d of %d bytes: %d rows and %v, want a FileError of %v", name, compression, n, len(text), len(rows), err, errBroken)
					}
					for i, row := range rows {
						if row.Fault != nil || row.Line != lines[i+1] || row.Key != 12025550101+int64(i) {
							t.Errorf("%s %s, %d of %d bytes: row %d is %+v, want the list's own, whole", name, compression, n, len(text), i+1, row)
						}
					}
					want := lines[0]
					if r != nil {
						want = lines[len(rows)+1]
					} else if file.Line == 0 && compression != "" {
						want = 0 // nothing was unpacked
					}
					if file.Line != want {
						t.Errorf("%s %s, %d of %d bytes: %v is of line %d, want line %d, after %d rows",
							name, compression, n, len(text), err, file.Line, want, len(rows))
					}
				}
			}
		}
	}
}

// Close closes everything that is open, the last opened first, and reports every failure once.
func TestCloseClosesAllAndTellsOfEachFailure(t *testing.T) {
	r, err := NewReader(&broken{text: "to\n+12025550101\n", withBytes: true, once: true, failed: true}, "list.csv", Options{})
	if err != nil {
		t.Fatal(err)
	}
	var closed []int
	other := errors.New("no space left")
	for i, err := range []error{errBroken, nil, other} {
		r.closers = append(r.closers, func() error { closed = append(closed, i); return err })
	}
	if err := r.Close(); !errors.Is(err, errBroken) || !errors.Is(err, other) {
		t.Errorf("Close: %v, want both %v and %v", err, errBroken, other)
	}
	if want := []int{2, 1, 0}; !slices.Equal(closed, want) {
		t.Errorf("closed in the order %v, want %v", closed, want)
	}
	if err := r.Close(); err != nil || len(closed) != 3 {
		t.Errorf("second Close: %v after %d calls, want no error and no more calls than 3", err, len(closed))
	}
}
