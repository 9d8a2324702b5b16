package main

import (
	"os"
	"strings"
	"testing"
)

func TestFaultsOfAnImportNameWhatItsCommandHas(t *testing.T) {
	t.Parallel()
	d := newDesk(t, nil)
	utf16 := func(s string) string { return strings.Join(strings.Split(s, ""), "\x00") + "\x00" }
	for _, tt := range []struct{ list, want string }{
		{"email\na@b.example\n", `no column holds the phone number under a known name; the columns are "email"; call it to in the first line`},
		{"phone,mobile\n+2348031234567,+2348031234568\n", "call the right one to in the first line"},
		{"+2348031234567\n", "so the list has no header; give it a first line such as to"},
		{utf16("to\n+2348031234567\n"), "it looks like utf-16le; save it as UTF-8"},
		{"to\n0803\n", `s.csv:2: column "to": "0803" has no + and country code, so it may be anybody's; write + and the country code, or give --default-region if the whole file is of one country`},
		{"to\n00234803\n", "write + instead of 00, or give --default-region"},
		{"to,scope\n+2348031234567\n", "s.csv:2: 1 cells where the header has 2"},
	} {
		d.write("s.csv", tt.list)
		r := d.want(2, "suppressions", "import", d.path("s.csv"))
		if !strings.Contains(r.stderr, tt.want) || strings.Contains(r.stderr, "recipients.") || strings.Count(r.stderr, "\n") != 1 {
			t.Errorf("%q: %s\nwant %s", tt.list, r.stderr, tt.want)
		}
	}
	if r := d.want(2, "suppressions", "import", d.path("absent.csv")); strings.Contains(r.stderr, "recipients.") {
		t.Errorf("a missing file: %s", r.stderr)
	}
}

func TestADashExportsToStandardOutput(t *testing.T) {
	d := newDesk(t, nil)
	t.Chdir(d.dir)
	d.want(0, "suppressions", "add", "+2348031234567")
	if r := d.want(0, "suppressions", "export", "-"); !strings.Contains(r.stdout, "\n+2348031234567,marketing,operator,") {
		t.Errorf("export: %s", r.stdout)
	}
	if _, err := os.Stat(d.path("-")); err == nil {
		t.Error("export made a file called -")
	}
}
