package recipients

import (
	"bufio"
	"bytes"
	"encoding/csv"
	"io"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
)

// Exports write ="0803..." so that Excel keeps the zero: with and without quotes of CSV around it.
func TestExcelsTextFormulaIsReadAsText(t *testing.T) {
	list := strings.Join([]string{
		`phone,name,code`,
		`="08031234567",Ada,="007"`,
		`"=""08031234568""","=""Bola, ""","=""say """"hi"""""""`,
		`"+2348031234569","two` + "\n" + `lines",="a,b"`,
		`="08031234576","two` + "\n\n" + `lines, ""=""""x"""",",="007"`,
		`08031234570,="",=""`,
		`08031234571,=A1,"=""a""&""b"""`,
		`08031234572,="a" b,x`,
		`08031234573,="a",`,
		`08031234574,="a"`,
		`08031234575,Last,x`,
	}, "\n") + "\n"
	rows, _, err := all(strings.NewReader(list), Options{DefaultRegion: "NG"})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, r := range rows {
		kind := "good"
		if r.Fault != nil {
			kind = string(r.Fault.Kind)
		}
		got = append(got, kind+" "+r.To+"|"+strings.Join(r.Cells[1:], "|"))
	}
	want := []string{
		"good +2348031234567|Ada|007",
		`good +2348031234568|Bola, |say "hi"`,
		"good +2348031234569|two\nlines|a,b",
		"good +2348031234576|two\n\nlines, \"=\"\"x\"\",|007",
		"good +2348031234570||",
		`good +2348031234571|=A1|="a"&"b"`,
		`malformed_row 08031234572|="a" b|x`,
		"good +2348031234573|a|",
		`malformed_row 08031234574|="a"|`,
		"good +2348031234575|Last|x",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
}

// A list that encoding/csv reads passes as it is. Each line of another list stays a line.
func TestTextCellsChangeNoOtherCell(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 5_000 {
		b := make([]byte, random.IntN(40))
		for i := range b {
			b[i] = `",=a`[random.IntN(4)]
			if random.IntN(8) == 0 {
				b[i] = "\r\n"[random.IntN(2)]
			}
		}
		list := string(b)
		got, err := io.ReadAll(newTextCells(bufio.NewReaderSize(iotest.OneByteReader(strings.NewReader(list)), 16), ',', 1000))
		whole, _ := io.ReadAll(newTextCells(strings.NewReader(list), ',', 1000))
		if err != nil || !bytes.Equal(got, whole) {
			t.Fatalf("%q in small parts: got %q and %v, want %q", list, got, err, whole)
		}
		if bytes.Count(got, []byte("\n")) != strings.Count(list, "\n") {
			t.Fatalf("%q: got %q, want as many lines", list, got)
		}
		cr := csv.NewReader(strings.NewReader(list))
		cr.FieldsPerRecord = -1
		if _, err := cr.ReadAll(); err == nil && string(got) != list {
			t.Fatalf("%q, which csv reads: got %q, want it unchanged", list, got)
		}
	}
}

// Reports, and many other exports, write an apostrophe before a cell that would be a formula.
func TestTheApostropheBeforeAFormulaIsTakenAway(t *testing.T) {
	rows, _, err := all(strings.NewReader("phone,name,note\n+12025550123,'@ada,'-20% off\n+12025550124,'Tis I,O'Neil\n"+
		"+12025550125,\"a;'=b\",'\n'+12025550126,'+1,\"'\"\n"), Options{})
	if err != nil || len(rows) != 4 {
		t.Fatalf("got %d rows, %v, want 4 rows", len(rows), err)
	}
	var got []string
	for _, r := range rows {
		got = append(got, strings.Join(r.Cells, "|"))
	}
	want := []string{"+12025550123|@ada|-20% off", "+12025550124|'Tis I|O'Neil", "+12025550125|a;=b|'", "'+12025550126|'+1|'"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
}

// A column that no field uses may have the name of another.
func TestUnusedColumnsMayShareAName(t *testing.T) {
	rows, r, err := all(strings.NewReader("to,note,name,note\n+12025550123,a,b,c\n"), Options{})
	if err != nil || len(rows) != 1 {
		t.Fatalf("got %d rows, %v, want 1 row", len(rows), err)
	}
	if diff := cmp.Diff([]string{"to", "note", "name", "note"}, r.Header()); diff != "" {
		t.Errorf("header: -want +got\n%s", diff)
	}
	if diff := cmp.Diff([]string{"+12025550123", "a", "b", "c"}, rows[0].Cells); diff != "" {
		t.Errorf("cells: -want +got\n%s", diff)
	}
	if got := r.Column("note"); got != -1 {
		t.Errorf("Column of a name that two columns have: got %d, want -1", got)
	}
	if _, r, err = all(strings.NewReader("to;;name; \u200b \n+12025550123;;b;\n"), Options{}); err != nil {
		t.Fatalf("columns without a name: %v, want no error", err)
	}
	if diff := cmp.Diff([]string{"to", "column 2", "name", "column 4"}, r.Header()); diff != "" {
		t.Errorf("columns without a name: -want +got\n%s", diff)
	}
	for header, columns := range map[string]map[string]Names{
		"to,a,to":              nil,
		"to,timezone,timezone": nil,
		"a,b,a":                {"to": {"a"}},
		"to,b,b":               {"name": {"b"}},
		"to,z,z":               {"timezone": {"z"}},
	} {
		_, _, err := all(strings.NewReader(header+"\n+12025550123,a,b\n"), Options{Columns: columns})
		if err == nil || !strings.Contains(err.Error(), "are both called") {
			t.Errorf("header %s, mapped %v: got %v, want an error that two columns share the name", header, columns, err)
		}
	}
}
