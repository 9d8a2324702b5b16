package launch_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"campaignd/campaign"
	"campaignd/campaign/launch"
	"campaignd/internal/messaging"
	"campaignd/recipients"
)

// A sample is the row as it would be sent, or the reason why there is none.
func TestASampleIsTheRowAsItWouldBeSent(t *testing.T) {
	dir := t.TempDir()
	overwrite(t, filepath.Join(dir, "list.csv"),
		"phone,first_name,discount,slug\nx,Ada,1,a\n+2348031234501,Ada,{{2}},a\n+2348031234501,Ada,1,a\n+2348031234502,,1,b\n")
	file := overwrite(t, filepath.Join(dir, "spring.yaml"), strings.Replace(springFile, "recipients: {", "recipients: {file: list.csv, ", 1))
	bare := overwrite(t, filepath.Join(dir, "bare.yaml"), springFile)
	nobody := overwrite(t, filepath.Join(dir, "nobody.csv"), "phone,first_name,discount,slug\nx,Ada,1,a\n")
	record := spring()
	record.Components = append(record.Components, messaging.Component{Type: "footer", Text: "Bye"})
	other := spring()
	other.Name = "other"
	texts := service()
	texts.templates["conn_1"] = []messaging.TemplateRecord{other, record}
	without := service()
	without.templates["conn_1"] = []messaging.TemplateRecord{other}
	french := service()
	french.templates["conn_1"] = []messaging.TemplateRecord{{Name: "spring_sale", Language: "fr", Components: record.Components}}
	for name, c := range map[string]struct {
		in   launch.SampleInput
		want string // "row line to skip | text | footer", or the error
	}{
		"the first that can be sent": {launch.SampleInput{File: file, Service: texts}, "2 3 +2348031234501 | Hi Ada, {{2}} off. | Bye"},
		"without a service":          {launch.SampleInput{File: file}, "2 3 +2348031234501 |  | "},
		"not offered":                {launch.SampleInput{File: file, Service: &account{notOffered: true}}, "2 3 +2348031234501 |  | "},
		"not there":                  {launch.SampleInput{File: file, Service: without}, "2 3 +2348031234501 |  | "},
		"in another language":        {launch.SampleInput{File: file, Service: french}, "2 3 +2348031234501 |  | "},
		"a row by its number":        {launch.SampleInput{File: file, Row: 2, Service: texts}, "2 3 +2348031234501 | Hi Ada, {{2}} off. | Bye"},
		"no number":                  {launch.SampleInput{File: file, Row: 1}, "1 2 x invalid_phone |  | "},
		"a duplicate":                {launch.SampleInput{File: file, Row: 3}, "3 4 +2348031234501 duplicate |  | "},
		"without a value":            {launch.SampleInput{File: file, Row: 4}, "4 5 +2348031234502 missing_variable |  | "},
		"beyond the list":            {launch.SampleInput{File: file, Row: 5}, "the list has no row 5; it has 4"},
		"nobody": {launch.SampleInput{File: file, List: nobody},
			"the list has no row that can be sent; see `campaignd check`"},
		"no list": {launch.SampleInput{File: bare}, bare +
			": no list of recipients; set recipients.file in the campaign, or pass --recipients FILE"},
		"no such list": {launch.SampleInput{File: file, List: filepath.Join(dir, "none.csv")},
			filepath.Join(dir, "none.csv") + ": there is no such file"},
		"no such campaign": {launch.SampleInput{File: filepath.Join(dir, "none.yaml")}, "campaign file: open "},
		"no column": {launch.SampleInput{File: file,
			List: overwrite(t, filepath.Join(dir, "c.csv"), "phone,first_name,slug\nx,a,b\n")},
			`spring-sale: template.body[1]: the list has no column "discount"`},
		"a list that breaks off": {launch.SampleInput{File: file,
			List: overwrite(t, filepath.Join(dir, "q.csv"), "phone,first_name,discount,slug\nx,\"a,b,c\n")}, filepath.Join(dir, "q.csv") + ":2"},
	} {
		s, err := launch.ReadSample(t.Context(), c.in)
		got := fmt.Sprint(err)
		if err == nil {
			got = strings.TrimRight(fmt.Sprintf("%d %d %s %s", s.Row, s.Line, s.To, s.Skip), " ") + " | " + s.Text + " | " + s.Footer
			if (s.Skip == "") != (s.Message != nil) || (s.Skip == "") != (s.Note == "") {
				t.Errorf("%s: message %v, note %q, want a message or a note", name, s.Message, s.Note)
			}
		}
		if err == nil && got != c.want || !strings.HasPrefix(got, c.want) {
			t.Errorf("%s\ngot  %s\nwant %s", name, got, c.want)
		}
	}
}

func TestATestMessageGoesToTheOperatorAlone(t *testing.T) {
	dir := t.TempDir()
	list := overwrite(t, filepath.Join(dir, "list.csv"), springList)
	file := overwrite(t, filepath.Join(dir, "spring.yaml"), springFile)
	s := brittleService{&album{account: service()}, &fuse{}}
	got, receipt, err := launch.SendTest(t.Context(), s, free(), launch.SampleInput{File: file, List: list, Row: 2}, "+234 803 123 4567")
	if err != nil || receipt.MessageID != "m1" || got.To != "+2348031234567" || got.Message.To != "+2348031234567" ||
		got.Message.ConnectionID != "conn_1" || got.Message.Template.Header.Image.AssetID != "ast_1" || got.Message.Template.Body[0] != "Bola" {
		t.Errorf("got %+v, %+v, %v, want row 2 to +2348031234567 by conn_1", got, receipt, err)
	}
	if len(s.uploads) != 0 {
		t.Errorf("uploads = %q, want none for an asset", s.uploads)
	}
	got, _, err = launch.SendTest(t.Context(), s, free(), launch.SampleInput{File: bannerFile(t, t.TempDir()), List: list}, "+2348031234567")
	if err != nil || got.Message.Template.Header.Image.AssetID != "ast_9" || len(s.uploads) != 1 {
		t.Errorf("got %+v, %v after %d uploads, want ast_9 after one", got, err, len(s.uploads))
	}
	stop := func(to string, until time.Time) []campaign.Suppression {
		return []campaign.Suppression{{Key: recipients.Key(to), To: to, Scope: campaign.ScopeMarketing, Source: "stop", Until: until}}
	}
	for name, c := range map[string]struct {
		in   launch.SampleInput
		to   string
		want string
	}{
		"stopped": {launch.SampleInput{Suppressions: stop("+2348031234567", time.Time{})}, "+2348031234567",
			"+2348031234567 is on the suppression list (marketing, stop); `campaignd suppressions remove` lifts it"},
		"stopped for a while": {launch.SampleInput{Suppressions: stop("+2348031234567", time.Now().Add(time.Hour))}, "+2348031234567",
			"+2348031234567 is on the suppression list"},
		"stopped until lately": {launch.SampleInput{Suppressions: stop("+2348031234567", time.Now().Add(-time.Second))}, "+2348031234567", ""},
		"another stopped":      {launch.SampleInput{Suppressions: stop("+2348031234568", time.Time{})}, "+2348031234567", ""},
		"no number":            {launch.SampleInput{}, "08031234567", "not a phone number: \"08031234567\" has no + and country code"},
		"a row that is none": {launch.SampleInput{Row: 7}, "+2348031234567",
			"the list has no row 7 that can be sent: line 8: the same number stands in an earlier row of this list; choose another with --row"},
	} {
		c.in.File, c.in.List = file, list
		_, _, err := launch.SendTest(t.Context(), s, free(), c.in, c.to)
		if c.want == "" && err != nil || c.want != "" && !strings.HasPrefix(fmt.Sprint(err), c.want) {
			t.Errorf("%s\ngot  %v\nwant %s", name, err, c.want)
		}
	}
}

func TestAnUnreachableNumberIsSoFromTheTimeOfItsRow(t *testing.T) {
	l, at := openLedger(t), time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	path := writeFile(t, "gone.csv", "to,at\n+2348031234501,2026-01-01T00:00:00Z\n")
	in := launch.SuppressionFile{Path: path, Scope: campaign.ScopeUnreachable}
	if _, err := launch.ImportSuppressions(t.Context(), l, in); err != nil {
		t.Fatal(err)
	}
	for s, err := range l.Suppressions(t.Context()) {
		if err != nil || !s.At.Equal(at) || !s.Until.Equal(at.Add(campaign.UnreachableFor)) {
			t.Errorf("got %s from %v to %v (%v), want the 90 days from %v", s.To, s.At, s.Until, err, at)
		}
	}
}

// The columns of the file are read, each faulty row is reported, and the rows are counted.
func TestAFileOfSuppressionsIsReadRowByRow(t *testing.T) {
	before := time.Now()
	path := writeFile(t, "stop.csv",
		"to,scope,until,source,at\n+2348031234501,,,,\n+2348031234502,marketing,2027-01-01T01:00:00+01:00,stop,2026-01-01T00:00:00Z\n"+
			"+2348031234503,unreachable,,Formula!,\n+2348031234501,all,,,\n+2348031234504,everything,,,\n"+
			"+2348031234505,,soon,,\n+2348031234506,,,,yesterday\nx,,,,\n+2348031234507,,,refused:131026,\n"+
			"+2348031234508,marketing@co_1,,stop,2026-01-01T00:00:00Z\n+2348031234508,marketing@=1,,,\n")
	l := openLedger(t)
	var rejected []string
	in := launch.SuppressionFile{Path: path, Scope: campaign.ScopeAll,
		Rejected: func(line int, why string) { rejected = append(rejected, fmt.Sprint(line, " ", why)) }}
	counts, err := launch.ImportSuppressions(t.Context(), l, in)
	if want := (launch.SuppressionCounts{Rows: 11, Added: 5, Known: 1, Rejected: 5}); err != nil || counts != want {
		t.Errorf("got %+v, %v, want %+v", counts, err, want)
	}
	for i, want := range []string{`6 scope "everything" is unknown; give marketing, all or unreachable`, `7 until: "soon" is no RFC 3339 ` +
		`time such as 2026-12-31T00:00:00Z`, `8 at: "yesterday" is no RFC 3339 time such as 2026-12-31T00:00:00Z`, `9 column "to": `} {
		if i >= len(rejected) || !strings.HasPrefix(rejected[i], want) {
			t.Errorf("rejected = %q, want number %d to begin with %s", rejected, i, want)
		}
	}
	var got []string
	for s, err := range l.Suppressions(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		until := ""
		if !s.Until.IsZero() {
			until = s.Until.Format(time.RFC3339)
			if s.Scope == campaign.ScopeUnreachable { // ends after 90 days
				until = fmt.Sprint(s.Until.Sub(s.At))
			}
		}
		if lately := !s.At.Before(before.Add(-time.Second)); lately != (s.Source != "stop") {
			t.Errorf("%s is suppressed since %v, want the time of the file, or now", s.To, s.At)
		}
		got = append(got, strings.Join([]string{s.To, s.ScopeText(), s.Source, until}, " "))
	}
	want := []string{"+2348031234501 all import ", "+2348031234502 marketing stop 2027-01-01T00:00:00Z",
		"+2348031234503 unreachable import 2160h0m0s", "+2348031234507 all refused:131026 ",
		"+2348031234508 marketing@co_1 stop "}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("list -want +got:\n%s", diff)
	}
	var out strings.Builder
	if err := launch.ExportSuppressions(t.Context(), l, &out); err != nil ||
		!strings.HasPrefix(out.String(), "to,scope,source,at,until\n+2348031234501,all,import,") ||
		!strings.Contains(out.String(), "\n+2348031234502,marketing,stop,2026-01-01T00:00:00Z,2027-01-01T00:00:00Z\n") ||
		!strings.HasSuffix(out.String(), "\n+2348031234508,marketing@co_1,stop,2026-01-01T00:00:00Z,\n") {
		t.Errorf("export = %s, %v, want five columns", out.String(), err)
	}
	again := launch.SuppressionFile{Path: writeFile(t, "again.csv", out.String()), Scope: campaign.ScopeAll}
	if counts, err := launch.ImportSuppressions(t.Context(), l, again); err != nil ||
		counts != (launch.SuppressionCounts{Rows: 5, Known: 5}) {
		t.Errorf("an export read back: got %+v, %v, want 5 known", counts, err)
	}
	lifted, absent, err := launch.LiftSuppressions(t.Context(), l, []string{"+2348031234501", "+2348031234599"}, "")
	if err != nil || lifted != 1 || absent != 1 {
		t.Errorf("lifted %d, absent %d, %v, want 1, 1", lifted, absent, err)
	}
	if lifted, absent, err := launch.LiftSuppressions(t.Context(), l, []string{"+2348031234502"},
		campaign.ScopeAll); err != nil || lifted != 0 || absent != 1 {
		t.Errorf("of another scope: lifted %d, absent %d, %v, want 0, 1", lifted, absent, err)
	}
	for _, number := range []string{"08031234501", "+1", "x"} {
		if _, _, err := launch.LiftSuppressions(t.Context(), l, []string{number}, ""); !errors.Is(err, launch.ErrNoNumber) {
			t.Errorf("lift %s: got %v, want %v", number, err, launch.ErrNoNumber)
		}
	}
	if _, err := launch.ParseSuppressions(nil, "some", before); err == nil {
		t.Error("a scope that is unknown: got no error, want one")
	}
	if _, err := launch.ImportSuppressions(t.Context(), l, launch.SuppressionFile{Path: path, Scope: "some"}); err == nil {
		t.Error("a file's scope that is unknown: got no error, want one")
	}
	var bad *recipients.FileError
	for text, want := range map[string]string{"number,scope\nx,all\n": "call it to in the first line",
		"to,name\n+2348031234508,a\n+2348031234509,\"a\n": ""} {
		counts, err := launch.ImportSuppressions(t.Context(), l,
			launch.SuppressionFile{Path: writeFile(t, "s.csv", text), Scope: campaign.ScopeAll})
		if !errors.As(err, &bad) || !strings.Contains(bad.Remedy, want) || strings.Contains(err.Error(), "recipients.") ||
			want == "" && counts.Added != 1 {
			t.Errorf("%q: got %+v, %v, want a *recipients.FileError: %s", text, counts, err, want)
		}
	}
	if _, err := launch.ImportSuppressions(t.Context(), l,
		launch.SuppressionFile{Path: os.DevNull + "x", Scope: campaign.ScopeAll}); !errors.As(err, &bad) || bad.Remedy != "check the path" {
		t.Errorf("no such file: got %v, want to check the path", err)
	}
}
