package recipients

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

func packed(t testing.TB, kind, text string) string {
	t.Helper()
	var b bytes.Buffer
	var w io.WriteCloser = gzip.NewWriter(&b)
	if kind == Zstd {
		z, err := zstd.NewWriter(&b)
		if err != nil {
			t.Fatal(err)
		}
		w = z
	}
	_, err := io.WriteString(w, text)
	if err := errors.Join(err, w.Close()); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// outcome is how reading ended: "" at the end of the list, else the fault as a person reads it.
func outcome(list string, o Options) (rows int, ended string) {
	all, _, err := all(strings.NewReader(list), o)
	if err != nil {
		return len(all), err.Error()
	}
	return len(all), ""
}

// Excel's first line counts as a line of the file in every fault.
func TestLinesAreCountedFromTheFilesFirst(t *testing.T) {
	for list, want := range map[string]string{
		"sep=;\nto;na\"me\n":                                "list.csv:2:6: the header has a quote in the wrong place",
		"sep=;\nto;\"name\n":                                "list.csv:2:4: the quote opened here is never closed",
		"sep=;\nto;name\n+12025550101;a\n\"+1;b\n":          "list.csv:4:1: the quote opened here is never closed",
		"sep=;\nto;name\n+12025550101;a\n+12025550102;\x00": "list.csv:4:14: the list holds a NUL byte",
	} {
		if _, got := outcome(list, Options{}); !strings.HasPrefix(got, want) {
			t.Errorf("%q: %s, want %s", list, got, want)
		}
	}
	rows, _, err := all(strings.NewReader("sep=;\nto;name\n+12025550101;a\n+12025550102;b\"c\n"), Options{})
	if err != nil || len(rows) != 2 || rows[1].Line != 4 || rows[1].Fault == nil || !strings.HasPrefix(rows[1].Fault.Message, "line 4: a quote stands in the wrong place (line 4, byte 15)") {
		t.Errorf("%d rows, the last %+v, %v; want line 4, byte 15 twice", len(rows), rows[len(rows)-1].Fault, err)
	}
}

// Each limit lets through what is exactly as large, and names what is one more.
func TestLimitsHoldToTheByte(t *testing.T) {
	const row = "+12025550123,"
	record := func(n int) string { return "to,x\n" + row + strings.Repeat("x", n-len(row)-1) + "\n+12025550124,y\n" }
	columns := func(n int) string {
		var b strings.Builder
		for i := range n - 1 {
			fmt.Fprintf(&b, "c%d,", i)
		}
		return b.String() + "to\n" + strings.Repeat(",", n-1) + "+12025550123\n"
	}
	sized := func(n int) string {
		return "to,x\n" + strings.Repeat("+12025550123,0123456\n", n/21)[:n-5-2] + "\n\n"
	}
	for name, c := range map[string]struct {
		list string
		o    Limits
		rows int
		want string
	}{
		"a record in a block":                 {record(4096), Limits{Record: 4096}, 2, ""},
		"a byte more":                         {record(4097), Limits{Record: 4096}, 0, "list.csv:2: the record that begins here is longer than 4 KiB; shorten its cells, or see whether a quote is missing"},
		"a record of several blocks":          {record(200 << 10), Limits{Record: 200 << 10}, 2, ""},
		"a byte more in several blocks":       {record(200<<10 + 1), Limits{Record: 200 << 10}, 0, "list.csv:2: the record that begins here is longer than 200 KiB; shorten its cells, or see whether a quote is missing"},
		"far more":                            {record(400 << 10), Limits{Record: 200 << 10}, 0, "list.csv:2: the record that begins here is longer than 200 KiB; see whether its line ends are lost, or whether this is a CSV list at all"},
		"columns":                             {columns(200), Limits{}, 1, ""},
		"a column more":                       {columns(201), Limits{}, 0, "list.csv:1: the header has 201 columns, more than 200; remove columns that the campaign does not use"},
		"rows":                                {"to\n+12025550123\n+12025550124\n", Limits{Rows: 2}, 2, ""},
		"a row more":                          {"to\n+12025550123\n+12025550124\n+12025550125\n", Limits{Rows: 2}, 2, "list.csv: the list has more than 2 rows; split it"},
		"a malformed row more":                {"to\n+12025550123\n+12025550124\n1,2\n", Limits{Rows: 2}, 2, "list.csv: the list has more than 2 rows; split it"},
		"bytes":                               {"to\n+12025550123\n", Limits{Size: 16}, 1, ""},
		"a byte more of the list":             {"to\n+12025550123\n\n", Limits{Size: 16}, 0, "list.csv:1: the list is larger than 0 MiB; split it"},
		"bytes of a list of several blocks":   {sized(1 << 20), Limits{Size: 1 << 20}, -1, ""},
		"a byte more of a list of several":    {sized(1<<20 + 1), Limits{Size: 1 << 20}, -1, "the list is larger than 1 MiB; split it"},
		"blank lines are no part of a record": {"to,x\n" + strings.Repeat("\r\n", 5000) + row + "x\n", Limits{Record: 4096}, 1, ""},
	} {
		t.Run(name, func(t *testing.T) {
			rows, got := outcome(c.list, Options{Limits: c.o})
			if c.rows >= 0 && rows != c.rows || c.rows >= 0 && got != c.want || !strings.HasSuffix(got, c.want) || c.want == "" && got != "" {
				t.Errorf("%d rows, then %q, want %d and %q", rows, got, c.rows, c.want)
			}
		})
	}
	want := Limits{Record: 1 << 20, Columns: 200, Size: 4 << 30, Ratio: 100, Rows: 100_000_000}
	if got := (Limits{}).withDefaults(); got != want {
		t.Errorf("defaults are %+v, want %+v", got, want)
	}
	if got := (Limits{Record: -1, Columns: -1, Size: -1, Ratio: -1, Rows: -1}).withDefaults(); got != want {
		t.Errorf("below nothing are %+v, want the defaults %+v", got, want)
	}
	least := Limits{Record: 1, Columns: 1, Size: 1, Ratio: 0.5, Rows: 1}
	if got := least.withDefaults(); got != least {
		t.Errorf("the least limits become %+v, want %+v", got, least)
	}
}

func TestExpansionIsJudgedAfterTheFirstMiB(t *testing.T) {
	for name, c := range map[string]struct {
		plain, compressed int64
		want              string
	}{
		"a MiB of nothing":         {1 << 20, 1, ""},
		"a byte more than a MiB":   {1<<20 + 1, 1, "list.csv: the gzip file expands more than 100-fold; upload the list uncompressed if it really is that repetitive"},
		"a hundredfold":            {2_000_000, 20_000, ""},
		"more than a hundredfold":  {2_000_001, 20_000, "list.csv: the gzip file expands more than 100-fold; upload the list uncompressed if it really is that repetitive"},
		"a byte less was expanded": {2_000_000, 19_999, "list.csv: the gzip file expands more than 100-fold; upload the list uncompressed if it really is that repetitive"},
	} {
		e := &expanded{dec: &endless{pattern: []byte("x"), n: c.plain}, in: &counted{n: c.compressed}, name: "list.csv", kind: Gzip, ratio: 100}
		n, err := io.Copy(io.Discard, e)
		if fmt.Sprint(err) != c.want && (err != nil || c.want != "" || n != c.plain) {
			t.Errorf("%s: %d bytes, %v, want %q", name, n, err, c.want)
		}
		if _, again := e.Read(make([]byte, 1)); err != nil && again != err {
			t.Errorf("%s: another read gives %v, want %v", name, again, err)
		}
	}
}

func TestDelimitersAreTakenByNameOrCharacter(t *testing.T) {
	for told, want := range map[string]rune{
		"": 0, "comma": ',', "Semicolon": ';', "TAB": '\t', `\t`: '\t', "pipe": '|', ",": ',', ";": ';', "\t": '\t', "|": '|', "^": '^', ":": ':', "\u00a7": '\u00a7', "~": '~',
	} {
		if got, err := delimiterOf(told); got != want || err != nil {
			t.Errorf("delimiterOf(%q) = %q, %v, want %q", told, got, err, want)
		}
	}
	for _, told := range []string{"a", "\u00e9", "4", "\u0664", "\"", "'", "+", "-", "(", ")", ".", " ", "\n", "\x00", "\x7f", ";;", ", ", "\ufffd", "\xff", "colon"} {
		want := "recipients.delimiter: " + shown(told) + " cannot separate cells; use comma, semicolon, tab, pipe or another single character"
		if got, err := delimiterOf(told); got != 0 || err == nil || err.Error() != want {
			t.Errorf("delimiterOf(%q) = %q, %v, want %s", told, got, err, want)
		}
	}
	for told, want := range map[string]string{
		"": "", "UTF-8": UTF8, "utf8": UTF8, "ascii": UTF8, "US-ASCII": UTF8, "utf_8": UTF8, " utf 8 ": UTF8, "UTF-16LE": UTF16LE, "utf16le": UTF16LE, "utf_16le": UTF16LE,
		"UTF-16BE": UTF16BE, "utf16be": UTF16BE, "Windows-1252": Windows1252, "windows 1252": Windows1252, "CP1252": Windows1252, "latin1": Windows1252, "ISO-8859-1": Windows1252, "iso_8859_1": Windows1252,
	} {
		if got, err := encodingOf(told); got != want || err != nil {
			t.Errorf("encodingOf(%q) = %q, %v, want %q", told, got, err, want)
		}
	}
	for _, told := range []string{"utf-16", "utf-32", "windows-1251", "ebcdic"} {
		want := "recipients.encoding: " + shown(told) + " is not known; use utf-8, utf-16le, utf-16be or windows-1252"
		if got, err := encodingOf(told); got != "" || err == nil || err.Error() != want {
			t.Errorf("encodingOf(%q) = %q, %v, want %s", told, got, err, want)
		}
	}
}

// All delimiters, encodings, marks and compressions, sniffed: the phrase that check prints.
func TestEveryDialectIsFoundAndNamed(t *testing.T) {
	names := map[string]string{",": "comma", ";": "semicolon", "\t": "tab", "|": "pipe"}
	utf16 := func(big bool, s string) string {
		var b strings.Builder
		for _, c := range []byte(s) { // ASCII
			if big {
				b.WriteString("\x00" + string(rune(c)))
			} else {
				b.WriteString(string(rune(c)) + "\x00")
			}
		}
		return b.String()
	}
	for mark, name := range names {
		plain := "to" + mark + "x\n+12025550123" + mark + "a\n"
		for _, c := range []struct{ list, want string }{
			{plain, "-separated utf-8"},
			{"\xef\xbb\xbf" + plain, "-separated utf-8 with byte order mark"},
			{"\xff\xfe" + utf16(false, plain), "-separated utf-16le with byte order mark"},
			{"\xfe\xff" + utf16(true, plain), "-separated utf-16be with byte order mark"},
			{strings.Replace(plain, "a", "\xe9", 1), "-separated windows-1252"},
			{packed(t, Gzip, plain), "-separated utf-8, gzip"},
			{packed(t, Zstd, "\xef\xbb\xbf"+plain), "-separated utf-8 with byte order mark, zstd"},
			{"sep=" + mark + "\r\n" + plain, "-separated utf-8"},
		} {
			rows, r, err := all(strings.NewReader(c.list), Options{})
			if err != nil || len(rows) != 1 || rows[0].To != "+12025550123" || rows[0].Fault != nil {
				t.Errorf("%q: %d rows, %v, want one good row", c.list, len(rows), err)
				continue
			}
			if got := r.Dialect().String(); got != name+c.want {
				t.Errorf("%q: got %q, want %q", c.list, got, name+c.want)
			}
			wantLine := 2
			if strings.HasPrefix(c.list, "sep=") {
				wantLine = 3
			}
			if got := r.Dialect(); rows[0].Line != wantLine || got.SepLine != (wantLine == 3) {
				t.Errorf("%q: line %d, sep= %v, want line %d", c.list, rows[0].Line, got.SepLine, wantLine)
			}
		}
	}
}

func TestExcelsFirstLineIsOnlyOneOfItsKind(t *testing.T) {
	for line, want := range map[string]rune{
		"sep=;\n": ';', "SEP=,\n": ',', "Sep=|\r\n": '|', "\"sep=;\"\n": ';', "\"sep=\t\"\r\n": '\t', "sep=\u00a7\n": '\u00a7',
		"sep=\n": 0, "sep=ab\n": 0, "sep=4\n": 0, "sep=;": 0, "set=;\n": 0, "\"sep=;\n": 0, "to\n": 0, "": 0, "\n": 0, "\"\n": 0, "sep=;xxxxxxxxxxxxxxxxxxx\n": 0,
	} {
		list := line
		if strings.HasSuffix(line, "\n") { // else the line is all there is
			list += "to\n"
		}
		r := bufio.NewReaderSize(strings.NewReader(list), block)
		wantRest := list
		if want != 0 {
			wantRest = "to\n"
		}
		got := sepLine(r)
		if rest, err := io.ReadAll(r); got != want || err != nil || string(rest) != wantRest {
			t.Errorf("sepLine(%q) = %q and leaves %q, %v, want %q and %q", list, got, rest, err, want, wantRest)
		}
	}
}

func TestTheDelimiterThatFitsMostRecordsWins(t *testing.T) {
	var late strings.Builder
	late.WriteString("to;a,b\n")
	for i := range 30 { // after 20 records nobody looks
		if i < 19 {
			late.WriteString("1;2,3\n")
		} else {
			late.WriteString("1;2\n")
		}
	}
	long := "to;x\n1;" + strings.Repeat("y", 100) + "\n"
	for name, c := range map[string]struct {
		list string
		want rune
	}{
		"one column":              {"to\n1\n", ','},
		"nothing":                 {"", ','},
		"more cells of as many":   {"a;b;c,d\n1;2;3,4\n", ';'},
		"as many cells: first":    {"a;b,c\n1;2,3\n", ','},
		"more records agree":      {"a,b;c\n1;2\n3;4\n", ';'},
		"not one more record":     {late.String(), ','},
		"a list without line end": {"a|b", '|'},
		"the last line is cut":    {strings.Repeat(long, block/len(long)+1), ';'},
	} {
		if got := sniffDelimiter(bufio.NewReaderSize(strings.NewReader(c.list), block)); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

func TestUTF16WithoutAMarkIsSuspectedNotRead(t *testing.T) {
	for text, want := range map[string]string{
		"": "", "a\x00": "", "a\x00b": "", "a\x00b\x00": UTF16LE, "\x00a\x00b": UTF16BE, "a\x00bc": "", "a\x00b\x00cd\x00": "",
		"abcd": "", "\x00\x00\x00\x00": "", "a\x00b\x00c\x00d\x00": UTF16LE, "a\x00b\x00cdef": "", "a\x00b\x00c\x00ef": UTF16LE,
		strings.Repeat("a\x00", 32) + "\x00\x00": UTF16LE, strings.Repeat("ab", 32) + strings.Repeat("a\x00", 99): "",
	} {
		if got := likelyUTF16([]byte(text)); got != want {
			t.Errorf("likelyUTF16(%q) = %q, want %q", text, got, want)
		}
	}
}

func TestAMarkOrItsLackIsTold(t *testing.T) {
	const option = "; leave recipients.encoding out"
	for _, c := range []struct{ list, told, want string }{
		{"\xff\xfet\x00o\x00", "utf-8", "list.csv:1: recipients.encoding says utf-8, but the file begins with the byte order mark of utf-16le" + option},
		{"\xfe\xff\x00t\x00o", "utf-16le", "list.csv:1: recipients.encoding says utf-16le, but the file begins with the byte order mark of utf-16be" + option},
		{"\xef\xbb\xbfto\n+12025550123\n", "latin1", "list.csv:1: recipients.encoding says windows-1252, but the file begins with the byte order mark of utf-8" + option},
		{"\xef\xbb\xbfto\n+12025550123\n", "utf-8", ""},
		{"t\x00o\x00\n\x00", "", "list.csv:1: the file holds NUL bytes and no byte order mark: it looks like utf-16le; set recipients.encoding: utf-16le, or save it as UTF-8"},
		{"\x00t\x00o\x00\n", "", "list.csv:1: the file holds NUL bytes and no byte order mark: it looks like utf-16be; set recipients.encoding: utf-16be, or save it as UTF-8"},
	} {
		if _, got := outcome(c.list, Options{Encoding: c.told}); got != c.want {
			t.Errorf("%q told to be %q\ngot  %s\nwant %s", c.list, c.told, got, c.want)
		}
	}
}

func TestStrayBytesOutweighUTF8OnlyWhenMore(t *testing.T) {
	for text, want := range map[string]bool{
		"": true, "abc": true, "\u00fc": true, "\xfc": false, "\u00fc \xfc": false, "\u00fc\u00fc \xfc": true, "\u00fc \xfc\xfc": false,
		"abc\xc3": true, "abc\xfc \xc3": false, "\u4e16\u754c \xff": true, "\ufffd \xfc \u00fc": true, "\ufffd \xfc": false, "abc\xe4\xb8": true,
	} {
		if got := mostlyUTF8([]byte(text)); got != want {
			t.Errorf("mostlyUTF8(%q) = %v, want %v", text, got, want)
		}
	}
}

func TestOtherFilesAreNamedForWhatTheyAre(t *testing.T) {
	for magic, want := range map[string]string{
		"PK\x03\x04":       "this is an Excel workbook or a zip archive, not a CSV list; save the sheet as CSV UTF-8, or unpack the archive",
		"\xd0\xcf\x11\xe0": "this is an old Excel workbook, not a CSV list; save the sheet as CSV UTF-8",
		"%PDF":             "this is a PDF, not a CSV list; export the list as CSV",
		"BZh":              "this is a bzip2 archive, not a CSV list; compress the list with gzip or zstd, or not at all",
		"\xfd7zXZ":         "this is an xz archive, not a CSV list; compress the list with gzip or zstd, or not at all",
		"7z\xbc\xaf":       "this is a 7-Zip archive, not a CSV list; compress the list with gzip or zstd, or not at all",
		"SQLite format 3":  "this is an SQLite database, not a CSV list; export the list as CSV",
		"PAR1":             "this is a Parquet file, not a CSV list; export the list as CSV",
	} {
		if _, got := outcome(magic+"xxxx\n", Options{}); got != "list.csv: "+want {
			t.Errorf("%q: got %q, want %q", magic, got, "list.csv: "+want)
		}
		inside := "list.csv: " + strings.Replace(want, ", not", " inside zstd, not", 1)
		if _, got := outcome(packed(t, Zstd, magic+"xxxx\n"), Options{}); got != inside {
			t.Errorf("%q: got %q, want %q", magic, got, inside)
		}
	}
	for _, outer := range []string{Gzip, Zstd} {
		for _, inner := range []string{Gzip, Zstd} {
			want := "list.csv: the list is compressed twice (" + inner + " inside " + outer + "); compress it once"
			if _, got := outcome(packed(t, outer, packed(t, inner, "to\n+1\n")), Options{}); got != want {
				t.Errorf("got %q, want %q", got, want)
			}
		}
		whole := packed(t, outer, "to\n"+strings.Repeat("+12025550123\n", 10_000))
		if _, got := outcome(whole[:len(whole)-5], Options{}); !strings.Contains(got, "the "+outer+" file is cut off or damaged") {
			t.Errorf("cut off: got %q, want the %s file named", got, outer)
		}
	}
}

// Where a fault is: file, line and column in bytes.
func TestFaultsAreAtTheirLineAndColumn(t *testing.T) {
	const nul = "the list holds a NUL byte; save it again as CSV UTF-8; it may be another kind of file, or UTF-16"
	const open = `the quote opened here is never closed; close it, or write a quote that belongs to the text as ""`
	const head = "to,x\n+12025550123,a\n"
	for name, c := range map[string]struct {
		list string
		rows int
		want string
	}{
		"NUL":                             {head + "+1202555\x000124,b\n", 1, "list.csv:3:9: " + nul},
		"NUL first in its line":           {head + "\x00", 1, "list.csv:3:1: " + nul},
		"NUL last in its line":            {head + "+12025550124,b\x00\n", 1, "list.csv:3:15: " + nul},
		"NUL in a quoted cell of lines":   {head + "+12025550124,\"b\nc\x00\"\n", 1, "list.csv:4:2: " + nul},
		"open quote":                      {head + "+12025550124,\"b\n", 1, "list.csv:3:14: " + open},
		"open quote first in its line":    {head + "\"+12025550124,b\n", 1, "list.csv:3:1: " + open},
		"open quote after blank lines":    {head + "\n\r\n\n+12025550124,\"b\n", 1, "list.csv:6:14: " + open},
		"open quote after a quoted cell":  {head + "\"+1\n2\",\"b\n", 1, "list.csv:4:4: " + open},
		"open quote after doubled quotes": {head + "\"+1\"\"2\",\"b\"\"\n", 1, "list.csv:3:9: " + open},
		"open quote after sep=":           {"sep=,\n" + head + "+12025550124,\"b\n", 1, "list.csv:4:14: " + open},
		"quote in the header":             {"to,\"x\ny\n", 0, "list.csv:1:4: " + open},
		"quote inside a name":             {"sep=,\nto,n\"x\n", 0, `list.csv:2:5: the header has a quote in the wrong place; quote a whole name or none of it, and write a quote inside as ""`},
	} {
		if rows, got := outcome(c.list, Options{}); rows != c.rows || got != c.want {
			t.Errorf("%s: %d rows, then %q, want %d and %q", name, rows, got, c.rows, c.want)
		}
	}
}

func TestMalformedRowsSayWhatAndWhere(t *testing.T) {
	const head = "to,x,y\n+12025550123,a,b\n"
	for name, c := range map[string]struct{ row, want string }{
		"too few":        {"+12025550124,a\n", "line 3: 2 cells where the header has 3; add the missing ones, empty if need be"},
		"too many":       {"+12025550124,a,b,c\n", "line 3: 4 cells where the header has 3; quote a cell that holds the delimiter (comma)"},
		"one":            {"+12025550124\n", "line 3: 1 cells where the header has 3; add the missing ones, empty if need be"},
		"over two lines": {"+12025550124,\"a\nb\"\n", "lines 3 to 4, read as one record: 2 cells where the header has 3; add the missing ones, empty if need be"},
		"bare returns":   {"+12025550124,a,b\r+12025550125,a,b\n", "line 3: 5 cells where the header has 3, and a carriage return without line feed among them; save the list with LF or CRLF line ends"},
		"after blanks":   {"\n\n+12025550124,a\r\n", "line 5: 2 cells where the header has 3; add the missing ones, empty if need be"},
		"a quote inside": {"+12025550124,a\"b,c\n", `line 3: a quote stands in the wrong place (line 3, byte 15); quote a whole cell or none of it, and write a quote inside as ""`},
		"after a quote":  {"+12025550124,\"a\"b,c\n", `line 3: a quote stands in the wrong place (line 3, byte 16); quote a whole cell or none of it, and write a quote inside as ""`},
	} {
		rows, _, err := all(strings.NewReader(head+c.row+"+12025550129,a,b\n"), Options{})
		if err != nil || len(rows) != 3 {
			t.Errorf("%s: %d rows, %v, want 3 rows", name, len(rows), err)
			continue
		}
		f := rows[1].Fault
		if f == nil || f.Kind != MalformedRow || f.Column != "" || f.Message != c.want || len(rows[1].Cells) != 3 || rows[1].Number != 2 {
			t.Errorf("%s: %+v, %+v, want malformed_row: %s", name, rows[1], f, c.want)
		}
		if rows[2].Fault != nil || rows[2].To != "+12025550129" || rows[2].Number != 3 {
			t.Errorf("%s: the next row is %+v, %v, want a good one", name, rows[2], rows[2].Fault)
		}
	}
}

func TestAnOpenQuoteIsFoundWhereItBegan(t *testing.T) {
	for raw, want := range map[string]int{ // -1: none is open
		"": -1, "a,b\n": -1, "\"a\",b": -1, "\"a": 0, "a,\"b": 2, "a,\"b\",\"c": 6, "\"a\"\"b": 0, "\"a\"\"\",\"": 6, "a\nb,\"c": -1, "\"a\"b,\"c": -1, "\"a\"\n\"b": -1, "\"a\nb\",\"": 6, "a,b\n,\"c": -1, "\"\"": -1, "\"": 0, "\"\"\"": 0,
	} {
		at, open := openQuote([]byte(raw), ',')
		if !open {
			at = -1
		}
		if at != want {
			t.Errorf("openQuote(%q) = %d, want %d", raw, at, want)
		}
	}
	if at, open := openQuote([]byte("a\u00a7\"b"), '\u00a7'); at != 3 || !open {
		t.Errorf("a delimiter of two bytes: %d, %v, want 3, true", at, open)
	}
	for raw, want := range map[string]int{"": 0, "a": 0, "\n": 1, "\r": 0, "\r\n": 2, "\n\r\n\na": 4, "\ra": 0, "\r\r\n": 0, "\n\r": 1} {
		if got := blank([]byte(raw)); got != want {
			t.Errorf("blank(%q) = %d, want %d", raw, got, want)
		}
	}
}

func TestCellsOfAnotherEncodingAreFaultsOfTheirRow(t *testing.T) {
	for name, c := range map[string]struct{ list, encoding, want string }{
		"half a UTF-16 letter":   {"\xff\xfet\x00o\x00\n\x00+\x001\x00\n\x00\x00\xd8\n\x00", "", "utf-16le"},
		"big-endian":             {"\xfe\xff\x00t\x00o\x00\n\x00+\x001\x00\n\xd8\x00\x00\n", "", "utf-16be"},
		"a stray byte":           {"to\n\u00fc\u00fc\u00fc\n\xfc\n", "", "utf-8"},
		"a stray byte, as told":  {"to\n+1\n\xfc\n", "utf-8", "utf-8"},
		"U+FFFD itself in UTF-8": {"to\n+1\n\ufffd\n", "", ""},
	} {
		rows, _, err := all(strings.NewReader(c.list), Options{Encoding: c.encoding, Validate: ValidateNone})
		if err != nil || len(rows) != 2 {
			t.Errorf("%s: %d rows, %v, want 2", name, len(rows), err)
			continue
		}
		f := rows[1].Fault
		if c.want == "" && f.Kind != InvalidPhone || c.want != "" && (f.Kind != MalformedRow || f.Column != "to" || !strings.Contains(f.Message, " is not "+c.want+"; ")) || rows[1].Cells[0] != "\ufffd" {
			t.Errorf("%s: %q, %+v, want a cell that is not %s", name, rows[1].Cells, f, c.want)
		}
	}
}

func TestErrorsOfAListHaveOneForm(t *testing.T) {
	cause := errors.New("disk on fire")
	for want, e := range map[string]*FileError{
		"a: b":                        {File: "a", Message: "b"},
		"a:2: b; c":                   {File: "a", Line: 2, Message: "b", Remedy: "c"},
		"a:2:1: b":                    {File: "a", Line: 2, Column: 1, Message: "b"},
		"a:1: b: disk on fire; again": {File: "a", Line: 1, Message: "b", Err: cause, Remedy: "again"},
		"a: b, no line":               {File: "a", Column: 3, Message: "b, no line"},
	} {
		if got := e.Error(); got != want || errors.Unwrap(e) != e.Err {
			t.Errorf("got %q, %v, want %q, %v", got, errors.Unwrap(e), want, e.Err)
		}
	}
	for in, want := range map[string]string{
		strings.Repeat("x", 32): `"` + strings.Repeat("x", 32) + `"`, strings.Repeat("x", 33): `"` + strings.Repeat("x", 32) + `"...`,
		strings.Repeat("\u00fc", 33): `"` + strings.Repeat(`\u00fc`, 32) + `"...`, "": `""`, "a\u200b": `"a\u200b"`,
	} {
		if got := shown(in); got != want {
			t.Errorf("shown(%q) = %s, want %s", in, got, want)
		}
	}
	if diff := cmp.Diff("a\ufffdb", readable("a\xff\xfeb")); diff != "" {
		t.Errorf("readable -want +got:\n%s", diff)
	}
}
