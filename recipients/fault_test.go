package recipients

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Each limit admits exactly as much as it says, and names the first that is more.
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
		"a record in a block": {record(4096), Limits{Record: 4096}, 2, ""},
		"a byte more": {record(4097), Limits{Record: 4096}, 0,
			"list.csv:2: the record that begins here is longer than 4 KiB; shorten its cells, or see whether a quote is missing"},
		"a record of several blocks": {record(200 << 10), Limits{Record: 200 << 10}, 2, ""},
		"a byte more in several blocks": {record(200<<10 + 1), Limits{Record: 200 << 10}, 0,
			"list.csv:2: the record that begins here is longer than 200 KiB; shorten its cells, or see whether a quote is missing"},
		"far more": {record(400 << 10), Limits{Record: 200 << 10}, 0,
			"list.csv:2: the record that begins here is longer than 200 KiB; " +
				"see whether its line ends are lost, or whether this is a CSV list at all"},
		"columns": {columns(200), Limits{}, 1, ""},
		"a column more": {columns(201), Limits{}, 0,
			"list.csv:1: the header has 201 columns, more than 200; remove columns that the campaign does not use"},
		"rows": {"to\n+12025550123\n+12025550124\n", Limits{Rows: 2}, 2, ""},
		"a row more": {"to\n+12025550123\n+12025550124\n+12025550125\n", Limits{Rows: 2}, 2,
			"list.csv: the list has more than 2 rows; split it"},
		"a malformed row more": {"to\n+12025550123\n+12025550124\n1,2\n", Limits{Rows: 2}, 2,
			"list.csv: the list has more than 2 rows; split it"},
		"bytes": {"to\n+12025550123\n", Limits{Size: 16}, 1, ""},
		"a byte more of the list": {"to\n+12025550123\n\n", Limits{Size: 16}, 0,
			"list.csv:1: the list is larger than 0 MiB; split it"},
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

func TestExpansionIsCheckedAfterTheFirstMiB(t *testing.T) {
	for name, c := range map[string]struct {
		plain, compressed int64
		want              string
	}{
		"a MiB of nothing": {1 << 20, 1, ""},
		"a byte more than a MiB": {1<<20 + 1, 1,
			"list.csv: the gzip file expands more than 100-fold; upload the list uncompressed if it really is that repetitive"},
		"a hundredfold": {2_000_000, 20_000, ""},
		"more than a hundredfold": {2_000_001, 20_000,
			"list.csv: the gzip file expands more than 100-fold; upload the list uncompressed if it really is that repetitive"},
		"a byte less was expanded": {2_000_000, 19_999,
			"list.csv: the gzip file expands more than 100-fold; upload the list uncompressed if it really is that repetitive"},
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

// A fault names its file, line and column in bytes.
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
		"quote inside a name": {"sep=,\nto,n\"x\n", 0,
			`list.csv:2:5: the header has a quote in the wrong place; quote a whole name or none of it, and write a quote inside as ""`},
	} {
		if rows, got := outcome(c.list, Options{}); rows != c.rows || got != c.want {
			t.Errorf("%s: %d rows, then %q, want %d and %q", name, rows, got, c.rows, c.want)
		}
	}
}

func TestMalformedRowsSayWhatAndWhere(t *testing.T) {
	const head = "to,x,y\n+12025550123,a,b\n"
	for name, c := range map[string]struct{ row, want string }{
		"too few":  {"+12025550124,a\n", "line 3: 2 cells where the header has 3; add the missing ones, empty if need be"},
		"too many": {"+12025550124,a,b,c\n", "line 3: 4 cells where the header has 3; quote a cell that holds the delimiter (comma)"},
		"one":      {"+12025550124\n", "line 3: 1 cell where the header has 3; add the missing ones, empty if need be"},
		"over two lines": {"+12025550124,\"a\nb\"\n",
			"lines 3 to 4, read as one record: 2 cells where the header has 3; add the missing ones, empty if need be"},
		"bare returns": {"+12025550124,a,b\r+12025550125,a,b\n",
			"line 3: 5 cells where the header has 3, and a carriage return without line feed among them; save the list with LF or CRLF line ends"},
		"after blanks": {"\n\n+12025550124,a\r\n", "line 5: 2 cells where the header has 3; add the missing ones, empty if need be"},
		"a quote inside": {"+12025550124,a\"b,c\n",
			`line 3: a quote stands in the wrong place (line 3, byte 15); quote a whole cell or none of it, and write a quote inside as ""`},
		"after a quote": {"+12025550124,\"a\"b,c\n",
			`line 3: a quote stands in the wrong place (line 3, byte 16); quote a whole cell or none of it, and write a quote inside as ""`},
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
		"": -1, "a,b\n": -1, "\"a\",b": -1, "\"a": 0, "a,\"b": 2, "a,\"b\",\"c": 6, "\"a\"\"b": 0, "\"a\"\"\",\"": 6, "a\nb,\"c": -1,
		"\"a\"b,\"c": -1, "\"a\"\n\"b": -1, "\"a\nb\",\"": 6, "a,b\n,\"c": -1, "\"\"": -1, "\"": 0, "\"\"\"": 0,
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
		if c.want == "" && f.Kind != InvalidPhone || c.want != "" &&
			(f.Kind != MalformedRow || f.Column != "to" || !strings.Contains(f.Message, " is not "+c.want+"; ")) || rows[1].Cells[0] != "\ufffd" {
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
