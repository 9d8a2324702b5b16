package campaign_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"campaignd/campaign"
	"campaignd/internal/ledger"
	"campaignd/internal/ledger/sqlite"
	"campaignd/internal/messaging"
	"campaignd/recipients"
)

func openLedger(t testing.TB) campaign.Ledger {
	t.Helper()
	l, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "test.db"), ledger.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	})
	return l
}

func writeFile(t testing.TB, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// newRun creates a run of d over the list at path.
func newRun(t testing.TB, l campaign.Ledger, d *campaign.Definition, path string) campaign.Run {
	t.Helper()
	sum, _, err := recipients.Hash(path)
	if err != nil {
		t.Fatal(err)
	}
	list, err := campaign.OpenList(path, d.Recipients.Options())
	if err != nil {
		t.Fatal(err)
	}
	header := list.Header()
	if err := list.Close(); err != nil {
		t.Fatal(err)
	}
	run, err := l.CreateRun(t.Context(),
		campaign.Run{Campaign: d.Name, ListHash: sum, ListName: path, Header: header, Template: d.Template.Name,
			Language: d.Template.Language, Wanted: campaign.WantRun})
	if err != nil {
		t.Fatal(err)
	}
	return run
}

func lines(t testing.TB, l campaign.Ledger, no campaign.RunNo) []campaign.Line {
	t.Helper()
	var out []campaign.Line
	for line, err := range l.Lines(t.Context(), no) {
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, line)
	}
	return out
}

const messy = `phone,first_name,tz
+2348031234501,Ada,Africa/Lagos
+2348031234501,Ada again,Africa/Lagos
,Nobody,
12345,Short,
+2348031234502,,Africa/Lagos
+2348031234502,"Two
lines",Africa/Lagos
+2348031234502,Bola,Mars/Olympus
+5352345678,Carlos,America/Havana
+2348031234599,Self,
+12025550143,Dan,America/New_York
one,cell
`

var messyOutcomes = []campaign.SkipReason{
	"", campaign.Duplicate, campaign.MissingPhone, campaign.InvalidPhone, campaign.MissingVariable, campaign.InvalidVariable, "",
	campaign.UnsupportedCountry, campaign.RecipientIsSender, "", campaign.MalformedRow,
}

func messyCampaign(t testing.TB) *campaign.Definition {
	return parse(t, `
name: messy
connections: [conn_1]
template: {name: hello_world, language: en_US, body: ["{{ .first_name }}"]}
recipients: {columns: {to: phone, timezone: tz}, validate: possible}
window: {hours: "09:00-18:00", timezone: recipient}
schedule: {cron: "0 9 * * *", timezone: Africa/Accra}
`)
}

func TestEveryRowBecomesExactlyOneDelivery(t *testing.T) {
	l, d := openLedger(t), messyCampaign(t)
	path := writeFile(t, "messy.csv", messy)
	run := newRun(t, l, d, path)
	counts, err := campaign.Import(t.Context(),
		campaign.ImportInput{Ledger: l, Run: run, Definition: d, List: path, Senders: []int64{recipients.Key("+2348031234599")}})
	if err != nil {
		t.Fatal(err)
	}
	if err := l.FinishImport(t.Context(), run.No, counts.Rows, campaign.Ready); err != nil {
		t.Fatal(err)
	}
	got := lines(t, l, run.No)
	if len(got) != len(messyOutcomes) || counts.Rows != int64(len(got)) || counts.Queued != 3 {
		t.Fatalf("got %d lines, counts %+v, want %d lines, 3 queued", len(got), counts, len(messyOutcomes))
	}
	for i, line := range got {
		want := messyOutcomes[i]
		if line.Row != int64(i+1) || campaign.SkipReason(line.Reason) != want || (line.Status == campaign.Queued) != (want == "") {
			t.Errorf("row %d: %s %q, want %q", line.Row, line.Status, line.Reason, want)
		}
		if want != "" && counts.Skipped[want] != 1 {
			t.Errorf("%s is counted %d times, want 1", want, counts.Skipped[want])
		}
	}
	states, err := l.SegmentStates(t.Context(), run.No)
	if err != nil {
		t.Fatal(err)
	}
	groups := map[string]int64{}
	for _, s := range states {
		if s.Closed {
			groups["closed"] += s.Hi - s.Lo
		} else {
			groups[s.Group] += s.Hi - s.Lo
		}
	}
	// Mars/Olympus is no zone: the schedule's counts.
	if diff := cmp.Diff(map[string]int64{"Africa/Lagos": 1, "Africa/Accra": 1, "America/New_York": 1, "closed": 8}, groups); diff != "" {
		t.Errorf("rows by group -want +got:\n%s", diff)
	}
}

func TestNotesNameLineAndColumn(t *testing.T) {
	d := messyCampaign(t)
	p, err := campaign.RunPreflight(t.Context(),
		campaign.PreflightInput{Definition: d, File: "messy.yaml", Source: []byte(minimal), List: writeFile(t, "messy.csv", messy)})
	if err != nil {
		t.Fatal(err)
	}
	var notes []string
	for _, e := range p.Examples {
		if e.Reason == campaign.MissingVariable || e.Reason == campaign.InvalidVariable || e.Reason == campaign.InvalidPhone {
			notes = append(notes, e.Note)
		}
	}
	for i, want := range []string{`line 5, column "phone": `, `line 6: column "first_name" has no value`,
		`line 7: column "first_name" has a line break`} {
		if i >= len(notes) || !strings.HasPrefix(notes[i], want) {
			t.Errorf("%q, want %q", notes, want)
		}
	}
}

// breaking fails the n-th append, before or after it is written.
type breaking struct {
	campaign.Ledger
	at     int
	after  bool
	err    error
	called int
}

func (b *breaking) AppendRows(ctx context.Context, no campaign.RunNo, after int64, rows []campaign.Delivery,
	segments []campaign.Segment) error {
	if b.called++; b.called != b.at {
		return b.Ledger.AppendRows(ctx, no, after, rows, segments)
	}
	if b.after {
		if err := b.Ledger.AppendRows(ctx, no, after, rows, segments); err != nil {
			return err
		}
	}
	return b.err
}

// bigList has n rows: every tenth a duplicate, every seventh without a name, in three zones.
func bigList(n int) string {
	var b strings.Builder
	b.WriteString("phone,first_name,tz\n")
	// Lagos fills a segment at 8,000 rows
	zones := []string{"Africa/Lagos", "Africa/Lagos", "Africa/Lagos", "Europe/Paris", "Africa/Lagos", "Asia/Tokyo"}
	for i := range n {
		phone, name := i, "Ada"
		if i%10 == 9 {
			phone = i - 9
		}
		if i%7 == 6 {
			name = ""
		}
		fmt.Fprintf(&b, "+23480312%05d,%s,%s\n", phone, name, zones[i%6])
	}
	return b.String()
}

func TestAnInterruptedImportGoesOnWhereItStopped(t *testing.T) {
	const rows = 9_000
	d := messyCampaign(t)
	path := writeFile(t, "big.csv", bigList(rows))
	whole := openLedger(t)
	run := newRun(t, whole, d, path)
	want, err := campaign.Import(t.Context(), campaign.ImportInput{Ledger: whole, Run: run, Definition: d, List: path})
	if err != nil {
		t.Fatal(err)
	}
	wantLines := lines(t, whole, run.No)
	if len(wantLines) != rows {
		t.Fatalf("got %d lines, want %d", len(wantLines), rows)
	}
	lost := errors.New("the disk is gone")
	for at := 1; at <= 5; at++ {
		for _, after := range []bool{false, true} {
			l := openLedger(t)
			run := newRun(t, l, d, path)
			_, err := campaign.Import(t.Context(),
				campaign.ImportInput{Ledger: &breaking{Ledger: l, at: at, after: after, err: lost}, Run: run, Definition: d, List: path})
			if !errors.Is(err, lost) {
				t.Fatalf("append %d: got %v, want %v", at, err, lost)
			}
			if run, err = l.Run(t.Context(), run.No); err != nil {
				t.Fatal(err)
			}
			var progress []int64
			got, err := campaign.Import(t.Context(),
				campaign.ImportInput{Ledger: l, Run: run, Definition: d, List: path, Progress: func(n int64) { progress = append(progress, n) }})
			if err != nil {
				t.Fatalf("resumed after append %d: %v", at, err)
			}
			if got.Resumed != run.Rows || got.Rows != want.Rows || got.Queued != want.Queued || !cmp.Equal(got.Skipped, want.Skipped) {
				t.Errorf("append %d: got %+v, want %+v", at, got, want)
			}
			if n := len(progress); n > 0 && progress[n-1] != rows || n == 0 && run.Rows != rows {
				t.Errorf("progress = %v, want it to end at %d", progress, rows)
			}
			if err := l.FinishImport(t.Context(), run.No, got.Rows, campaign.Ready); err != nil {
				t.Fatal(err)
			}
			// The same rows under the same seqs: nobody is lost, nobody is there twice.
			if diff := cmp.Diff(plain(wantLines), plain(lines(t, l, run.No))); diff != "" {
				t.Fatalf("append %d, written %v: lines -want +got:\n%s", at, after, diff)
			}
			if problems, err := l.Audit(t.Context(), run.No, 5); err != nil || len(problems) > 0 {
				t.Errorf("audit: got %v, %v, want no problem", problems, err)
			}
		}
	}
}

func plain(all []campaign.Line) []string {
	out := make([]string, len(all))
	for i, l := range all {
		out[i] = fmt.Sprint(l.Row, l.Seq, l.To, l.Key, l.Status, l.Reason)
	}
	return out
}

func TestALostCommitAnswerIsResolvedByTheRowCount(t *testing.T) {
	d := messyCampaign(t)
	path := writeFile(t, "big.csv", bigList(5000))
	for _, written := range []bool{false, true} {
		l := openLedger(t)
		run := newRun(t, l, d, path)
		counts, err := campaign.Import(t.Context(),
			campaign.ImportInput{Ledger: &breaking{Ledger: l, at: 2, after: written, err: campaign.ErrUnknownCommit},
				Run: run, Definition: d, List: path})
		if err != nil || counts.Rows != 5000 {
			t.Fatalf("written %v: got %+v, %v, want 5000 rows", written, counts, err)
		}
		if err := l.FinishImport(t.Context(), run.No, counts.Rows, campaign.Ready); err != nil {
			t.Error(err)
		}
	}
}

func TestASecondImporterIsFenced(t *testing.T) {
	d := messyCampaign(t)
	path := writeFile(t, "big.csv", bigList(5000))
	l := openLedger(t)
	run := newRun(t, l, d, path)
	if _, err := campaign.Import(t.Context(), campaign.ImportInput{Ledger: l, Run: run, Definition: d, List: path}); err != nil {
		t.Fatal(err)
	}
	// It still believes that nothing is imported.
	if _, err := campaign.Import(t.Context(),
		campaign.ImportInput{Ledger: l, Run: run, Definition: d, List: path}); !errors.Is(err, campaign.ErrFenced) {
		t.Errorf("got %v, want %v", err, campaign.ErrFenced)
	}
}

func TestAListThatChangedFailsTheRun(t *testing.T) {
	d := messyCampaign(t)
	for name, change := range map[string]string{
		"other cell":   strings.Replace(bigList(5000), "Ada", "Eve", 1),
		"row more":     bigList(5000) + "+2348031299999,Zoe,Africa/Lagos\n",
		"other header": strings.Replace(bigList(5000), "first_name", "nick_name", 1),
		"no row left":  bigList(1),
	} {
		l := openLedger(t)
		path := writeFile(t, "big.csv", bigList(5000))
		run := newRun(t, l, d, path)
		if name == "no row left" { // an import that had come further
			lost := errors.New("lost")
			if _, err := campaign.Import(t.Context(),
				campaign.ImportInput{Ledger: &breaking{Ledger: l, at: 2, err: lost}, Run: run, Definition: d, List: path}); !errors.Is(err, lost) {
				t.Fatal(err)
			}
			var err error
			if run, err = l.Run(t.Context(), run.No); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.WriteFile(path, []byte(change), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := campaign.Import(t.Context(), campaign.ImportInput{Ledger: l, Run: run, Definition: d, List: path})
		if !errors.Is(err, campaign.ErrListChanged) {
			t.Errorf("%s: got %v, want %v", name, err, campaign.ErrListChanged)
		}
		if run, err = l.Run(t.Context(), run.No); err != nil || run.State != campaign.RunStateFailed || run.Detail == "" {
			t.Errorf("%s: the run is %s %q, %v, want failed with a reason", name, run.State, run.Detail, err)
		}
	}
}

func TestACancelledImportStopsAndLeavesTheRunResumable(t *testing.T) {
	d := messyCampaign(t)
	path := writeFile(t, "big.csv", bigList(20_000))
	l := openLedger(t)
	run := newRun(t, l, d, path)
	ctx, cancel := context.WithCancel(t.Context())
	_, err := campaign.Import(ctx, campaign.ImportInput{Ledger: l, Run: run, Definition: d, List: path, Progress: func(int64) { cancel() }})
	if !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	if run, err = l.Run(t.Context(), run.No); err != nil || run.State != campaign.Importing || run.Rows == 20_000 {
		t.Fatalf("the run is %s with %d rows, %v, want importing with fewer than 20000", run.State, run.Rows, err)
	}
	counts, err := campaign.Import(t.Context(), campaign.ImportInput{Ledger: l, Run: run, Definition: d, List: path})
	if err != nil || counts.Rows != 20_000 {
		t.Errorf("resumed: got %+v, %v, want 20000 rows", counts, err)
	}
}

func TestABodyThatGetsTooLongIsSkipped(t *testing.T) {
	d := messyCampaign(t)
	path := writeFile(t, "list.csv", "phone,first_name,tz\n+2348031234501,Ada,\n+2348031234502,Bartholomew,\n")
	l := openLedger(t)
	counts, err := campaign.Import(t.Context(), campaign.ImportInput{Ledger: l, Run: newRun(t, l, d, path), Definition: d, List: path,
		Template: &messaging.TemplateRecord{Components: []messaging.Component{{Type: "BODY", Text: strings.Repeat("x", 1018) + "{{1}}"}}}})
	if err != nil || counts.Queued != 1 || counts.Skipped[campaign.InvalidVariable] != 1 {
		t.Errorf("got %+v, %v, want 1 queued, 1 invalid_variable", counts, err)
	}
}

func TestTheSumOfAListIsItsHash(t *testing.T) {
	for _, path := range []string{"../testdata/lists/clean.csv", "../testdata/lists/clean.csv.gz", "../testdata/lists/clean.csv.zst",
		"../testdata/lists/utf16le.csv"} {
		want, _, err := recipients.Hash(path)
		if err != nil {
			t.Fatal(err)
		}
		list, err := campaign.OpenList(path, recipients.Options{})
		if err != nil {
			t.Errorf("open %s: got %v, want no error", path, err)
			continue
		}
		if _, err := list.Next(); err != nil {
			t.Errorf("first row of %s: got %v, want no error", path, err)
		}
		if got, err := list.Sum(); err != nil || got != want {
			t.Errorf("%s: sum = %s, %v, want %s", path, got, err, want)
		}
		if err := list.Close(); err != nil {
			t.Error(err)
		}
	}
	var bad *recipients.FileError
	for _, path := range []string{filepath.Join(t.TempDir(), "none.csv"), t.TempDir(), writeFile(t, "empty.csv", ""),
		writeFile(t, "header.csv", "to\n")} {
		if _, err := campaign.OpenList(path, recipients.Options{}); !errors.As(err, &bad) {
			t.Errorf("open %s: got %v, want a *recipients.FileError", path, err)
		}
	}
}

func BenchmarkImport(b *testing.B) {
	const rows = 50_000
	d := messyCampaign(b)
	path := writeFile(b, "big.csv", bigList(rows))
	b.ReportAllocs()
	for b.Loop() {
		l := openLedger(b)
		if _, err := campaign.Import(b.Context(),
			campaign.ImportInput{Ledger: l, Run: newRun(b, l, d, path), Definition: d, List: path}); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(rows)*float64(b.N)/b.Elapsed().Seconds(), "rows/s")
}
