package launch_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"campaignd/campaign"
	"campaignd/campaign/file"
	"campaignd/campaign/launch"
	"campaignd/internal/ledger"
	"campaignd/internal/ledger/sqlite/sqlitetest"
	"campaignd/internal/messaging"
	"campaignd/recipients"
)

func openLedger(t testing.TB) campaign.Ledger {
	t.Helper()
	return sqlitetest.Open(t, ledger.Options{})
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
func newRun(t testing.TB, l campaign.Ledger, d *file.Definition, path string) campaign.Run {
	t.Helper()
	sum, _, err := recipients.Hash(path)
	if err != nil {
		t.Fatal(err)
	}
	list, err := launch.OpenList(path, d.Recipients.Options())
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

func messyCampaign(t testing.TB) *file.Definition {
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
	counts, err := launch.Import(t.Context(),
		launch.ImportInput{Ledger: l, Run: run, Definition: d, List: path, Senders: []int64{recipients.Key("+2348031234599")}})
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
	// Mars/Olympus is not a zone, so that of the number's country is used.
	if diff := cmp.Diff(map[string]int64{"Africa/Lagos": 2, "America/New_York": 1, "closed": 8}, groups); diff != "" {
		t.Errorf("rows by group -want +got:\n%s", diff)
	}
}

func TestNotesNameLineAndColumn(t *testing.T) {
	d := messyCampaign(t)
	p, err := launch.RunPreflight(t.Context(),
		launch.PreflightInput{Definition: d, File: "messy.yaml", Source: []byte(minimal), List: writeFile(t, "messy.csv", messy)})
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

func TestABodyThatGetsTooLongIsSkipped(t *testing.T) {
	d := messyCampaign(t)
	path := writeFile(t, "list.csv", "phone,first_name,tz\n+2348031234501,Ada,\n+2348031234502,Bartholomew,\n")
	l := openLedger(t)
	counts, err := launch.Import(t.Context(), launch.ImportInput{Ledger: l, Run: newRun(t, l, d, path), Definition: d, List: path,
		Template: &messaging.TemplateRecord{Components: []messaging.Component{{Type: "BODY", Text: strings.Repeat("x", 1018) + "{{1}}"}}}})
	if err != nil || counts.Queued != 1 || counts.Skipped[campaign.InvalidVariable] != 1 {
		t.Errorf("got %+v, %v, want 1 queued, 1 invalid_variable", counts, err)
	}
}

func TestTheSumOfAListIsItsHash(t *testing.T) {
	for _, path := range []string{"../../testdata/lists/clean.csv", "../../testdata/lists/clean.csv.gz", "../../testdata/lists/clean.csv.zst",
		"../../testdata/lists/utf16le.csv"} {
		want, _, err := recipients.Hash(path)
		if err != nil {
			t.Fatal(err)
		}
		list, err := launch.OpenList(path, recipients.Options{})
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
		if _, err := launch.OpenList(path, recipients.Options{}); !errors.As(err, &bad) {
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
		if _, err := launch.Import(b.Context(),
			launch.ImportInput{Ledger: l, Run: newRun(b, l, d, path), Definition: d, List: path}); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(rows)*float64(b.N)/b.Elapsed().Seconds(), "rows/s")
}
