package reporting

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"campaignd/campaign"
)

func built(t *testing.T, run campaign.Run, l campaign.ReportLedger) *Report {
	t.Helper()
	r, err := Build(context.Background(), l, run)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestReportIsAsScriptsExpect(t *testing.T) {
	run, m := sample()
	b, err := built(t, run, m).JSON()
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "report.json", b)
}

func TestReportForPeople(t *testing.T) {
	for _, c := range []struct {
		name  string
		width int
		set   func(*campaign.Run)
	}{
		{"report.txt", 0, func(*campaign.Run) {}},
		{"report_narrow.txt", 60, func(r *campaign.Run) {
			r.State, r.Reason = campaign.Paused, campaign.PausedByTemplate
			r.Detail = "the template spring_sale (en_US) was paused by the platform: FIRST_PAUSE"
		}},
		{"report_finished.txt", 100, func(r *campaign.Run) { r.State, r.EndedAt = campaign.Finished, at(754.4) }},
	} {
		run, m := sample()
		c.set(&run)
		var b bytes.Buffer
		if err := built(t, run, m).Table(&b, c.width); err != nil {
			t.Fatal(err)
		}
		golden(t, c.name, b.Bytes())
		for line := range strings.Lines(b.String()) {
			if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); c.width > 0 && n > c.width {
				t.Errorf("%s: %d runes in %q", c.name, n, line)
			}
		}
	}
}

func TestEveryStatusIsAlwaysAKey(t *testing.T) {
	b, err := built(t, campaign.Run{No: 1, Campaign: "empty"}, &memory{}).JSON()
	if err != nil {
		t.Fatal(err)
	}
	var got struct {
		Totals                           map[string]int64
		Skipped, Failed, Refused, Funnel map[string]int64
	}
	if err := json.Unmarshal(b, &got); err != nil {
		t.Fatal(err)
	}
	for _, s := range campaign.Statuses {
		if n, there := got.Totals[string(s)]; !there || n != 0 {
			t.Errorf("totals.%s = %d, there: %v", s, n, there)
		}
	}
	if len(got.Totals) != len(campaign.Statuses) || got.Skipped == nil || got.Failed == nil || got.Refused == nil {
		t.Errorf("got %s", b)
	}
}

func TestTotalsSurviveARoundTrip(t *testing.T) {
	run, m := sample()
	want := built(t, run, m)
	b, err := json.Marshal(want)
	if err != nil {
		t.Fatal(err)
	}
	var got Report
	if err := json.Unmarshal(b, &got); err != nil {
		t.Fatal(err)
	}
	if got.Totals.Sum() != got.Rows || got.Rows != want.Rows || got.Unresolved() != want.Unresolved() {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

func TestUnresolvedIsWhatExitCode3Means(t *testing.T) {
	run, m := sample()
	if got := built(t, run, m).Unresolved(); got != 5 { // 2 queued, 1 sending, 1 in doubt, 1 unknown
		t.Errorf("got %d, want 5", got)
	}
}

func TestReportOfARunBeingImportedCountsWhatIsThere(t *testing.T) {
	run, m := sample()
	run.State, run.Rows = campaign.Importing, 4
	if r := built(t, run, m); r.Rows != int64(len(m.lines)) {
		t.Errorf("rows %d, want %d", r.Rows, len(m.lines))
	}
}

func TestReportPassesTheLedgersErrorOn(t *testing.T) {
	run, m := sample()
	m.fail = errors.New("disk on fire")
	if _, err := Build(context.Background(), m, run); !errors.Is(err, m.fail) {
		t.Errorf("got %v", err)
	}
}

func TestTableCannotSteerTheTerminal(t *testing.T) {
	run, m := sample()
	run.ListName, run.Detail, run.State = "list\x1b]0;pwned\x07.csv", "a\u202eb\xff", campaign.Paused
	m.lines[6].Code = "send_\x1b[31mred"
	var b bytes.Buffer
	if err := built(t, run, m).Table(&b, 80); err != nil {
		t.Fatal(err)
	}
	if strings.ContainsAny(b.String(), "\x1b\x07\u202e\ufffd") || !utf8.ValidString(b.String()) {
		t.Errorf("control characters came through: %q", b.String())
	}
}

func TestTableSaysWhenTheSumIsWrong(t *testing.T) {
	run, m := sample()
	run.Rows++
	var b bytes.Buffer
	if err := built(t, run, m).Table(&b, 0); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(b.String(), "campaignd audit") {
		t.Errorf("nothing said:\n%s", b.String())
	}
}

func TestPercentNeverRoundsToNothingOrAll(t *testing.T) {
	for _, c := range []struct {
		n, all int64
		want   string
	}{
		{0, 0, ""}, {0, 10, "0.0 %"}, {1, 1_000_000, "< 0.1 %"}, {1, 3, "33.3 %"}, {2, 3, "66.7 %"},
		{999_999, 1_000_000, "> 99.9 %"}, {10, 10, "100.0 %"}, {12, 10, "120.0 %"},
	} {
		if got := percent(c.n, c.all); got != c.want {
			t.Errorf("percent(%d, %d) = %q, want %q", c.n, c.all, got, c.want)
		}
	}
}

func TestCountSetsThousandsApart(t *testing.T) {
	for n, want := range map[int64]string{0: "0", 999: "999", 1000: "1,000", 1234567: "1,234,567", -1234: "-1,234", -123: "-123"} {
		if got := count(n); got != want {
			t.Errorf("count(%d) = %q, want %q", n, got, want)
		}
	}
}

func TestTimesAreUTC(t *testing.T) {
	run, m := sample()
	run.CreatedAt = run.CreatedAt.In(time.FixedZone("WAT", 3600))
	if got := built(t, run, m).Run.CreatedAt; got.Location() != time.UTC {
		t.Errorf("created_at in %v", got.Location())
	}
}
