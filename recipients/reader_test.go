package recipients

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
	"golang.org/x/text/encoding/unicode"
	"pgregory.net/rapid"

	"campaignd/internal/spreadsheet"
)

// all reads a list to its end.
func all(in io.Reader, o Options) ([]*Row, *Reader, error) {
	r, err := NewReader(in, "list.csv", o)
	if err != nil {
		return nil, nil, err
	}
	defer r.Close()
	var rows []*Row
	for {
		row, err := r.Next()
		if err == io.EOF {
			return rows, r, nil
		}
		if err != nil {
			return rows, r, err
		}
		rows = append(rows, row)
	}
}

func TestListsThatCannotBeReadSayWhyAndWhatToDo(t *testing.T) {
	utf16 := func(order unicode.Endianness, s string) string {
		out, err := unicode.UTF16(order, unicode.IgnoreBOM).NewEncoder().String(s)
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	tests := []struct {
		name, list string
		o          Options
		want       string // in the error
	}{
		{"empty", "", Options{}, "list.csv: the list is empty; give it a header line"},
		{"mark alone", "\xef\xbb\xbf", Options{}, "the list is empty"},
		{"empty lines", "\n\r\n\n", Options{}, "the list is empty"},
		{"header without name", "\"\"\n+1\n", Options{}, "list.csv:1: the header has no column names"},
		{"quote in the header", "to,na\"me\n", Options{}, "list.csv:1:6: the header has a quote in the wrong place"},
		{"open quote in the header", "to,\"name\n+49,x\n", Options{}, "list.csv:1:4: the quote opened here is never closed"},
		{"header after empty lines", "\n\nname\nx\n", Options{}, "list.csv:3: no column holds the phone number"},
		{"header of another encoding", "to,\xfcber\n+1,2\n", Options{Encoding: "utf8"}, "the name of column 2 is not UTF-8"},
		{"control character", "to,na\x1bme\n", Options{}, "control character"},
		{"mapped column missing", "Phone,Name\n+1,x\n", Options{Columns: map[string]Names{"to": {"phone"}}}, "did you mean {to: Phone}?"},
		{"mapped column of a list without header", "+2348031234567,Ada\n", Options{Columns: map[string]Names{"to": {"phone"}}},
			"the first line holds a phone number, so the list has no header"},
		{"mapped variable missing", "to,firstname\n+1,x\n", Options{Columns: map[string]Names{"name": {"first_nam"}}},
			`maps "name" to column "first_nam", which is not in the list; its columns are "to", "firstname"; did you mean {name: firstname}?`},
		{"nothing is near", "to,x\n+1,x\n", Options{Columns: map[string]Names{"name": {"Geburtsdatum"}}}, "map it to one of them"},
		{"one column twice", "to,x\n+1,x\n", Options{Columns: map[string]Names{"timezone": {"to"}}}, "same column"},
		{"too many columns", strings.Repeat("a,", 300) + "to\n", Options{}, "the header has 301 columns, more than 200"},
		{"too many rows", "to\n+1\n+2\n+3\n", Options{Limits: Limits{Rows: 2}}, "more than 2 rows"},
		{"too large", "to\n" + strings.Repeat("+2348031234567\n", 200_000), Options{Limits: Limits{Size: 1 << 20}},
			"the list is larger than 1 MiB"},
		{"long record in one block", "to,x\n+1," + strings.Repeat("x", 5000) + "\n", Options{Limits: Limits{Record: 4096}},
			"list.csv:2: the record that begins here is longer than 4 KiB"},
		{"endless quote", "to,x\n+1,a\n+1,\"b\n" + strings.Repeat("+1,a\n", 300_000), Options{},
			"list.csv:3:4: the quote opened here is not closed within 1024 KiB"},
		{"later quote of a record", "to,x,y\n+1,\"a\nb\",\"c\n+1,b,c\n", Options{}, "list.csv:3:4: the quote opened here is never closed"},
		{"UTF-16 without mark", utf16(unicode.LittleEndian, "to,name\n+491,x\n"), Options{},
			"it looks like utf-16le; set recipients.encoding: utf-16le"},
		{"big-endian without mark", utf16(unicode.BigEndian, "to,name\n+491,x\n"), Options{}, "looks like utf-16be"},
		{"mark against option", "\xff\xfet\x00o\x00", Options{Encoding: "utf-8"},
			"begins with the byte order mark of utf-16le; leave recipients.encoding out"},
		{"old workbook", "\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", Options{}, "an old Excel workbook"},
		{"damaged gzip", "\x1f\x8b\x08\x00garbage", Options{}, "the gzip file is cut off or damaged"},
		{"damaged zstd", "\x28\xb5\x2f\xfdgarbage", Options{}, "the zstd file is cut off or damaged"},
		{"unknown delimiter", "to\n", Options{Delimiter: "colon"}, `recipients.delimiter: "colon" cannot separate cells`},
		{"digit as delimiter", "to\n", Options{Delimiter: "4"}, "recipients.delimiter"},
		{"unknown encoding", "to\n", Options{Encoding: "ebcdic"}, "recipients.encoding"},
		{"unknown level", "to\n", Options{Validate: "strict"}, "recipients.validate"},
		{"unknown region", "to\n", Options{DefaultRegion: "XX"}, "recipients.default_region"},
		{"the United Kingdom", "to\n", Options{DefaultRegion: "UK"}, "the United Kingdom is GB"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, _, err := all(strings.NewReader(tt.list), tt.o)
			if err == nil {
				t.Fatalf("read to the end, want an error with %q", tt.want)
			}
			if !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got  %v\nwant %s", err, tt.want)
			}
			if strings.Contains(err.Error(), "\n") {
				t.Errorf("got an error of several lines: %q, want one line", err)
			}
		})
	}
}

func TestDialectsAreFound(t *testing.T) {
	tests := []struct {
		name, list string
		o          Options
		want       string
		cells      []string
	}{
		{"tab", "to\tx\n+12025550123\ta,b\n", Options{}, "tab-separated utf-8", []string{"+12025550123", "a,b"}},
		{"more commas than semicolons", "to;x\n+12025550123;a,b,c\n+12025550124;d,e,f\n", Options{}, "semicolon-separated utf-8",
			[]string{"+12025550123", "a,b,c"}},
		{"delimiters inside quotes", "\"to;1;2\",phone\n\"a;b;c\",+12025550123\n", Options{}, "comma-separated utf-8",
			[]string{"a;b;c", "+12025550123"}},
		{"a caret", "to^x\n+12025550123^a\n", Options{Delimiter: "^"}, "'^'-separated utf-8", []string{"+12025550123", "a"}},
		{"explicit wins over sep=", "sep=;\nto,x;y\n+12025550123,a\n", Options{Delimiter: "comma"}, "comma-separated utf-8",
			[]string{"+12025550123", "a"}},
		{"quoted sep=", "\"sep=|\"\nto|x\n+12025550123|a\n", Options{}, "pipe-separated utf-8", []string{"+12025550123", "a"}},
		{"UTF-16 as told, no mark", "t\x00o\x00\n\x00+\x001\x002\x000\x002\x005\x005\x005\x000\x001\x002\x003\x00\n\x00",
			Options{Encoding: "UTF-16LE"}, "comma-separated utf-16le", []string{"+12025550123"}},
		{"one stray byte in UTF-8", "to,x\n+12025550123,J\u00fcrgen\n+12025550123,Zo\u00eb\n+12025550124,J\xf6rg\n", Options{},
			"comma-separated utf-8", []string{"+12025550123", "J\u00fcrgen"}},
		{"latin1 is Windows-1252", "to,x\n+12025550123,\x80\n", Options{Encoding: "latin1"}, "comma-separated windows-1252",
			[]string{"+12025550123", "\u20ac"}},
		{"empty lines before the header", "\n\nto,x\r\n\r\n+12025550123,a\r\n", Options{}, "comma-separated utf-8",
			[]string{"+12025550123", "a"}},
		{"cells keep their blanks", "to,x\n  +12025550123 , a \n", Options{}, "comma-separated utf-8", []string{"  +12025550123 ", " a "}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			rows, r, err := all(strings.NewReader(tt.list), tt.o)
			if err != nil {
				t.Fatal(err)
			}
			if got := r.Dialect().String(); !strings.HasPrefix(got, tt.want) {
				t.Errorf("dialect %q, want %q", got, tt.want)
			}
			if diff := cmp.Diff(tt.cells, rows[0].Cells); diff != "" {
				t.Errorf("cells -want +got:\n%s", diff)
			}
			if rows[0].Fault != nil || rows[0].To != "+12025550123" {
				t.Errorf("row %+v, fault %v; want +12025550123 without a fault", rows[0], rows[0].Fault)
			}
		})
	}
}

// gocsv also matches a struct field by a name with blanks or zero-width characters around it, so
// the reader must not pass the list's names on.
func TestOnlyTheMappedColumnIsThePhone(t *testing.T) {
	const list = "to,to ,To\u200b,phone,timezone,tz,name\n1,2,3,+12025550123,a,b,Ada\n"
	_, _, err := all(strings.NewReader(list), Options{})
	if err == nil || !strings.Contains(err.Error(), `columns 1 and 2 are both called "to"`) {
		t.Fatalf("names that differ by a blank: got %v, want columns 1 and 2 named as equal", err)
	}
	mapped, _, err := all(strings.NewReader(list), Options{Columns: map[string]Names{"to": {"phone"}}})
	if err != nil || len(mapped) != 1 || mapped[0].To != "+12025550123" {
		t.Fatalf("got %d rows, %v, want the one row with the number of column phone", len(mapped), err)
	}
	rows, r, err := all(strings.NewReader("to,TO,phone,timezone,tz,name\n1,2,+12025550123,a,b,Ada\n"),
		Options{Columns: map[string]Names{"to": {"phone"}, "timezone": {"tz"}, "first_name": {"name"}}})
	if err != nil {
		t.Fatal(err)
	}
	row := rows[0]
	if row.To != "+12025550123" || row.Key != 12025550123 || row.Timezone != "b" {
		t.Errorf("row = %+v, want +12025550123 in time zone b", row)
	}
	if diff := cmp.Diff([]string{"1", "2", "+12025550123", "a", "b", "Ada"}, row.Cells); diff != "" {
		t.Errorf("cells -want +got:\n%s", diff)
	}
	for name, want := range map[string]int{"to": 2, "timezone": 4, "first_name": 5, "name": 5, "TO": 1, "absent": -1} {
		if got := r.Column(name); got != want {
			t.Errorf("Column(%q) = %d, want %d", name, got, want)
		}
	}
}

func TestALaterRowInAnotherEncodingIsFaultedNotGuessed(t *testing.T) {
	list := "to,name\n" + strings.Repeat("+12025550123,Ada\n", 5000) + "+12025550123,J\xf6rg\n+12025550124,Bob\n"
	rows, _, err := all(strings.NewReader(list), Options{})
	if err != nil {
		t.Fatal(err)
	}
	bad := rows[5000]
	if bad.Fault == nil || bad.Fault.Kind != MalformedRow || bad.Fault.Column != "name" || bad.Line != 5002 ||
		bad.Cells[1] != "J\ufffdrg" || bad.Key != 0 {
		t.Errorf("row = %+v, fault %+v, want line 5002 malformed in column name", bad, bad.Fault)
	}
	if rows[5001].Fault != nil {
		t.Errorf("the next row: fault %v, want none", rows[5001].Fault)
	}
}

func TestErrorsStayTheSame(t *testing.T) {
	r, err := NewReader(strings.NewReader("to\n+12025550123\n\"x\n"), "list.csv", Options{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.Next(); err != nil {
		t.Fatal(err)
	}
	_, first := r.Next()
	_, second := r.Next()
	var file *FileError
	if !errors.As(first, &file) || first != second || file.Line != 3 {
		t.Errorf("%v, then %v; want the same FileError of line 3 twice", first, second)
	}
}

func TestOpenNamesTheFileAndTheRemedy(t *testing.T) {
	dir := t.TempDir()
	empty := filepath.Join(dir, "empty.csv")
	if err := os.WriteFile(empty, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		"":                             "no list was given",
		dir:                            "this is a folder",
		empty:                          "the list is empty",
		filepath.Join(dir, "none.csv"): "there is no such file; check the path",
		os.DevNull:                     "not a regular file",
	} {
		_, err := Open(path, Options{})
		var file *FileError
		if !errors.As(err, &file) || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), path) {
			t.Errorf("Open(%q): %v, want a FileError with the path and %q", path, err, want)
		}
		if _, _, hashErr := Hash(path); hashErr == nil || hashErr.Error() != err.Error() {
			t.Errorf("Hash(%q): got %v, want the error of Open, %v", path, hashErr, err)
		}
	}
	good := filepath.Join(dir, "good.csv")
	if err := os.WriteFile(good, []byte("to\n+12025550123\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	sum, size, err := Hash(good)
	if want := fmt.Sprintf("%x", sha256.Sum256([]byte("to\n+12025550123\n"))); err != nil || size != 16 || sum != want {
		t.Errorf("Hash: got %s, %d, %v; want %s, 16", sum, size, err, want)
	}
	for path, cause := range map[string]string{filepath.Join(good, "x.csv"): "not a directory",
		filepath.Join(dir, strings.Repeat("x", 300)): "file name too long"} {
		want := path + ": the list cannot be opened: " + cause + "; check its path and permissions"
		if _, err := Open(path, Options{}); err == nil || err.Error() != want {
			t.Errorf("got  %v\nwant %s", err, want)
		}
	}
	r, err := Open(good, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Close(); err != nil {
		t.Errorf("Close: got %v, want nil", err)
	}
	if err := r.Close(); err != nil {
		t.Errorf("second Close: got %v, want nil", err)
	}
}

// Settings of gocsv are global to a process; the reader uses none of them.
func TestReadersOfDifferentDialectsRunAtOnce(t *testing.T) {
	var wg sync.WaitGroup
	for _, d := range []string{",", ";", "\t", "|"} {
		for range 2 {
			wg.Go(func() {
				var b strings.Builder
				b.WriteString("to" + d + "x\n")
				for i := range 2000 {
					fmt.Fprintf(&b, "+120255501%02d%s%d\n", i%100, d, i)
				}
				rows, _, err := all(strings.NewReader(b.String()), Options{})
				if err != nil || len(rows) != 2000 || rows[1999].Cells[1] != "1999" || rows[7].Fault != nil {
					t.Errorf("%q: %d rows, %v; want 2000 good ones", d, len(rows), err)
				}
			})
		}
	}
	wg.Wait()
}

// Cells arrive as they were written, in every dialect.
func TestCellsSurviveEveryDialect(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		delimiter := rapid.SampledFrom([]string{",", ";", "\t", "|"}).Draw(t, "delimiter")
		encode := rapid.SampledFrom([]string{UTF8, UTF16LE, UTF16BE}).Draw(t, "encoding")
		eol := rapid.SampledFrom([]string{"\n", "\r\n"}).Draw(t, "eol")
		pack := rapid.SampledFrom([]string{"", Gzip, Zstd}).Draw(t, "compression")
		// Two columns of text beside the phone. NUL and carriage return are not text.
		cell := rapid.StringOfN(rapid.RuneFrom([]rune("aZ\u00e9\u4e16\U0001F600 \",;|\t\n'=+-")), 0, 12, -1)
		want := rapid.SliceOfN(rapid.SliceOfN(cell, 2, 2), 1, 30).Draw(t, "rows")

		quote := func(s string) string { return `"` + strings.ReplaceAll(s, `"`, `""`) + `"` }
		var b strings.Builder
		b.WriteString(strings.Join([]string{"a", "to", "b"}, delimiter) + eol)
		for i, row := range want {
			b.WriteString(strings.Join([]string{quote(row[0]), fmt.Sprintf("+1202555%04d", i), quote(row[1])}, delimiter) + eol)
		}
		raw := []byte(b.String())
		switch encode {
		case UTF16LE, UTF16BE:
			endian := unicode.LittleEndian
			if encode == UTF16BE {
				endian = unicode.BigEndian
			}
			out, err := unicode.UTF16(endian, unicode.UseBOM).NewEncoder().Bytes(raw)
			if err != nil {
				t.Fatal(err)
			}
			raw = out
		}
		switch pack {
		case Gzip:
			var z bytes.Buffer
			w := gzip.NewWriter(&z)
			_, _ = w.Write(raw)
			_ = w.Close()
			raw = z.Bytes()
		case Zstd:
			w, err := zstd.NewWriter(nil)
			if err != nil {
				t.Fatal(err)
			}
			raw = w.EncodeAll(raw, nil)
		}
		rows, _, err := all(bytes.NewReader(raw), Options{Delimiter: delimiter})
		if err != nil {
			t.Fatal(err)
		}
		if len(rows) != len(want) {
			t.Fatalf("%d rows, want %d", len(rows), len(want))
		}
		for i, row := range rows {
			first, last := spreadsheet.Unescape(textCell(want[i][0])), spreadsheet.Unescape(textCell(want[i][1]))
			if row.Fault != nil || row.Number != int64(i+1) || row.Cells[0] != first || row.Cells[2] != last {
				t.Fatalf("row %d: %+q %v, want %+q", i+1, row.Cells, row.Fault, want[i])
			}
		}
	})
}
