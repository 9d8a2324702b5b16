package recipients

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"

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

// outcome is how reading ended: "" at the end of the list, else the error as a person reads it.
func outcome(list string, o Options) (rows int, ended string) {
	all, _, err := all(strings.NewReader(list), o)
	if err != nil {
		return len(all), err.Error()
	}
	return len(all), ""
}

// Excel's sep= line counts as a line of the file in every fault.
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
	if err != nil || len(rows) != 2 || rows[1].Line != 4 || rows[1].Fault == nil ||
		!strings.HasPrefix(rows[1].Fault.Message, "line 4: a quote stands in the wrong place (line 4, byte 15)") {
		t.Errorf("%d rows, the last %+v, %v; want line 4, byte 15 twice", len(rows), rows[len(rows)-1].Fault, err)
	}
}

func TestDelimitersAreTakenByNameOrCharacter(t *testing.T) {
	for told, want := range map[string]rune{
		"": 0, "comma": ',', "Semicolon": ';', "TAB": '\t', `\t`: '\t', "pipe": '|', ",": ',', ";": ';', "\t": '\t', "|": '|', "^": '^', ":": ':',
		"\u00a7": '\u00a7', "~": '~',
	} {
		if got, err := delimiterOf(told); got != want || err != nil {
			t.Errorf("delimiterOf(%q) = %q, %v, want %q", told, got, err, want)
		}
	}
	for _, told := range []string{"a", "\u00e9", "4", "\u0664", "\"", "'", "+", "-", "(", ")", ".", " ", "\n", "\x00", "\x7f", ";;",
		", ", "\ufffd", "\xff", "colon"} {
		want := "recipients.delimiter: " + shown(told) + " cannot separate cells; use comma, semicolon, tab, pipe or another single character"
		if got, err := delimiterOf(told); got != 0 || err == nil || err.Error() != want {
			t.Errorf("delimiterOf(%q) = %q, %v, want %s", told, got, err, want)
		}
	}
	for told, want := range map[string]string{
		"": "", "UTF-8": UTF8, "utf8": UTF8, "ascii": UTF8, "US-ASCII": UTF8, "utf_8": UTF8, " utf 8 ": UTF8, "UTF-16LE": UTF16LE,
		"utf16le": UTF16LE, "utf_16le": UTF16LE,
		"UTF-16BE": UTF16BE, "utf16be": UTF16BE, "Windows-1252": Windows1252, "windows 1252": Windows1252, "CP1252": Windows1252,
		"latin1": Windows1252, "ISO-8859-1": Windows1252, "iso_8859_1": Windows1252,
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

// All delimiters, encodings, marks and compressions are detected, and named in the phrase that
// `check` prints.
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
			if rows[0].Line != wantLine {
				t.Errorf("%q: line %d, want line %d", c.list, rows[0].Line, wantLine)
			}
		}
	}
}

func TestOnlyExcelsSepLineIsRemoved(t *testing.T) {
	for line, want := range map[string]rune{
		"sep=;\n": ';', "SEP=,\n": ',', "Sep=|\r\n": '|', "\"sep=;\"\n": ';', "\"sep=\t\"\r\n": '\t', "sep=\u00a7\n": '\u00a7',
		"sep=\n": 0, "sep=ab\n": 0, "sep=4\n": 0, "sep=;": 0, "set=;\n": 0, "\"sep=;\n": 0, "to\n": 0, "": 0, "\n": 0, "\"\n": 0,
		"sep=;xxxxxxxxxxxxxxxxxxx\n": 0,
	} {
		list := line
		if strings.HasSuffix(line, "\n") { // without a line end, the line is the whole list
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
	for i := range 30 { // only the first 20 records count
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

func TestAWrongOrMissingMarkIsNamed(t *testing.T) {
	const option = "; leave recipients.encoding out"
	for _, c := range []struct{ list, told, want string }{
		{"\xff\xfet\x00o\x00", "utf-8",
			"list.csv:1: recipients.encoding says utf-8, but the file begins with the byte order mark of utf-16le" + option},
		{"\xfe\xff\x00t\x00o", "utf-16le",
			"list.csv:1: recipients.encoding says utf-16le, but the file begins with the byte order mark of utf-16be" + option},
		{"\xef\xbb\xbfto\n+12025550123\n", "latin1",
			"list.csv:1: recipients.encoding says windows-1252, but the file begins with the byte order mark of utf-8" + option},
		{"\xef\xbb\xbfto\n+12025550123\n", "utf-8", ""},
		{"t\x00o\x00\n\x00", "", "list.csv:1: the file holds NUL bytes and no byte order mark: it looks like utf-16le; " +
			"set recipients.encoding: utf-16le, or save it as UTF-8"},
		{"\x00t\x00o\x00\n", "", "list.csv:1: the file holds NUL bytes and no byte order mark: it looks like utf-16be; " +
			"set recipients.encoding: utf-16be, or save it as UTF-8"},
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
