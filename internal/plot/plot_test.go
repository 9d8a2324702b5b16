package plot

import (
	"encoding/xml"
	"errors"
	"html/template"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode/utf8"
)

var nine = time.Date(2026, 3, 2, 9, 0, 0, 0, time.UTC)

func minute(n int) time.Time { return nine.Add(time.Duration(n) * time.Minute) }

// spring is a run with a canary, a hold, and a share from 10:05 on.
func spring() *Line {
	l := &Line{ID: "rate", Title: "Messages accepted in each minute", What: "Accepted", From: nine, To: minute(97), Step: time.Minute,
		End:    "end",
		Limits: []Limit{{nine, 4320, "throughput"}, {minute(65), 2400, "share"}},
		Bands:  []Band{{minute(31), minute(38), "held"}}}
	for n := range 97 {
		switch {
		case n < 2:
			l.Points = append(l.Points, Point{minute(n), 166})
		case n < 12 || n >= 31 && n < 38:
		case n < 65:
			l.Points = append(l.Points, Point{minute(n), float64(4290 + n%3)})
		default:
			l.Points = append(l.Points, Point{minute(n), float64(2380 + n%4)})
		}
	}
	return l
}

func latency() *Histogram {
	h := &Histogram{ID: "latency", Title: "Time to delivery", Series: Delivered,
		Marks: []Mark{{1300 * time.Millisecond, "half 1.3 s"}, {5 * time.Second, "90 % 5 s"}, {2 * time.Minute, "99 % 2 min"}}}
	n := int64(1)
	for from := 200 * time.Millisecond; from < time.Hour; from = from * 11 / 10 {
		if n *= 2; n > 5000 {
			n = max(10_000_000_000/int64(from/time.Microsecond), 1)
		}
		h.Buckets = append(h.Buckets, Bucket{from, from * 11 / 10, n})
	}
	return h
}

func funnel() *Table {
	return &Table{Caption: "How far messages came", Funnel: true,
		Columns: []Column{{"Stage", Words}, {"Share", Bars}, {"Messages", Number}, {"Of the stage before", Number}},
		Rows: [][]Cell{
			{{Text: "Sendable", Strong: true}, {Bar: Bar{Sendable, 196_412, 196_412}}, {Text: Count(196_412), Strong: true}, {}},
			{{Text: "Read", Strong: true}, {Bar: Bar{Read, 88_110, 196_412}}, {Text: Count(88_110), Strong: true}, {Text: Percent(88_110, 196_412)}},
		}}
}

func golden(t *testing.T, name string, got template.HTML) {
	t.Helper()
	path := filepath.Join("testdata", name)
	text := strings.ReplaceAll(string(got), "><", ">\n<") + "\n"
	if os.Getenv("UPDATE_GOLDEN") != "" {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil || string(want) != text {
		t.Errorf("%s (%v): got\n%s\nwant\n%s\nUPDATE_GOLDEN=1 writes it", path, err, text, want)
	}
}

func TestPlotsAreDrawnAsBefore(t *testing.T) {
	golden(t, "line.svg", spring().SVG())
	golden(t, "line_table.html", spring().Table().HTML())
	golden(t, "histogram.svg", latency().SVG())
	golden(t, "histogram_table.html", latency().Table().HTML())
	golden(t, "funnel.html", funnel().HTML())
	golden(t, "empty.svg", (&Line{ID: "a"}).SVG()+(&Histogram{ID: "b"}).SVG())
}

// Labels keep apart at the width of a phone for spans of a second to a year.
func TestAnAxisOfTimeHasAtMostSixLabels(t *testing.T) {
	lagos, err := time.LoadLocation("Africa/Lagos")
	if err != nil {
		t.Fatal(err)
	}
	for span := time.Second; span < 366*24*time.Hour; span = span * 13 / 10 {
		at, step := instants(nine.Add(17*time.Minute), nine.Add(17*time.Minute+span), lagos)
		if len(at) > maxLabels || span > 2*time.Second && step == 0 {
			t.Errorf("%s: got %d labels each %s, want at most %d", span, len(at), step, maxLabels)
		}
		for _, l := range at {
			if l.Before(nine.Add(17*time.Minute)) || step >= time.Hour && step < 24*time.Hour && l.In(lagos).Minute() != 0 {
				t.Errorf("%s: got a label at %s, want whole steps of the clock in Lagos", span, l.In(lagos))
			}
		}
	}
	if at, step := instants(nine, nine.Add(5000*24*time.Hour), time.UTC); len(at) != 0 || step != 0 {
		t.Errorf("14 years: got %d labels, want none", len(at))
	}
}

func TestAScaleHasRoundLinesAboveTheMost(t *testing.T) {
	for most, want := range map[float64][2]float64{
		0: {1, 1}, 1: {1, 1}, 7: {8, 2}, 166: {200, 50}, 4320: {5000, 1000}, 1_000_001: {1_500_000, 500_000},
	} {
		if top, step := scale(most); top != want[0] || step != want[1] {
			t.Errorf("up to %v: got lines to %v each %v, want %v", most, top, step, want)
		}
	}
}

// Parts of a whole add up to 100.0 % as they are shown.
func TestSharesOfAWholeAddUpToHundred(t *testing.T) {
	for _, c := range []struct {
		parts []int64
		all   int64
		want  string
	}{
		{[]int64{1, 1, 1}, 3, "33.4 % 33.3 % 33.3 %"},
		{[]int64{1445, 1445, 1110}, 4000, "36.1 % 36.1 % 27.8 %"}, // each rounded alone: 36.1, 36.1, 27.8
		{[]int64{2, 5, 3, 190}, 200, "1.0 % 2.5 % 1.5 % 95.0 %"},
		{[]int64{555, 1555, 2555, 5335}, 10000, "5.6 % 15.6 % 25.5 % 53.3 %"}, // alone: 5.6, 15.6, 25.6, 53.4: 100.2
		{[]int64{1, 99999}, 100000, "< 0.1 % > 99.9 %"},
		{[]int64{10}, 10, "100.0 %"},
		{[]int64{1, 1}, 3, "33.3 % 33.3 %"}, // not all together
		{[]int64{0}, 0, ""},
	} {
		if got := strings.ReplaceAll(strings.Join(Percents(c.parts, c.all), " "), "\u00a0", " "); got != c.want {
			t.Errorf("%v of %d: got %s, want %s", c.parts, c.all, got, c.want)
		}
	}
}

func TestFiguresAreWrittenForReaders(t *testing.T) {
	for got, want := range map[string]string{
		Count(-1234567): "-1\u202f234\u202f567", Count(999): "999",
		Percent(1, 100_000): "<\u00a00.1\u00a0%", Percent(99_999, 100_000): ">\u00a099.9\u00a0%",
		Percent(1, 0): "", Percent(1, 3): "33.3\u00a0%",
		Duration(42 * time.Millisecond): "42\u00a0ms", Duration(9960 * time.Millisecond): "10\u00a0s",
		Duration(1300 * time.Millisecond): "1.3\u00a0s",
		Duration(90 * time.Second):        "1\u00a0min 30\u00a0s", Duration(26 * time.Hour): "1\u00a0d 2\u00a0h",
	} {
		if got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

// FuzzTextsAreEscaped draws any text in each place of a plot. The drawing is well-formed, and has
// the elements of a drawing of plain texts.
func FuzzTextsAreEscaped(f *testing.F) {
	for _, s := range []string{
		`"><script>alert(1)</script>`, "\u202eevil\u202c", "a\x00b", strings.Repeat("ab ", 3334),
		"\xff\xfe", "&lt;", "🧡 ünï",
	} {
		f.Add(s, int64(7), int64(90))
	}
	f.Fuzz(func(t *testing.T, s string, n, seconds int64) {
		draw := func(s string) template.HTML {
			at := nine.Add(time.Duration(seconds%1_000_000) * time.Second)
			l := &Line{ID: "a", Title: s, What: s, From: nine, To: minute(60), Step: time.Minute, End: "e" + s,
				Points: []Point{{nine, float64(n)}, {at, 1}},
				Limits: []Limit{{nine, float64(n), s}, {at, 5, s}}, Bands: []Band{{nine, at, "b" + s}}}
			h := &Histogram{ID: "b", Title: s, Series: Delivered,
				Buckets: []Bucket{{time.Second, time.Duration(seconds), n}, {1, 2, 1}},
				Marks:   []Mark{{time.Duration(seconds), s}}}
			table := &Table{Caption: s, Columns: []Column{{s, Words}, {s, Minor}, {s, Bars}},
				Rows: [][]Cell{{{Text: s}, {Text: "c" + s, Code: "c" + s}, {Bar: Bar{Failed, n, seconds}}}}}
			return "<p>" + l.SVG() + l.Table().HTML() + h.SVG() + h.Table().HTML() + table.HTML() + "</p>"
		}
		got, want := elements(t, draw(s)), elements(t, draw(strings.Repeat("x", utf8.RuneCountInString(s))))
		if got != want {
			t.Errorf("%.200q: got the elements %s, want %s", s, got, want)
		}
	})
}

// elements are the names of the elements of a text, which has to be well-formed and free of
// characters that a page obeys.
func elements(t *testing.T, text template.HTML) string {
	t.Helper()
	if strings.ContainsAny(string(text), "\x00\u202e\u202c\u2066\u200f") {
		t.Errorf("got a character that turns or hides text in %.500q, want none", text)
	}
	var names strings.Builder
	for d := xml.NewDecoder(strings.NewReader(string(text))); ; {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			return names.String()
		}
		if err != nil {
			t.Fatalf("got %v in %.500q, want well-formed", err, text)
		}
		if e, ok := token.(xml.StartElement); ok {
			names.WriteString(e.Name.Local + " ")
		}
	}
}
