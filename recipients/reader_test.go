package recipients

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
	"golang.org/x/text/encoding/unicode"
	"pgregory.net/rapid"
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
		{"mapped column missing", "Phone,Name\n+1,x\n", Options{Columns: map[string]string{"to": "phone"}}, "did you mean {to: Phone}?"},
		{"mapped column of a list without header", "+2348031234567,Ada\n", Options{Columns: map[string]string{"to": "phone"}}, "the first line holds a phone number, so the list has no header"},
		{"mapped variable missing", "to,firstname\n+1,x\n", Options{Columns: map[string]string{"name": "first_nam"}}, `maps "name" to column "first_nam", which is not in the list; its columns are "to", "firstname"; did you mean {name: firstname}?`},
		{"nothing is near", "to,x\n+1,x\n", Options{Columns: map[string]string{"name": "Geburtsdatum"}}, "map it to one of them"},
		{"one column twice", "to,x\n+1,x\n", Options{Columns: map[string]string{"timezone": "to"}}, "same column"},
		{"too many columns", strings.Repeat("a,", 300) + "to\n", Options{}, "the header has 301 columns, more than 200"},
		{"too many rows", "to\n+1\n+2\n+3\n", Options{Limits: Limits{Rows: 2}}, "more than 2 rows"},
		{"too large", "to\n" + strings.Repeat("+2348031234567\n", 200_000), Options{Limits: Limits{Size: 1 << 20}}, "the list is larger than 1 MiB"},
		{"long record in one block", "to,x\n+1," + strings.Repeat("x", 5000) + "\n", Options{Limits: Limits{Record: 4096}}, "list.csv:2: the record that begins here is longer than 4 KiB"},
		{"endless quote", "to,x\n+1,a\n+1,\"b\n" + strings.Repeat("+1,a\n", 300_000), Options{}, "list.csv:3:4: the quote opened here is not closed within 1024 KiB"},
		{"later quote of a record", "to,x,y\n+1,\"a\nb\",\"c\n+1,b,c\n", Options{}, "list.csv:3:4: the quote opened here is never closed"},
		{"UTF-16 without mark", utf16(unicode.LittleEndian, "to,name\n+491,x\n"), Options{}, "it looks like utf-16le; set recipients.encoding: utf-16le"},
		{"big-endian without mark", utf16(unicode.BigEndian, "to,name\n+491,x\n"), Options{}, "looks like utf-16be"},
		{"mark against option", "\xff\xfet\x00o\x00", Options{Encoding: "utf-8"}, "begins with the byte order mark of utf-16le; leave recipients.encoding out"},
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
				t.Fatal("read to the end")
			}
			if !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got  %v\nwant %s", err, tt.want)
			}
			if strings.Contains(err.Error(), "\n") {
				t.Errorf("more than one line: %q", err)
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
		{"more commas than semicolons", "to;x\n+12025550123;a,b,c\n+12025550124;d,e,f\n", Options{}, "semicolon-separated utf-8", []string{"+12025550123", "a,b,c"}},
		{"delimiters inside quotes", "\"to;1;2\",phone\n\"a;b;c\",+12025550123\n", Options{}, "comma-separated utf-8", []string{"a;b;c", "+12025550123"}},
		{"a caret", "to^x\n+12025550123^a\n", Options{Delimiter: "^"}, "'^'-separated utf-8", []string{"+12025550123", "a"}},
		{"explicit wins over sep=", "sep=;\nto,x;y\n+12025550123,a\n", Options{Delimiter: "comma"}, "comma-separated utf-8", []string{"+12025550123", "a"}},
		{"quoted sep=", "\"sep=|\"\nto|x\n+12025550123|a\n", Options{}, "pipe-separated utf-8", []string{"+12025550123", "a"}},
		{"UTF-16 as told, no mark", "t\x00o\x00\n\x00+\x001\x002\x000\x002\x005\x005\x005\x000\x001\x002\x003\x00\n\x00", Options{Encoding: "UTF-16LE"}, "comma-separated utf-16le", []string{"+12025550123"}},
		{"one stray byte in UTF-8", "to,x\n+12025550123,J\u00fcrgen\n+12025550123,Zo\u00eb\n+12025550124,J\xf6rg\n", Options{}, "comma-separated utf-8", []string{"+12025550123", "J\u00fcrgen"}},
		{"latin1 is Windows-1252", "to,x\n+12025550123,\x80\n", Options{Encoding: "latin1"}, "comma-separated windows-1252", []string{"+12025550123", "\u20ac"}},
		{"empty lines before the header", "\n\nto,x\r\n\r\n+12025550123,a\r\n", Options{}, "comma-separated utf-8", []string{"+12025550123", "a"}},
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
				t.Errorf("row %+v, fault %v", rows[0], rows[0].Fault)
			}
		})
	}
}

// gocsv matches a struct field by exact, trimmed and zero-width-free name (ecosystem.md 2.1, traps 2 to 4).
func TestOnlyTheMappedColumnIsThePhone(t *testing.T) {
	const list = "to,to ,To\u200b,phone,timezone,tz,name\n"
	_, _, err := all(strings.NewReader(list+"1,2,3,+12025550123,a,b,Ada\n"), Options{Columns: map[string]string{"to": "phone"}})
	if err == nil || !strings.Contains(err.Error(), `columns 1 and 2 are both called "to"`) {
		t.Fatalf("names that differ by a blank: %v", err)
	}
	rows, r, err := all(strings.NewReader("to,TO,phone,timezone,tz,name\n1,2,+12025550123,a,b,Ada\n"),
		Options{Columns: map[string]string{"to": "phone", "timezone": "tz", "first_name": "name"}})
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
	if bad.Fault == nil || bad.Fault.Kind != MalformedRow || bad.Fault.Column != "name" || bad.Line != 5002 || bad.Cells[1] != "J\ufffdrg" || bad.Key != 0 {
		t.Errorf("row = %+v, fault %+v, want line 5002 malformed in column name", bad, bad.Fault)
	}
	if rows[5001].Fault != nil {
		t.Errorf("the next row: %v", rows[5001].Fault)
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
		t.Errorf("%v, then %v", first, second)
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
			t.Errorf("Hash(%q): %v, Open: %v", path, hashErr, err)
		}
	}
	good := filepath.Join(dir, "good.csv")
	if err := os.WriteFile(good, []byte("to\n+12025550123\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	sum, size, err := Hash(good)
	if want := fmt.Sprintf("%x", sha256.Sum256([]byte("to\n+12025550123\n"))); err != nil || size != 16 || sum != want {
		t.Errorf("Hash: %s %d %v", sum, size, err)
	}
	for path, cause := range map[string]string{filepath.Join(good, "x.csv"): "not a directory", filepath.Join(dir, strings.Repeat("x", 300)): "file name too long"} {
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
		t.Errorf("Close: %v", err)
	}
	if err := r.Close(); err != nil {
		t.Errorf("second Close: %v", err)
	}
}

// endless repeats a pattern for n bytes.
type endless struct {
	pattern []byte
	n       int64
	at      int
}

func (e *endless) Read(p []byte) (int, error) {
	if e.n <= 0 {
		return 0, io.EOF
	}
	n := 0
	for n < len(p) && e.n > 0 {
		c := copy(p[n:], e.pattern[e.at:])
		n, e.at, e.n = n+c, (e.at+c)%len(e.pattern), e.n-int64(c)
	}
	return n, nil
}

// allocated is what f allocated in all, freed or not: an upper bound of what it ever held.
func allocated(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// reliability.md 5, row 6. What is read and allocated does not depend on how busy the machine is; on a
// quiet one each case takes 10 to 100 ms.
func TestAGigabyteInOneLineFailsAtOnce(t *testing.T) {
	const gib = 1 << 30
	for name, tt := range map[string]struct{ head, pattern string }{
		"one line":       {"", "x"},
		"one row":        {"to\n", "5"},
		"open quote":     {"to\n\"", "+49,x\n"},
		"quoted newline": {"to\n\"", "\n"},
		"commas":         {"to\n", ","},
		"doubled quotes": {"to\n\"", `""`},
	} {
		t.Run(name, func(t *testing.T) {
			tail := &endless{pattern: []byte(tt.pattern), n: gib}
			var err error
			start := time.Now()
			bytes := allocated(func() { _, _, err = all(io.MultiReader(strings.NewReader(tt.head), tail), Options{}) })
			took, read := time.Since(start), gib-tail.n
			var file *FileError
			if !errors.As(err, &file) || !strings.Contains(err.Error(), "1024 KiB") {
				t.Errorf("error %v", err)
			}
			if read > 1<<20+4*block {
				t.Errorf("read %d KiB of it", read>>10)
			}
			most := uint64(32 << 20)
			if name == "commas" {
				most = 256 << 20 // encoding/csv makes a million cells of the MiB that it was given
			}
			if bytes > most {
				t.Errorf("allocated %d MiB", bytes>>20)
			}
			if took > 10*time.Second {
				t.Errorf("took %v", took)
			}
			t.Logf("%v, read %d KiB, allocated %d MiB: %v", took, read>>10, bytes>>20, err)
		})
	}
}

func TestBlankLinesCostNothing(t *testing.T) {
	in := io.MultiReader(strings.NewReader("to\n+12025550123\n"), &endless{pattern: []byte("\r\n"), n: 20 << 20}, strings.NewReader("+12025550124\n"))
	rows, r, err := all(in, Options{})
	if err != nil || len(rows) != 2 || rows[1].Line != 3+10<<20 {
		t.Fatalf("%d rows, %v", len(rows), err)
	}
	if len(r.guard.win) > 2*block {
		t.Errorf("%d bytes kept", len(r.guard.win))
	}
}

// reliability.md 5, row 5: stopped in its first MiB.
func TestBombsAreStoppedEarly(t *testing.T) {
	plain := func() io.Reader {
		return io.MultiReader(strings.NewReader("to\n"), &endless{pattern: []byte("+2348031234567\n"), n: 256 << 20})
	}
	var gz, zs bytes.Buffer
	zw := gzip.NewWriter(&gz)
	if _, err := io.Copy(zw, plain()); err != nil {
		t.Fatal(err)
	}
	if err := zw.Close(); err != nil {
		t.Fatal(err)
	}
	enc, err := zstd.NewWriter(&zs)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(enc, plain()); err != nil {
		t.Fatal(err)
	}
	if err := enc.Close(); err != nil {
		t.Fatal(err)
	}
	for name, bomb := range map[string][]byte{Gzip: gz.Bytes(), Zstd: zs.Bytes()} {
		t.Run(name, func(t *testing.T) {
			var rows []*Row
			var err error
			start := time.Now()
			bytes := allocated(func() { rows, _, err = all(bytes.NewReader(bomb), Options{}) })
			if err == nil || !strings.Contains(err.Error(), "expands more than 100-fold") {
				t.Errorf("%d bytes gave %d rows and %v", len(bomb), len(rows), err)
			}
			t.Logf("%d KiB stopped after %d rows, %v, %d MiB allocated", len(bomb)>>10, len(rows), time.Since(start), bytes>>20)
			if len(rows) > 200_000 || bytes > 160<<20 {
				t.Errorf("%d rows, %d MiB", len(rows), bytes>>20)
			}
		})
	}
	t.Run("but not when the limit is lifted", func(t *testing.T) {
		rows, _, err := all(bytes.NewReader(gz.Bytes()), Options{Validate: ValidateNone, Limits: Limits{Ratio: 1e6, Size: 2 << 20}})
		if err == nil || !strings.Contains(err.Error(), "larger than 2 MiB") || len(rows) < 100_000 {
			t.Errorf("%d rows, %v", len(rows), err)
		}
	})
}

// list generates n good rows without ever holding them.
func list(n int) io.Reader {
	r, w := io.Pipe()
	go func() { // ends with the reader: a closed pipe fails the write
		var b bytes.Buffer
		b.WriteString("to,first_name,discount,city,slug\n")
		for i := range n {
			fmt.Fprintf(&b, "+23480%08d,Ada %d,%d%%,\"Lagos, Ikeja\",spring-%d\n", i, i, i%50, i)
			if b.Len() > block || i == n-1 {
				if _, err := w.Write(b.Bytes()); err != nil {
					return
				}
				b.Reset()
			}
		}
		_ = w.Close()
	}()
	return r
}

func TestMemoryStaysFlatInTheLengthOfTheList(t *testing.T) {
	r, err := NewReader(list(200_000), "list.csv", Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	heap := func() uint64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	var early, late uint64
	rows := 0
	for {
		_, err := r.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		switch rows++; rows {
		case 10_000:
			early = heap()
		case 199_999:
			late = heap()
		}
	}
	if rows != 200_000 {
		t.Fatalf("%d rows", rows)
	}
	t.Logf("heap %d KiB after 10,000 rows, %d KiB after 200,000", early>>10, late>>10)
	if late > early+256<<10 {
		t.Errorf("grew by %d KiB", (late-early)>>10)
	}
}

// No setting of gocsv is global here (ecosystem.md 2.1, trap 10).
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
					t.Errorf("%q: %d rows, %v", d, len(rows), err)
				}
			})
		}
	}
	wg.Wait()
}

// Whatever a list's cells are, they arrive as they were written, in whatever dialect.
func TestCellsSurviveEveryDialect(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		delimiter := rapid.SampledFrom([]string{",", ";", "\t", "|"}).Draw(t, "delimiter")
		encode := rapid.SampledFrom([]string{UTF8, UTF16LE, UTF16BE}).Draw(t, "encoding")
		eol := rapid.SampledFrom([]string{"\n", "\r\n"}).Draw(t, "eol")
		pack := rapid.SampledFrom([]string{"", Gzip, Zstd}).Draw(t, "compression")
		// Two columns of text beside the phone; NUL and a carriage return are not text.
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
			if row.Fault != nil || row.Number != int64(i+1) || row.Cells[0] != want[i][0] || row.Cells[2] != want[i][1] {
				t.Fatalf("row %d: %+q %v, want %+q", i+1, row.Cells, row.Fault, want[i])
			}
		}
	})
}
