package html

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"campaignd/campaign"
)

var pages = flag.String("pages", "", "write the reports that the browser looks at to this folder")

func written(t testing.TB, f *Facts) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := Write(&b, f); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

var style = regexp.MustCompile(`(?s)<style>(.*?)</style>`)

func TestReportsReadAsBefore(t *testing.T) {
	for name, f := range fixtures() {
		got := written(t, f)
		if *pages != "" {
			if err := os.WriteFile(filepath.Join(*pages, name+".html"), got, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		text := style.ReplaceAll(got, []byte("<style>…</style>"))
		text = regexp.MustCompile(`sha256-[^&']*`).ReplaceAll(text, []byte("sha256-…"))
		text = bytes.ReplaceAll(text, []byte("><"), []byte(">\n<"))
		path := filepath.Join("testdata", name+".html")
		if os.Getenv("UPDATE_GOLDEN") != "" {
			if err := os.WriteFile(path, text, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(path)
		if err != nil || !bytes.Equal(want, text) {
			t.Errorf("%s (%v): got a report that differs, want the same; UPDATE_GOLDEN=1 writes it", path, err)
		}
	}
}

// A person can send a report by mail, and whatever the run, its length is bounded.
func TestAReportIsSmall(t *testing.T) {
	for name, f := range fixtures() {
		if n := len(written(t, f)); n > MaxSize {
			t.Errorf("%s: got %d bytes, want at most %d", name, n, MaxSize)
		}
	}
}

func TestThePolicyAllowsOnlyTheOwnStyle(t *testing.T) {
	text := written(t, single())
	all := style.FindAllSubmatch(text, -1)
	if len(all) != 1 {
		t.Fatalf("got %d styles, want one", len(all))
	}
	sum := sha256.Sum256(all[0][1])
	want := "default-src 'none'; style-src 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'; font-src data:"
	if Policy() != want {
		t.Errorf("got the policy %q, want %q", Policy(), want)
	}
	meta := regexp.MustCompile(`http-equiv="Content-Security-Policy" content="([^"]*)"`).FindSubmatch(text)
	if meta == nil || strings.NewReplacer("&#39;", "'", "&#43;", "+").Replace(string(meta[1])) != want {
		t.Errorf("got %q in the page, want the policy", meta)
	}
	foreign := regexp.MustCompile(`(?i)<script| style=|javascript:|https?:|<img|<link| on[a-z]+=`)
	if bad := foreign.Find(style.ReplaceAll(text, nil)); bad != nil {
		t.Errorf("got %q in the page, want no script, no style of its own and no request", bad)
	}
}

func TestForeignFilesAreThoseOfTheirSource(t *testing.T) {
	readme, err := os.ReadFile("assets/README.md")
	if err != nil {
		t.Fatal(err)
	}
	lines := regexp.MustCompile("(?m)^\\| `([^`]+)` .*`([0-9a-f]{64})` \\|$").FindAllSubmatch(readme, -1)
	if len(lines) != 2 {
		t.Errorf("got %d files in assets/README.md, want 2", len(lines))
	}
	for _, l := range lines {
		text, err := os.ReadFile(filepath.Join("assets", string(l[1])))
		if sum := sha256.Sum256(text); err != nil || hex.EncodeToString(sum[:]) != string(l[2]) {
			t.Errorf("%s (%v): got the sum %x, want %s", l[1], err, sum, l[2])
		}
	}
}

func TestAPageOpensWithWhatIsSo(t *testing.T) {
	for want, f := range map[string]*Facts{
		"The list has no rows, so nothing was sent.":                                      empty(),
		"One person got the message, the only one to whom it could be sent; it was read.": single(),
		"8 702 115 people got the message, 88.5 % of the 9 830 000 to whom it could be sent; 56.4 % of them have read it. " +
			"6 may have got it and are not counted. 170 000 rows were skipped.": tenMillion(),
	} {
		l := newView(f, nil).Lede
		if got := strings.NewReplacer("\u202f", " ", "\u00a0", " ").Replace(l.Strong + l.Rest); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func TestARunUnderWayIsToldAsSuch(t *testing.T) {
	f := tenMillion()
	f.Report.Run.State, f.Report.Run.EndedAt = campaign.Running, time.Time{}
	f.Report.Totals[campaign.Queued] = 1_000
	v := newView(f, nil)
	if !strings.Contains(v.Lede.Strong, "so far") || !strings.Contains(v.Lede.Rest, "1\u202f000 rows are still to be sent") {
		t.Errorf("got %+v, want figures so far and the rows that wait", v.Lede)
	}
	if !strings.Contains(string(v.Panels[0].Drawing), ">now<") {
		t.Error("got a plot without a line for now, want one")
	}
	if len(v.Notices) == 0 || v.Notices[0].Title != "These figures may be wrong" {
		t.Errorf("got %+v for totals that do not add up, want it said first", v.Notices)
	}
}

// The others of a breakdown are added up, so that each table has all rows.
func TestTheOthersOfABreakdownAreAddedUp(t *testing.T) {
	f := wide()
	var want, got int64
	for _, n := range f.Report.Skipped {
		want += n
	}
	var all []line
	for reason, n := range f.Report.Skipped {
		all = append(all, line{name: reason, n: n})
	}
	first, others, rest := most(all)
	for _, l := range first {
		got += l.n
	}
	if got+rest != want || len(first)+others != len(f.Report.Skipped) || len(first) != mostLines-1 {
		t.Errorf("got %d rows in %d lines and %d in %d others, want %d rows of %d reasons", got, len(first), rest, others, want,
			len(f.Report.Skipped))
	}
}

func TestALongRunIsDrawnInLongerSteps(t *testing.T) {
	for span, want := range map[time.Duration]time.Duration{
		time.Minute: time.Minute, 4 * time.Hour: time.Minute, 5 * time.Hour: 2 * time.Minute, 30 * 24 * time.Hour: 3 * time.Hour,
		5 * 365 * 24 * time.Hour: 8 * 24 * time.Hour,
	} {
		if got := stepOf(span, time.Minute); got != want {
			t.Errorf("%s: got steps of %s, want %s", span, got, want)
		}
	}
	if got := stepOf(time.Hour, 5*time.Minute); got != 5*time.Minute {
		t.Errorf("got steps of %s from points each 5 minutes, want those", got)
	}
}

// FuzzNothingBreaksAReport puts any text in each place where one comes from outside.
func FuzzNothingBreaksAReport(f *testing.F) {
	for _, s := range []string{
		`"><script>alert(1)</script>`, "\u202eevil\u202c", "a\x00b", strings.Repeat("ab", 5000), "\xff", "{{.}}", "</style>",
	} {
		f.Add(s)
	}
	count := func(text []byte) int { return bytes.Count(style.ReplaceAll(text, nil), []byte("<")) }
	f.Fuzz(func(t *testing.T, s string) {
		facts := func(s string) *Facts {
			f := wide()
			r := f.Report
			r.Run.ID, r.Run.List, r.Run.Template, r.Run.Language, r.Run.Detail, r.Run.ListHash = "r"+s, s+"l", "t"+s, "e"+s, "d"+s, "h"+s
			r.RefusedEvents, r.Holds[0].Sentence, f.Version = "e"+s, "h"+s, s
			r.Failed, r.Skipped = map[string]int64{"c" + s: 5}, map[string]int64{"k" + s: 7}
			f.Summary.Connections[0].Connection, f.Summary.Countries[0].Country = "n"+s, "c"+s
			f.History[0].Sentence, f.Limits[0].Why, r.Cost.Amounts[0].Currency = "w"+s, "y"+s, s
			return f
		}
		got := written(t, facts(s))
		if n, want := count(got), count(written(t, facts("x"))); n != want {
			t.Errorf("%.100q: got %d elements, want the %d of a plain text", s, n, want)
		}
		if len(got) > MaxSize {
			t.Errorf("%.100q: got %d bytes, want at most %d", s, len(got), MaxSize)
		}
		if i := bytes.IndexAny(got, "\x00\u202e\u202c\u2066\u200f"); i >= 0 {
			t.Errorf("%.100q: got %q at %d, want no character that turns or hides text", s, got[i:i+1], i)
		}
	})
}
