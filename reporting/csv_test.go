package reporting

import (
	"bytes"
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"iter"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"campaignd/campaign"
	"campaignd/internal/spreadsheet"
	"campaignd/recipients"
)

func TestExportIsAsScriptsExpect(t *testing.T) {
	run, m := sample()
	rs, err := rates(t, "market,category,currency,rate,from\n*,marketing,EUR,0.0648,2026-09-01\n")
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := WriteCSV(context.Background(), &b, m, run, rs); err != nil {
		t.Fatal(err)
	}
	golden(t, "report.csv", b.Bytes())
}

// Excel opens the file by a double click: with its letters, in columns, and with whole numbers.
func TestAnExportForExcelKeepsNumbersAndLetters(t *testing.T) {
	m := &memory{lines: []campaign.Line{{
		Delivery: campaign.Delivery{Row: 1, To: "+2348031234567",
			Cells: []string{"08031234567", "Zoë; Ltd", "=SUM(1)", "12.50", "123456789012", "0.5"}},
		Status: campaign.Queued,
	}}}
	run := campaign.Run{No: 1, Campaign: "c", Header: []string{"phone", "name", "f", "price", "id", "share"}}
	var b bytes.Buffer
	if err := WriteExcel(t.Context(), &b, m, run, nil, ';'); err != nil {
		t.Fatal(err)
	}
	want := "\uFEFF" + strings.Join(append(slices.Clone(columns[:]), run.Header...), ";") + "\r\n" +
		`1;"=""+2348031234567""";;queued;;;;0;;;;;;;;;;;"=""08031234567""";"Zoë; Ltd";'=SUM(1);12.50;"=""123456789012""";0.5` + "\r\n"
	if b.String() != want {
		t.Errorf("got\n%q\nwant\n%q", b.String(), want)
	}
	r, err := recipients.NewReader(&b, "report.csv", recipients.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	row, err := r.Next()
	if err != nil || row.To != "+2348031234567" || row.Cells[len(columns)] != "08031234567" {
		t.Errorf("read again as a list: got %+v, %v, want the number and the list's own cell", row, err)
	}
}

func TestExportOfAnEmptyListIsAHeader(t *testing.T) {
	var b bytes.Buffer
	if err := WriteCSV(context.Background(), &b, &memory{}, campaign.Run{No: 1, Campaign: "c"}, nil); err != nil {
		t.Fatal(err)
	}
	const want = "row,to,connection,status,reason,code,message_id,attempts,accepted_at,sent_at,delivered_at,read_at,failed_at," +
		"category,type,market,cost,currency\n"
	if b.String() != want {
		t.Errorf("got %q, want %q", b.String(), want)
	}
}

func TestListColumnsNeverClashWithOurs(t *testing.T) {
	got := exportHeader([]string{"to", "row", "list_row", "=evil", "name"})[len(columns):]
	if want := []string{"list_to", "list_list_row", "list_row", "'=evil", "name"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestReimportedExportRestoresEveryValue(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		header := []string{"phone", "a", "b"}
		cell := rapid.StringMatching(`(['=+\-@\t\r\n＝]{0,3}[0-9.]{0,4}[a1'"=;,|]{0,3}){0,2}`)
		rows := rapid.SliceOfN(rapid.SliceOfN(cell, 3, 3), 0, 5).Draw(t, "rows")
		m := &memory{}
		for i, cells := range rows {
			m.lines = append(m.lines,
				campaign.Line{Delivery: campaign.Delivery{Row: int64(i + 1), To: cells[0], Cells: cells}, Status: campaign.Queued})
		}
		var b bytes.Buffer
		if err := WriteCSV(context.Background(), &b, m, campaign.Run{No: 1, Campaign: "c", Header: header}, nil); err != nil {
			t.Fatal(err)
		}
		records, err := csv.NewReader(&b).ReadAll()
		if err != nil {
			t.Fatal(err)
		}
		if len(records) != len(rows)+1 {
			t.Fatalf("%d records, want a header and %d rows", len(records), len(rows))
		}
		for i, cells := range rows {
			for j, want := range cells {
				if spreadsheet.Unescape(want) != want {
					continue // Unescape documents this exception
				}
				want = strings.ReplaceAll(want, "\r\n", "\n") // encoding/csv reads a quoted CRLF as LF
				got := spreadsheet.Unescape(records[i+1][len(columns)+j])
				if got != want && !strings.HasPrefix(want, "\r\n") {
					t.Fatalf("row %d, column %s: got %q, want %q", i+1, header[j], got, want)
				}
			}
		}
	})
}

func TestRaggedRowsKeepTheExportRectangular(t *testing.T) {
	m := &memory{lines: []campaign.Line{
		{Delivery: campaign.Delivery{Row: 1, Cells: []string{"1"}}, Status: campaign.Queued},
		{Delivery: campaign.Delivery{Row: 2, Cells: []string{"1", "2", "3"}}, Status: campaign.Queued},
		{Delivery: campaign.Delivery{Row: 3}, Status: campaign.Queued},
	}}
	var b bytes.Buffer
	if err := WriteCSV(context.Background(), &b, m, campaign.Run{No: 1, Campaign: "c", Header: []string{"a", "b"}}, nil); err != nil {
		t.Fatal(err)
	}
	if records, err := csv.NewReader(&b).ReadAll(); err != nil || len(records) != 4 {
		t.Errorf("%d records, %v; want 4", len(records), err)
	}
}

func TestExportedTimesAreUTCToTheMillisecond(t *testing.T) {
	lagos := time.FixedZone("WAT", 3600)
	for _, tt := range []struct {
		at   time.Time
		want string
	}{
		{time.Time{}, ""},
		{time.Date(2026, 3, 1, 0, 30, 0, 100e6, lagos), "2026-02-28T23:30:00.100Z"},
		{time.Date(2026, 3, 1, 12, 0, 0, 999_999_999, time.UTC), "2026-03-01T12:00:00.999Z"},
		{time.Date(2026, 3, 1, 12, 0, 0, 10e6, time.UTC), "2026-03-01T12:00:00.010Z"},
		{time.Date(2026, 3, 1, 12, 0, 0, 1e6, time.UTC), "2026-03-01T12:00:00.001Z"},
	} {
		if got := instant(tt.at); got != tt.want {
			t.Errorf("instant(%v) = %q, want %q", tt.at, got, tt.want)
		}
	}
}

// encoding/csv quotes a cell with a delimiter, a quote or a line end, or with a leading space.
func TestExportQuotesCellsThatWouldBreakARow(t *testing.T) {
	m := &memory{lines: []campaign.Line{{Delivery: campaign.Delivery{Row: 1, To: "+1", Cells: []string{
		"a,b", `say "hi"`, "two\nlines", " lead", "tail ", "", "a;b", "\t=1", "plain",
	}}, Status: campaign.Queued}}}
	var b bytes.Buffer
	header := []string{"1", "2", "3", "4", "5", "6", "7", "8", "9"}
	if err := WriteCSV(context.Background(), &b, m, campaign.Run{No: 1, Campaign: "c", Header: header}, nil); err != nil {
		t.Fatal(err)
	}
	_, got, _ := strings.Cut(b.String(), "\n")
	want := "1,+1,,queued,,,,0,,,,,,,,,,,\"a,b\",\"say \"\"hi\"\"\",\"two\nlines\",\" lead\",tail ,,a;b,'\t'=1,plain\n"
	if got != want {
		t.Errorf("row\ngot  %q\nwant %q", got, want)
	}
}

func TestRejectsAreAListAgain(t *testing.T) {
	for _, tt := range []struct {
		comma rune
		want  string
	}{
		{',', "phone,'=name,reject_line,reject_reason,reject_note\n" +
			"x,'=1+1,2,invalid_phone,'=line 2\n" +
			"y,,3,malformed_row,\n" +
			"+234,Ada,5,duplicate,\"line 5: a, b; c\"\n"},
		{';', "phone;'=name;reject_line;reject_reason;reject_note\n" +
			"x;'=1+1;2;invalid_phone;'=line 2\n" +
			"y;;3;malformed_row;\n" +
			"+234;Ada;5;duplicate;\"line 5: a, b; c\"\n"},
	} {
		var b bytes.Buffer
		r, err := NewRejects(&b, []string{"phone", "=name"}, tt.comma)
		if err != nil {
			t.Fatal(err)
		}
		for _, row := range []campaign.Reject{
			{Row: 1, Line: 2, To: "x", Reason: campaign.InvalidPhone, Note: "=line 2", Cells: []string{"x", "=1+1"}},
			{Row: 2, Line: 3, Reason: campaign.MalformedRow, Cells: []string{"y"}},
			{Row: 3, Line: 5, Reason: campaign.Duplicate, Note: "line 5: a, b; c", Cells: []string{"+234", "Ada", "surplus"}},
		} {
			if err := r.Add(row); err != nil {
				t.Fatal(err)
			}
		}
		if err := r.Close(); err != nil {
			t.Fatal(err)
		}
		if b.String() != tt.want {
			t.Errorf("got\n%s\nwant\n%s", &b, tt.want)
		}
	}
}

// A spreadsheet shows the apostrophes that Escape wrote, and keeps them when it saves.
func TestWhatRejectsWriteIsReadAgain(t *testing.T) {
	header := []string{"phone", "+size", "=note"}
	for _, cells := range [][]string{
		{"+44 7400 123456", "-5", " =1+1"}, {"+447400123456", "+1 555", "\u00a0@x"}, {" +44 7400 123456", "x; =1", "\ufeff=1"},
		{"\u202a+447400123456\u202c", "'", "a, -5 off"}, {"tel:+44-7400-123456", "=", "-"},
	} {
		var b bytes.Buffer
		w, err := NewRejects(&b, header, ';')
		if err == nil {
			err = errors.Join(w.Add(campaign.Reject{Line: 2, Reason: campaign.Duplicate, Cells: cells}), w.Close())
		}
		if err != nil {
			t.Fatal(err)
		}
		corrected := strings.Replace(b.String(), "\n'+44 7400 123456", "\n'+447400123456", 1) // only the spaces taken out
		r, err := recipients.NewReader(strings.NewReader(corrected), "rejects.csv", recipients.Options{})
		if err != nil {
			t.Errorf("%q: %v, want the list %q", cells, err, &b)
			continue
		}
		if got := r.Header()[:3]; !slices.Equal(got, header) {
			t.Errorf("the columns are %q, want %q", got, header)
		}
		row, err := r.Next()
		if err != nil || row.Fault != nil || row.To != "+447400123456" {
			t.Errorf("%q: %+v, %v, want the number +447400123456", cells, row, err)
		} else if row.Cells[1] != cells[1] || row.Cells[2] != cells[2] {
			t.Errorf("the cells are %q, want %q", row.Cells[:3], cells)
		}
	}
}

func TestRejectsAndExportPassAWriteErrorOn(t *testing.T) {
	r, err := NewRejects(brokenPipe{}, []string{"phone"}, ',')
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Close(); !errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("Close: got %v, want %v", err, io.ErrClosedPipe)
	}
	wide := strings.Repeat("x", 1<<20) // more than the buffer, so that the row itself returns the error
	if err := r.Add(campaign.Reject{Cells: []string{wide}}); !errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("Add: got %v, want %v", err, io.ErrClosedPipe)
	}
	if _, err := NewRejects(brokenPipe{}, []string{wide}, ','); !errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("NewRejects: got %v, want %v", err, io.ErrClosedPipe)
	}
	m := &memory{lines: []campaign.Line{{Delivery: campaign.Delivery{Row: 7, Cells: []string{wide}}}}}
	err = WriteCSV(context.Background(), brokenPipe{}, m, campaign.Run{No: 1, Campaign: "c", Header: []string{"a"}}, nil)
	if !errors.Is(err, io.ErrClosedPipe) || !strings.Contains(err.Error(), "export of run c-1, row 7") {
		t.Errorf("WriteCSV of a wide row: got %v, want %v and the row", err, io.ErrClosedPipe)
	}
	err = WriteCSV(context.Background(), brokenPipe{}, &memory{}, campaign.Run{No: 1, Campaign: "c", Header: []string{wide}}, nil)
	if !errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("WriteCSV of a wide header: got %v, want %v", err, io.ErrClosedPipe)
	}
}

func TestExportNamesTheErrorThatStoppedIt(t *testing.T) {
	run, m := sample()
	m.fail, m.failAt = errors.New("disk on fire"), 3
	err := WriteCSV(context.Background(), io.Discard, m, run, nil)
	if !errors.Is(err, m.fail) || !strings.Contains(err.Error(), "spring-sale-3") {
		t.Errorf("got %v, want %v and the run's id", err, m.fail)
	}
	_, m = sample()
	if err := WriteCSV(context.Background(), brokenPipe{}, m, run, nil); !errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("got %v, want the writer's error", err)
	}
}

type brokenPipe struct{}

func (brokenPipe) Write([]byte) (int, error) { return 0, io.ErrClosedPipe }

// repeat yields one line n times, so that the benchmark measures only the writing.
type repeat struct {
	campaign.ReportLedger
	n    int
	line campaign.Line
}

func (r repeat) Lines(context.Context, campaign.RunNo) iter.Seq2[campaign.Line, error] {
	return func(yield func(campaign.Line, error) bool) {
		for i := range r.n {
			r.line.Row = int64(i + 1)
			if !yield(r.line, nil) {
				return
			}
		}
	}
}

func BenchmarkWriteCSV(b *testing.B) {
	run, m := sample()
	b.ReportAllocs()
	b.ResetTimer()
	if err := WriteCSV(context.Background(), io.Discard, repeat{n: b.N, line: m.lines[0]}, run, nil); err != nil {
		b.Fatal(err)
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "rows/s")
}

func ExampleWriteCSV() {
	l := &memory{lines: []campaign.Line{{
		Delivery: campaign.Delivery{Row: 1, To: "+2348012345678", Cells: []string{"08012345678", "=1+1"}},
		Status:   campaign.Accepted, Connection: "conn_1", MessageID: "wamid.A", Attempts: 1,
		AcceptedAt: time.Date(2026, 9, 21, 14, 13, 20, 0, time.UTC),
	}}}
	var out strings.Builder
	if err := WriteCSV(context.Background(), &out, l, campaign.Run{No: 1, Header: []string{"phone", "note"}}, nil); err != nil {
		fmt.Println(err)
	}
	fmt.Print(strings.Replace(out.String(), ",accepted_at,", ",\n  accepted_at,", 1)) // two lines for the header
	// Output:
	// row,to,connection,status,reason,code,message_id,attempts,
	//   accepted_at,sent_at,delivered_at,read_at,failed_at,category,type,market,cost,currency,phone,note
	// 1,+2348012345678,conn_1,accepted,,,wamid.A,1,2026-09-21T14:13:20.000Z,,,,,,,,,,08012345678,'=1+1
}
