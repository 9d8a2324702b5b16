package recipients

import (
	"bytes"
	"encoding/csv"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

func fitsItsHeader(t *testing.T, h *Head) {
	t.Helper()
	if h.To != "" && !slices.Contains(h.Header, h.To) || len(h.Rows) > 20 {
		t.Fatalf("got the column %q of %q with %d rows, want one of them and at most 20", h.To, h.Header, len(h.Rows))
	}
	for _, row := range h.Rows {
		if len(row.Cells) != len(h.Header) || row.Line <= h.Skip {
			t.Fatalf("got %d cells on line %d, want %d below line %d", len(row.Cells), row.Line, len(h.Header), h.Skip)
		}
	}
}

// FuzzReader reads any bytes without a panic. The memory kept is bounded. Rows are numbered without
// a gap, fit the header, and are either sendable or faulted. encoding/csv alone finds the same
// number of records.
func FuzzReader(f *testing.F) {
	lists, err := filepath.Glob("../testdata/lists/*.*")
	if err != nil {
		f.Fatal(err)
	}
	for _, path := range lists {
		b, err := os.ReadFile(path)
		if err != nil {
			f.Fatal(err)
		}
		if len(b) < 4<<10 {
			f.Add(b, "", "", "")
			f.Add(b, ";", "windows-1252", "DE")
		}
	}
	f.Fuzz(func(t *testing.T, list []byte, delimiter, encoding, region string) {
		const limit = 2 << 10
		o := Options{Delimiter: delimiter, Encoding: encoding, DefaultRegion: region, Limits: Limits{Record: limit, Columns: 20}}
		if h, err := ReadHead(bytes.NewReader(list), "list.csv", o, 20); err == nil {
			fitsItsHeader(t, &h)
		}
		r, err := NewReader(bytes.NewReader(list), "list.csv", o)
		if err != nil {
			return
		}
		defer r.Close()
		rows, line := int64(0), 0
		for {
			row, err := r.Next()
			if kept := len(r.guard.win); kept > limit+block {
				t.Fatalf("%d bytes kept, want at most %d", kept, limit+block)
			}
			if err != nil {
				var file *FileError
				if err != io.EOF && !errors.As(err, &file) {
					t.Fatalf("got %T %v, want io.EOF or a *FileError", err, err)
				}
				if err == io.EOF {
					sameCount(t, r, list, rows)
				}
				return
			}
			rows++
			if row.Number != rows || row.Line <= line || len(row.Cells) != len(r.Header()) {
				t.Fatalf("row %d on line %d with %d cells, want row %d on a line after %d with %d cells",
					row.Number, row.Line, len(row.Cells), rows, line, len(r.Header()))
			}
			line = row.Line
			if (row.Fault == nil) != (row.Key != 0) || row.Fault == nil && (row.To[0] != '+' || Key(row.To) != row.Key) {
				t.Fatalf("row = %+v, fault %+v, want either a fault or a number with its key", row, row.Fault)
			}
			if row.Fault != nil && (row.Fault.Message == "" || strings.ContainsAny(row.Fault.Message, "\n\r")) {
				t.Fatalf("fault = %+v, want a message of one line", row.Fault)
			}
			for _, cell := range row.Cells {
				if !utf8.ValidString(cell) || strings.ContainsRune(cell, 0) {
					t.Fatalf("cell = %q, want UTF-8 without NUL", cell)
				}
			}
		}
	})
}

// sameCount reads the list again with encoding/csv alone, if it is plain UTF-8.
func sameCount(t *testing.T, r *Reader, list []byte, rows int64) {
	if r.dialect.Encoding != UTF8 || r.dialect.Compression != "" {
		return
	}
	list = bytes.TrimPrefix(list, []byte("\xef\xbb\xbf"))
	if r.shift > 0 {
		_, list, _ = bytes.Cut(list, []byte("\n"))
	}
	cr := csv.NewReader(bytes.NewReader(list))
	cr.Comma, cr.FieldsPerRecord = r.dialect.Delimiter, -1
	n := int64(-1) // the header
	for {
		if _, err := cr.Read(); err == io.EOF {
			break
		}
		n++
	}
	if n != rows {
		t.Fatalf("%d rows, want the %d records of encoding/csv", rows, n)
	}
}
