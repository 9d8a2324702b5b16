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

	"github.com/google/go-cmp/cmp"

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
			r.State, r.Reason = campaign.Paused, campaign.PausedByBreaker
			r.Detail = "20 of the last 25 messages were refused for the same reason: a parameter of the template is wrong (132000)"
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
				t.Errorf("%s: %d runes in %q, want at most %d", c.name, n, line, c.width)
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
			t.Errorf("totals.%s = %d, present %v; want 0, true", s, n, there)
		}
	}
	if len(got.Totals) != len(campaign.Statuses) || got.Skipped == nil || got.Failed == nil || got.Refused == nil {
		t.Errorf("got %s, want %d totals, and skipped, failed and refused", b, len(campaign.Statuses))
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
	if got.Totals.sum() != got.Rows || got.Rows != want.Rows || got.Unresolved() != want.Unresolved() {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

func TestUnresolvedIsWhatExitCode3Counts(t *testing.T) {
	run, m := sample()
	if got := built(t, run, m).Unresolved(); got != 5 { // 2 queued, 1 sending, 1 in doubt, 1 unknown
		t.Errorf("got %d, want 5", got)
	}
}

func TestReportOfAnImportingRunCountsItsRowsSoFar(t *testing.T) {
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
		t.Errorf("got %v, want %v", err, m.fail)
	}
}

func TestTableCannotControlTheTerminal(t *testing.T) {
	run, m := sample()
	run.ListName, run.Detail, run.State = "list\x1b]0;pwned\x07.csv", "a\u202eb\xff", campaign.Paused
	m.lines[6].Code = "send_\x1b[31mred"
	var b bytes.Buffer
	if err := built(t, run, m).Table(&b, 80); err != nil {
		t.Fatal(err)
	}
	if strings.ContainsAny(b.String(), "\x1b\x07\u202e\ufffd") || !utf8.ValidString(b.String()) {
		t.Errorf("got %q, want no control characters", b.String())
	}
}

func TestTheReportCountsWhatMoved(t *testing.T) {
	run, m := sample()
	m.segments = []campaign.SegmentState{{Connection: "conn_2", Moves: []campaign.SegmentMove{{From: "conn_1", Rows: 3}}}}
	var b bytes.Buffer
	r := built(t, run, m)
	if err := r.Table(&b, 0); err != nil {
		t.Fatal(err)
	}
	text, err := r.JSON()
	if err != nil {
		t.Fatal(err)
	}
	for got, want := range map[string]string{
		b.String():   "conn_2  given 3 rows, gave away 0 rows",
		string(text): "\"connection\": \"conn_2\",\n      \"given\": 3,\n      \"gave_away\": 0",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("got\n%s\nwant %s in it", got, want)
		}
	}
}

func TestTableTellsWhenTheSumIsWrong(t *testing.T) {
	run, m := sample()
	run.Rows++
	var b bytes.Buffer
	if err := built(t, run, m).Table(&b, 0); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(b.String(), "campaignd audit") {
		t.Errorf("got\n%s\nwant a hint at campaignd audit", b.String())
	}
}

func TestPercentNeverRoundsToNothingOrAll(t *testing.T) {
	for _, c := range []struct {
		n, all int64
		want   string
	}{
		{0, 0, ""}, {5, 0, ""}, {0, 10, "0.0 %"}, {0, 1, "0.0 %"}, {1, 1, "100.0 %"}, {1, 2000, "0.1 %"}, {1, 2001, "< 0.1 %"},
		{1999, 2000, "> 99.9 %"}, {1998, 2000, "99.9 %"}, {1, 1_000_000, "< 0.1 %"}, {1, 3, "33.3 %"}, {2, 3, "66.7 %"},
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
		t.Errorf("created_at in %v, want UTC", got.Location())
	}
}

func TestFunnelAndBreakdownsAreTheLedgersCounts(t *testing.T) {
	m := &memory{
		tallies: []campaign.Tally{
			{Status: campaign.Failed, Reason: "131049", N: 3}, {Status: campaign.Failed, Reason: "131026", N: 5}, {Status: campaign.Failed, N: 7},
			{Status: campaign.Refused, Reason: "send_media", N: 11}, {Status: campaign.Refused, N: 13},
			{Status: campaign.Skipped, Reason: "duplicate", N: 17}, {Status: campaign.Skipped, Reason: "expired", N: 19},
			{Status: campaign.Read, N: 23}, {Status: campaign.InDoubt, Reason: "time_out", N: 29},
			{Status: campaign.InDoubt, Reason: "reset", N: 31},
		},
		funnel: &campaign.Funnel{Accepted: 1, Sent: 2, Delivered: 3, Read: 4, Failed: 5, Adopted: 6, MaybeDuplicate: 7, Ambiguous: 8},
	}
	r := built(t, campaign.Run{No: 1, Campaign: "c", Rows: 158, State: campaign.Finished}, m)
	totals := Totals{campaign.Queued: 0, campaign.Sending: 0, campaign.Accepted: 0, campaign.Sent: 0, campaign.Delivered: 0, campaign.Read: 23,
		campaign.Failed: 15, campaign.Refused: 24, campaign.Skipped: 36, campaign.InDoubt: 60, campaign.Unknown: 0}
	if diff := cmp.Diff(totals, r.Totals); diff != "" {
		t.Errorf("totals -want +got:\n%s", diff)
	}
	for name, c := range map[string]struct{ got, want map[string]int64 }{
		"failed":  {r.Failed, map[string]int64{"131049": 3, "131026": 5, "no_code": 7}},
		"refused": {r.Refused, map[string]int64{"send_media": 11, "no_code": 13}},
		"skipped": {r.Skipped, map[string]int64{"duplicate": 17, "expired": 19}},
	} {
		if diff := cmp.Diff(c.want, c.got); diff != "" {
			t.Errorf("%s -want +got:\n%s", name, diff)
		}
	}
	want := Funnel{Sendable: 122, Accepted: 1, Sent: 2, Delivered: 3, Read: 4, Failed: 5, Adopted: 6, MaybeDuplicate: 7, Ambiguous: 8}
	if r.Funnel != want {
		t.Errorf("funnel = %+v, want %+v", r.Funnel, want)
	}
	if r.Totals.sum() != 158 || r.Rows != 158 || r.Unresolved() != 60 {
		t.Errorf("sum %d, rows %d, unresolved %d, want 158, 158, 60", r.Totals.sum(), r.Rows, r.Unresolved())
	}
}

func TestReportNamesTheRunAsTheLedgerDoes(t *testing.T) {
	run := campaign.Run{No: 7, Campaign: "c", State: campaign.Paused, Reason: campaign.PausedByBreaker,
		Detail: "why", Wanted: campaign.WantPause,
		ListName: "l.csv", ListHash: "ab", Launch: "cron x", Parent: 5, Template: "t", Language: "en", Marketing: true,
		CreatedAt: at(1), StartedAt: at(2), EndedAt: at(3)}
	want := RunFacts{ID: "c-7", Campaign: "c", State: "paused", Reason: "breaker", Detail: "why", Wanted: "pause",
		List: "l.csv", ListHash: "ab", Launch: "cron x", FollowUp: 5, Template: "t", Language: "en", Marketing: true,
		CreatedAt: at(1), StartedAt: at(2), EndedAt: at(3)}
	if diff := cmp.Diff(want, built(t, run, &memory{}).Run); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func table(t *testing.T, run campaign.Run, m *memory, width int) string {
	t.Helper()
	var b bytes.Buffer
	if err := built(t, run, m).Table(&b, width); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestTableTellsHowLongARunTook(t *testing.T) {
	for name, c := range map[string]struct {
		started, ended time.Time
		want           string // the line of its end; "": none
	}{
		"an hour":               {start, start.Add(time.Hour), "2026-09-21 15:13:20 UTC, after 1h0m0s"},
		"to the second":         {start, start.Add(1600 * time.Millisecond), "2026-09-21 14:13:21 UTC, after 2s"},
		"no time at all":        {start, start, "2026-09-21 14:13:20 UTC, after 0s"},
		"not started":           {time.Time{}, start, "2026-09-21 14:13:20 UTC"},
		"not ended":             {start, time.Time{}, ""},
		"neither":               {time.Time{}, time.Time{}, ""},
		"ended before it began": {start, start.Add(-time.Hour), "2026-09-21 13:13:20 UTC"},
	} {
		got := ""
		for line := range strings.Lines(table(t, campaign.Run{No: 1, Campaign: "c", StartedAt: c.started, EndedAt: c.ended}, &memory{}, 0)) {
			if rest, ok := strings.CutPrefix(line, "  ended "); ok {
				got = strings.TrimSpace(rest)
			}
			if strings.Contains(line, "after") && c.want == "" {
				t.Errorf("%s: got %q, want no end", name, line)
			}
		}
		if got != c.want {
			t.Errorf("%s: ended %q, want %q", name, got, c.want)
		}
	}
}

func TestTableShowsOnlyStatusesThatOccur(t *testing.T) {
	m := &memory{tallies: []campaign.Tally{{Status: campaign.Failed, N: 1}, {Status: campaign.Read, N: 1}}}
	got := table(t, campaign.Run{No: 1, Campaign: "c", Rows: 3, State: campaign.Finished}, m, 0)
	want := `c-1  finished

rows
  read      1  33.3 %
  failed    1  33.3 %
  all rows  3  the statuses add up to 2: run ` + "`campaignd audit`" + `

failed on the way
  no_code  1  no code came with it

funnel (each row in every stage that it reached)
  sendable   2  66.7 % of all rows
  accepted   0  0.0 % of sendable
  sent       0
  delivered  0
  read       0
  failed     0
`
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestSentencesWrapAtTheirWidth(t *testing.T) {
	run, m := sample()
	if one, two := table(t, run, m, 1), table(t, run, m, 2); one != two || one == table(t, run, m, 0) {
		t.Errorf("a width of 1 is wrapped as\n%s\nwant as narrowly as 2", one)
	}
}

func TestHiddenCharactersBecomeAMiddleDot(t *testing.T) {
	for in, want := range map[string]string{
		"a b": "a b", "\x1b[31m": "·[31m", "a\u202eb": "a·b", "a\xffb": "a·b", "a\ufffdb": "a·b", "\u00a0": "·", "Zo\u00eb": "Zo\u00eb",
		"a\nb\tc": "a·b·c", "!": "!",
	} {
		if got := printable(in); got != want {
			t.Errorf("printable(%q) = %q, want %q", in, got, want)
		}
	}
}
