package main

import (
	"os"
	"strings"
	"testing"
)

func TestFaultsOfAnImportNameFlagsOfTheCommand(t *testing.T) {
	t.Parallel()
	d := newFixture(t, nil)
	utf16 := func(s string) string { return strings.Join(strings.Split(s, ""), "\x00") + "\x00" }
	for _, tt := range []struct{ list, want string }{
		{"email\na@b.example\n",
			`no column holds the phone number under a known name; the columns are "email"; call it to in the first line`},
		{"phone,mobile\n+2348031234567,+2348031234568\n", "call the right one to in the first line"},
		{"+2348031234567\n", "so the list has no header; give it a first line such as to"},
		{utf16("to\n+2348031234567\n"), "it looks like utf-16le; save it as UTF-8"},
		{"to\n0803\n", `s.csv:2: column "to": "0803" has no + and country code, so its country is unknown; ` +
			`write + and the country code, or give --default-region if the whole file is of one country`},
		{"to\n00234803\n", "write + instead of 00"},
		{"to,scope,scope\n+2348031234567,all,marketing\n", `several columns are called "scope"; rename all but one in the first line`},
		{"to,scope\n+2348031234567\n", "s.csv:2: 1 cell where the header has 2"},
	} {
		d.write("s.csv", tt.list)
		r := d.want(2, "suppressions", "import", d.path("s.csv"))
		if !strings.Contains(r.stderr, tt.want) || strings.Contains(r.stderr, "recipients.") || strings.Count(r.stderr, "\n") != 1 {
			t.Errorf("%q: got %s\nwant one line with %s, and no key of a campaign file", tt.list, r.stderr, tt.want)
		}
	}
	if r := d.want(2, "suppressions", "import", d.path("absent.csv")); strings.Contains(r.stderr, "recipients.") {
		t.Errorf("a missing file: got %s, want no key of a campaign file", r.stderr)
	}
}

func TestADashExportsToStandardOutput(t *testing.T) {
	d := newFixture(t, nil)
	t.Chdir(d.dir)
	d.want(0, "suppressions", "add", "+2348031234567")
	wantIn(t, "export -", d.want(0, "suppressions", "export", "-").stdout, "\n+2348031234567,marketing,operator,")
	if _, err := os.Stat(d.path("-")); err == nil {
		t.Error("export made a file called -, want none")
	}
}

func TestADashImportsFromStandardInput(t *testing.T) {
	t.Parallel()
	d := newFixture(t, nil)
	var stdout, stderr strings.Builder
	input := strings.NewReader("to\n+2348031234567\n0803\n")
	code := run(t.Context(), []string{"suppressions", "import", "-"}, input, &stdout, &stderr, d.env)
	if code != 2 || stdout.String() != "2 rows: 1 added, 0 already there, 1 not read\n" ||
		!strings.HasPrefix(stderr.String(), "standard input:3: ") {
		t.Errorf("got %d, %q, %q, want 2, one of two rows added, and a fault of line 3", code, stdout.String(), stderr.String())
	}
	d.says(2, "", "campaignd: standard input: the list is empty; "+
		"give it a first line such as to, and one number on each line after it\n", "suppressions", "import", "-")
}

func TestSuppressedNumbersAreNotSentTo(t *testing.T) {
	t.Parallel()
	d := newFixture(t, nil)
	file := d.write("stop.csv", "phone,scope\n+2348031200001,all\n+2348031200002,marketing\nnobody,all\n")
	imported := d.want(2, "suppressions", "import", file)
	wantIn(t, "import", imported.stdout, "3 rows: 2 added")
	wantIn(t, "import of a bad row", imported.stderr, "stop.csv:4:")
	d.want(0, "suppressions", "add", "+2348031200003", "--scope", "all")
	again := d.want(0, "suppressions", "add", "+2348031200003", "--scope", "all")
	wantIn(t, "add of a number that is there", again.stdout, "0 added, 1 already there")
	exported := d.want(0, "suppressions", "export").stdout
	wantIn(t, "export", exported, "+2348031200001,all,import,")
	if lines := strings.Count(exported, "\n"); lines != 4 {
		t.Errorf("export has %d lines, want a header and 3 numbers:\n%s", lines, exported)
	}
	back := d.want(0, "suppressions", "import", d.write("back.csv", exported))
	wantIn(t, "import of an export", back.stdout, "3 rows: 0 added, 3 already there")
	d.want(0, "suppressions", "add", "+2348031200003")
	removed := d.want(0, "suppressions", "remove", "+2348031200003", "+2348031200099")
	wantIn(t, "remove from every scope", removed.stdout, "1 removed, 1 was not there")
	wantIn(t, "its action", d.want(0, "actions").stdout, "suppressions remove  2 numbers  every scope")
	if got := d.want(0, "suppressions", "export").stdout; strings.Contains(got, "+2348031200003") {
		t.Errorf("export after the removal: got\n%s\nwant it without +2348031200003", got)
	}
	d.want(0, "run", d.path("c.yaml"), "--settle", "1m")
	// Opt-outs from marketing do not apply to this utility template.
	if r := d.report("latest"); r.Skipped["suppressed"] != 1 || r.Totals["skipped"] != 1 {
		t.Errorf("got %v of %d skipped, want one suppressed", r.Skipped, r.Totals["skipped"])
	}
}

func TestSuppressionsSayHowManyAndFailWholly(t *testing.T) {
	t.Parallel()
	d := newFixture(t, nil)
	const bad = "campaignd: not a phone number: \"0803\" has no + and country code; write it in international form, such as +2348031234567\n"
	const unknown = "campaignd: scope \"some\" is unknown; give marketing, all or unreachable\n"
	d.says(2, "", bad, "suppressions", "add", "+2348031234567", "0803")
	d.says(2, "", bad, "suppressions", "remove", "0803")
	d.says(2, "", unknown, "suppressions", "remove", "+2348031234567", "--scope", "some")
	d.says(2, "", unknown, "suppressions", "import", d.write("s.csv", "to\n"), "--scope", "some")
	d.says(2, "", "campaignd: --default-region: \"XX\" is not a region with telephone numbers; "+
		"use the two letters of ISO 3166, such as NG or DE\n", "suppressions", "import", d.path("s.csv"), "--default-region", "XX")
	d.says(2, "", "campaignd: there is no ledger "+d.path("campaignd.db")+": nothing has run here yet; "+
		"go to its folder, or name it with --config or CAMPAIGND_LEDGER\n", "runs")
	for _, args := range [][]string{{"export"}, {"remove", "+2348031234567"}} { // a wrong folder would have an empty list
		d.oneLineOf(2, []string{"there is no ledger"}, append([]string{"suppressions"}, args...)...)
	}
	d.want(0, "ledger", "migrate")
	d.says(0, "0 removed, 1 was not there\n", "", "suppressions", "remove", "+2348031234567")
	d.says(0, "2 added, 0 already there\n", "", "suppressions", "add", "+2348031234567", "+2348031234568")
	d.says(0, "1 removed, 1 was not there\n", "", "suppressions", "remove", "+2348031234567", "+2348031234569")
	d.says(0, "0 removed, 1 was not there\n", "", "suppressions", "remove", "+2348031234568", "--scope", "all")
	d.says(0, "1 row: 1 added, 0 already there, 0 not read\n", "", "suppressions", "import", d.write("s.csv", "to\n+2348031234567\n"))
	file := d.path("out.csv")
	d.says(0, "", "", "suppressions", "export", file)
	printed := d.want(0, "suppressions", "export").stdout
	if text, err := os.ReadFile(file); err != nil || string(text) != printed || strings.Count(printed, "\n") != 3 {
		t.Errorf("the exported file: got %q (%v), want a header and two numbers, as printed: %q", text, err, printed)
	}
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the exported file: got mode %v (%v), want 0600", info.Mode(), err)
	}
	d.says(2, "", "campaignd: "+file+" exists; name another file\n", "suppressions", "export", file)
}

func TestAnImportIsProvedByItsFile(t *testing.T) {
	t.Parallel()
	d := newFixture(t, nil)
	const number = "+2348031234567"
	d.says(2, "", "campaignd: --source: source \"c r m\": want at most 32 letters, digits, dots, hyphens and underscores, such as crm-2026\n",
		"suppressions", "import", "s.csv", "--source", "c r m")
	d.says(2, "", "campaignd: --date \"1.10.26\": want a day such as 2026-10-01, or a time such as 2026-10-01T09:00:00Z\n",
		"suppressions", "import", "s.csv", "--date", "1.10.26")
	d.says(2, "", "campaignd: --date \"2999-01-01\" is in the future\n", "suppressions", "import", "s.csv", "--date", "2999-01-01")
	file := d.write("s.csv", "to,at\n+2348031234568,2025-01-02T03:04:05Z\n"+number+",\n")
	d.want(0, "suppressions", "import", file, "--source", "crm-2026", "--date", "2025-10-01", "--scope", "all")
	d.says(0, number+" is on the suppression list for all companies (all) since 2025-10-01 00:00:00 UTC, source import:crm-2026: "+
		"line 3 of the file s.csv at 2025-10-01 00:00:00 UTC\n", "", "suppressions", "show", number)
	d.says(0, "+2348031234568 is on the suppression list for all companies (all) since 2025-01-02 03:04:05 UTC, source import:crm-2026: "+
		"line 2 of the file s.csv at 2025-01-02 03:04:05 UTC\n", "", "suppressions", "show", "+2348031234568")
	d.says(0, "+2348031234569 is not on the suppression list\n", "", "suppressions", "show", "+2348031234569")
	d.says(0, "[]\n", "", "suppressions", "show", "+2348031234569", "-o", "json")
	wantIn(t, "show -o json", d.want(0, "suppressions", "show", number, "-o", "json").stdout, `"file": "s.csv"`)
	d.oneLineOf(2, nil, "suppressions", "show", "0803")
	d.oneLineOf(2, nil, "suppressions", "show")
}
