package file_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"campaignd/campaign"
	"campaignd/campaign/file"
	"campaignd/recipients"
)

const campaigns = "../../testdata/campaigns"

func glob(t testing.TB, pattern string) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(campaigns, pattern))
	if err != nil || len(files) == 0 {
		t.Fatalf("%s: %d files, %v; want one or more", pattern, len(files), err)
	}
	return files
}

func TestEveryExampleIsReadWithItsDefaults(t *testing.T) {
	for _, path := range glob(t, "*.yaml") {
		d, src, err := file.Load(path)
		if err != nil {
			t.Errorf("%s: got %v, want no error", path, err)
			continue
		}
		if d.Name+".yaml" != filepath.Base(path) || len(src) == 0 {
			t.Errorf("%s: got name %q and %d bytes, want the file's name and all of it", path, d.Name, len(src))
		}
		if d.Policies.OnUncertain == "" || d.Policies.DoubtWindow == 0 {
			t.Errorf("%s: got %+v, want defaults", path, d.Policies)
		}
	}
}

func TestAFullFileMeansWhatItSays(t *testing.T) {
	got, _, err := file.Load(filepath.Join(campaigns, "spring-sale.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	want := &file.Definition{
		Name: "spring-sale", Connections: []string{"conn_1", "conn_2"},
		Template: file.TemplateUse{
			Name: "spring_sale", Language: "en_US", Category: "MARKETING",
			Body:    []string{"{{ .first_name }}", "{{ .discount }}"},
			Header:  &file.HeaderUse{Image: &file.MediaUse{AssetID: "ast_1"}},
			Buttons: []file.Button{{Type: "url", Text: "{{ .slug }}"}},
		},
		Recipients: file.Audience{File: "list.csv",
			Columns: map[string]recipients.Names{"to": {"phone"}, "timezone": {"tz"}, "first_name": {"First Name"}}, DefaultRegion: "NG"},
		Variables: map[string]file.Variable{
			"first_name": {Default: "friend", Forbid: []string{"error_values", "formulas", "placeholders", "Test"}},
		},
		Schedule: &file.Schedule{Cron: "0 9 * * MON", Timezone: "Africa/Lagos", Misfire: "skip", Overlap: "skip",
			Grace: campaign.Duration(30 * time.Minute)},
		Window: &file.Window{Hours: "09:00-18:00", Days: []string{"mon", "tue", "wed", "thu", "fri"}, Timezone: "recipient"},
		Limits: file.Limits{Rate: 40, NotAfter: campaign.Duration(48 * time.Hour), MaxMessages: 200000},
		Policies: file.Policies{OnUncertain: campaign.UncertainHold, DoubtWindow: campaign.Duration(15 * time.Minute),
			MaxOptOuts: 0.10},
	}
	if diff := cmp.Diff(want, got, cmpopts.IgnoreUnexported(file.Definition{})); diff != "" {
		t.Errorf("definition -want +got:\n%s", diff)
	}
}

func TestDefaultsOfAScheduleAndAWindow(t *testing.T) {
	d := parse(t, minimal+"schedule: {cron: '@daily'}\nwindow: {hours: '09:00-18:00'}\n")
	if s := d.Schedule; s.Misfire != "skip" || s.Grace.Std() != 30*time.Minute || s.Timezone != "UTC" {
		t.Errorf("schedule = %+v, want skip, 30m, UTC", s)
	}
	if d.Window.Timezone != "UTC" {
		t.Errorf("window = %+v, want UTC", d.Window)
	}
}

const minimal = "name: a\nconnections: [conn_1]\ntemplate: {name: hello_world, language: en_US}\n"

func parse(t testing.TB, src string) *file.Definition {
	t.Helper()
	d, err := file.Parse("test.yaml", []byte(src))
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// All faults of a file are listed at once, each with line, column, the line itself and a caret, as
// testdata has them. UPDATE_GOLDEN=1 writes the files.
func TestEveryFaultHasLineColumnAndExcerpt(t *testing.T) {
	for _, path := range append(glob(t, "broken/*.yaml"), glob(t, "refused/*.yaml")...) {
		src, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		d, err := file.Parse(filepath.Base(path), src)
		var bad *file.Error
		if d != nil || !errors.As(err, &bad) {
			t.Errorf("%s: got %+v, %v; want a *FileError", path, d, err)
			continue
		}
		got := []byte(bad.Show() + "\n")
		golden := strings.TrimSuffix(path, ".yaml") + ".txt"
		if os.Getenv("UPDATE_GOLDEN") != "" {
			if err := os.WriteFile(golden, got, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(golden)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(want), string(got)); diff != "" {
			t.Errorf("%s: -want +got:\n%s", path, diff)
		}
	}
}

func TestAVariableWithoutQuotesNamesTheRemedy(t *testing.T) {
	const head = "name: a\nconnections: [c]\ntemplate:\n  name: t\n  language: en\n"
	for text, want := range map[string]string{
		"  otp: {{ .code }}":                            `6:9: YAML takes {{`,
		"  body: [{{ .a }}, x]":                         `such as "{{ .a }}"`,
		"  body: [Hi {{ .a }}]":                         `such as "{{ .a }}"`,
		"  body: [it's {{ .a }}]":                       `such as "{{ .a }}"`,
		"  body: [\"{{ .a }}\", {{ .b }}]":              `such as "{{ .b }}"`,
		"  body:\n    - x\n    - {{ .a }} and {{ .b }}": `8:8: YAML takes {{`,
		"  buttons: [{type: url, text: {{ .slug }}}]":   `such as "{{ .slug }}"`,
		"  header: {image: {link: {{ .l }}}}":           `such as "{{ .l }}"`,
		"  otp: {{code}}":                               `such as "{{code}}"`,
		"  body: [\"{{ .a }}\", b":                      `the [ that stands here is not closed`, // the fault is another one
		"  body: [{{ .a":                                `could not find flow map content`,
	} {
		_, err := file.Parse("a.yaml", []byte(head+text+"\n"))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s\ngot  %v\nwant %s", text, err, want)
		}
	}
	parse(t, head+"  otp: Hi {{ .code }}\n") // YAML takes this for text
}

func TestANumberInAnotherBaseIsRefused(t *testing.T) {
	for key, want := range map[string]string{
		"limits: {max_messages: 0777}":              "YAML reads 0777 as 511; write a number in decimal without a leading 0",
		"limits: {rate: 010}":                       "YAML reads 010 as 8",
		"limits: {weight: 0x10}":                    "YAML reads 0x10 as 16",
		"policies: {approval: 0777}":                "YAML reads 0777 as 511",
		"policies: {follow_up: {codes: [0131044]}}": "YAML reads 0131044 as 45604",
		"policies: {canary: {count: 0b11}}":         "YAML reads 0b11 as 3",
	} {
		if _, err := file.Parse("a.yaml", []byte(minimal+key+"\n")); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %s", key, err, want)
		}
		// A run that an earlier version launched goes on as it was launched.
		if _, err := file.ParseStored("a.yaml", []byte(minimal+key+"\n")); err != nil {
			t.Errorf("%s of a run: got %v, want it read", key, err)
		}
	}
	parse(t, minimal+"limits: {rate: 0.5, max_messages: 1_000, weight: 10}\n")
}

// A limit that is read and not obeyed would be worse than none: no key of a campaign file is
// refused.
func TestEveryKeyOfACampaignIsExecuted(t *testing.T) {
	for _, key := range []string{
		"policies: {canary: {count: 200}}", "policies: {frequency_cap: {messages: 1, per: 24h}}", "policies: {follow_up: {codes: [131049]}}",
		"policies: {on_uncertain: evidence}", "policies: {on_uncertain: resend}", "policies: {approval: 100}",
		"limits: {weight: 3, deadline: 6h}",
	} {
		parse(t, minimal+key+"\n")
	}
}

// What a hostile file costs is counted in bytes, because its time depends on the machine. A parser
// that never ends is ended by the time limit of the tests.
func TestHostileFilesEndInAnErrorCheaply(t *testing.T) {
	const mostMiB = 400 // of files of a megabyte
	for name, src := range map[string]string{
		"flow":      "a: " + strings.Repeat("[", 300_000),
		"maps":      "a: " + strings.Repeat("{a: ", 200_000),
		"dashes":    strings.Repeat("- ", 300_000),
		"questions": strings.Repeat("? ", 300_000),
		"tags":      strings.Repeat("!a ", 300_000),
		"too large": strings.Repeat("# comment\n", 200_000),
		"bomb":      "a: &a [x, x]\nb: &b [*a, *a]\nc: &c [*b, *b]\n",
		"merge":     "a: 1\n<<: {b: 2}\n",
		"panic 890": "key:\n}",
		"utf-16":    "\xff\xfen\x00a\x00",
		"nul":       "name: a\x00b\n",
		"nothing":   "",
		"comment":   "# only a comment\n",
		"scalar":    "hello\n",
		"list":      "- a\n- b\n",
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err := file.Parse(name, []byte(src))
		runtime.ReadMemStats(&after)
		var bad *file.Error
		if !errors.As(err, &bad) || len(bad.Findings) == 0 {
			t.Errorf("%s: got %v, want a *FileError with findings", name, err)
		}
		if got := (after.TotalAlloc - before.TotalAlloc) >> 20; got > mostMiB {
			t.Errorf("%s: %d MiB were allocated, want at most %d", name, got, mostMiB)
		}
	}
}

func TestADefinitionSurvivesJSON(t *testing.T) {
	src, err := os.ReadFile(filepath.Join(campaigns, "spring-sale.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	d, err := file.Parse("spring-sale.yaml", src)
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(d)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Contains(text, []byte(`"not_after":"48h"`)) {
		t.Errorf("got %s, want durations as text", text)
	}
	var back file.Definition
	if err := json.Unmarshal(text, &back); err != nil || !reflect.DeepEqual(*d, back) {
		t.Errorf("got error %v, want the same back, -want +got:\n%s", err, cmp.Diff(*d, back, cmpopts.IgnoreUnexported(file.Definition{})))
	}
}

func TestDurations(t *testing.T) {
	for s, want := range map[string]time.Duration{
		"15m": 15 * time.Minute, "24h": 24 * time.Hour, "7d": 7 * 24 * time.Hour, "1d12h": 36 * time.Hour, "1h30m": 90 * time.Minute,
		"500ms": 500 * time.Millisecond, "0s": 0,
	} {
		got, err := campaign.ParseDuration(s)
		if err != nil || got.Std() != want {
			t.Errorf("%s: got %v, %v, want %v", s, got, err, want)
		}
		if again, err := campaign.ParseDuration(got.String()); err != nil || again != got {
			t.Errorf("%s prints as %s, which reads as %v, %v, want %v", s, got, again, err, got)
		}
	}
	for _, s := range []string{"", "15", "m", "15 m", "1.5h", "-1h", "1m1h", "1h1h", "1w", "99999999999999999999d",
		"9223372036854775807d", "15min"} {
		if d, err := campaign.ParseDuration(s); err == nil {
			t.Errorf("%q is read as %v, want an error", s, d)
		}
	}
}

func TestAMissingFileIsNamed(t *testing.T) {
	_, _, err := file.Load(filepath.Join(t.TempDir(), "none.yaml"))
	if !errors.Is(err, os.ErrNotExist) || !strings.Contains(err.Error(), "none.yaml") {
		t.Errorf("got %v, want %v of none.yaml", err, os.ErrNotExist)
	}
}

func FuzzParseDefinition(f *testing.F) {
	for _, pattern := range []string{"*.yaml", "broken/*.yaml", "refused/*.yaml"} {
		for _, path := range glob(f, pattern) {
			src, err := os.ReadFile(path)
			if err != nil {
				f.Fatal(err)
			}
			f.Add(src)
		}
	}
	f.Fuzz(func(t *testing.T, src []byte) {
		d, err := file.Parse("fuzz.yaml", src)
		if (d == nil) == (err == nil) {
			t.Fatalf("got %v, %v, want one of them", d, err)
		}
		if err != nil {
			var bad *file.Error
			if !errors.As(err, &bad) || len(bad.Findings) == 0 || bad.Show() == "" {
				t.Fatalf("got %#v, want a *FileError with findings to show", err)
			}
			return
		}
		// An accepted file can be stored as JSON, and means the same when it is read again.
		text, err := json.Marshal(d)
		if err != nil {
			t.Fatal(err)
		}
		again, err := file.Parse("fuzz.json", text) // JSON is YAML
		if err != nil {
			t.Fatalf("read again: got %v, want no error of\n%s", err, text)
		}
		if diff := cmp.Diff(d, again, cmpopts.IgnoreUnexported(file.Definition{})); diff != "" {
			t.Fatalf("read again -want +got:\n%s", diff)
		}
		if changes := file.Differences(src, text); len(changes) > 0 {
			t.Fatalf("differences = %q, want none", changes)
		}
	})
}

func ExampleParse() {
	_, err := file.Parse("spring.yaml",
		[]byte("name: spring\nconnections: [conn_1]\ntemplate: {name: spring, langauge: en_US}\n"))
	fmt.Println(err)
	var bad *file.Error
	if errors.As(err, &bad) {
		fmt.Println(bad.Findings[0].Excerpt)
	}
	// Output:
	// spring.yaml:3:26: unknown key "template.langauge"; did you mean "language"?
	//     3 | template: {name: spring, langauge: en_US}
	//                                  ^
}

// The campaign of a run may be of another version: what that version knew besides is kept, and
// refused only where it changes what is sent.
func TestAStoredCampaignOfAnotherVersionIsReadLeniently(t *testing.T) {
	for add, ok := range map[string]bool{
		"priority: high\n":                                   true,
		"policies: {retry_storms: true}\n":                   true,
		"schedule: {cron: \"0 9 * * MON\", jitter: 5m}\n":    true,
		"schedule: {cron: \"\", timezone: Nowhere/Nobody}\n": true,
		"limits: {per_person: 3}\n":                          false,
		"window: {holidays: skip}\n":                         false,
		"recipients: {unless: {a: b}}\n":                     false,
		"variables: {name: {shout: true}}\n":                 false,
		"policies: {canary: {count: 0}}\n":                   false,
	} {
		if _, err := file.Parse("a", []byte(minimal+add)); err == nil {
			t.Errorf("%q in a campaign file: no error, want one", add)
		}
		d, err := file.ParseStored("a-1", []byte(minimal+add))
		if (err == nil) != ok || ok && d.Name != "a" {
			t.Errorf("%q in the campaign of a run: %v, want readable: %v", add, err, ok)
		}
	}
}

func TestAnUnknownKeyIsAnsweredWithKeysAlone(t *testing.T) {
	_, err := file.Parse("c.yaml", []byte(minimal+"listen: x\n"))
	if err == nil || !strings.Contains(err.Error(), "policies") || strings.Contains(err.Error(), ", ,") {
		t.Errorf("got %v, want the known keys, none of them empty", err)
	}
}
