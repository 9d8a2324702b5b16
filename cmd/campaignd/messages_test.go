package main

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"
)

// maxColumns is the longest line of a message: two and a half lines of a terminal of 80 columns.
const maxColumns = 200

var (
	// logLine matches a line of the log, which may be long: a machine reads it too.
	logLine = regexp.MustCompile(`^time=|^\{"time"`)
	// escapes matches what Go writes for a rune or bytes that it does not show.
	escapes = regexp.MustCompile(`\\u[0-9a-fA-F]{4}|\\U[0-9a-fA-F]{8}|(\\x[0-9a-fA-F]{2})+`)
	// foreign matches messages without a limit of length: those of the system and of libraries, and
	// the sentence of a hold, which names the cause, what ends the hold and the command that ends it
	// earlier, and the names of all columns of a list, of which the wanted one may be the last.
	foreign = regexp.MustCompile(`: dial tcp |SQL logic error|(is|are) held since |the list's columns: |(the|its) columns are "`)
	// remedies matches the words with which a message says what to do.
	remedies = regexp.MustCompile(`; |\? ?$|did you mean|want |give |create |check |set |wait |` +
		`neither|such as|no such run|takes no|for example|see |--help`)
)

// unreadable says what a person cannot read in the messages of a command; dir is its folder.
func unreadable(messages, dir string) (faults []string) {
	for line := range strings.Lines(messages) {
		line = strings.TrimRight(line, "\n")
		if logLine.MatchString(line) {
			continue
		}
		if dir != "" { // folders of tests have long names
			line = strings.ReplaceAll(line, dir, ".")
			line = strings.Replace(line, strings.Repeat(" ", utf8.RuneCountInString(dir)), " ", 1) // below such a name, in a table
		}
		if n := utf8.RuneCountInString(line); n > maxColumns && !foreign.MatchString(line) {
			faults = append(faults, strconv.Itoa(n)+" columns: "+line)
		}
		for _, e := range escapes.FindAllString(line, -1) {
			if text, err := strconv.Unquote(`"` + e + `"`); err == nil && strings.ContainsFunc(text, unicode.IsLetter) {
				faults = append(faults, e+" is the letter "+text+": "+line)
			}
		}
	}
	return faults
}

// reads reads the messages of every command that a test of this package runs.
func (d *fixture) reads(r result, args []string) {
	d.t.Helper()
	for _, fault := range unreadable(r.stderr, d.dir) {
		d.t.Errorf("campaignd %s: got a message of %s; want at most %d columns and no escaped letter",
			strings.Join(args, " "), fault, maxColumns)
	}
	for _, machine := range []string{"json", "schema", "export", "report"} {
		if slices.Contains(args, machine) {
			return
		}
	}
	for _, fault := range unreadable(r.stdout, d.dir) {
		d.t.Errorf("campaignd %s: got on standard output %s; want at most %d columns and no escaped letter",
			strings.Join(args, " "), fault, maxColumns)
	}
}

func TestUnreadableMessagesAreFound(t *testing.T) {
	t.Parallel()
	for message, want := range map[string]int{
		"campaignd: all is well\n":                                 0,
		"campaignd: column \"vorname\\u00fc\" is missing\n":        1,
		"campaignd: a NUL, \\x00, and a bell, \\u0007\n":           0,
		"campaignd: \\xc3\\xbc\n":                                  1,
		"campaignd: " + strings.Repeat("é", 189) + "\n":            0,
		"campaignd: " + strings.Repeat("é", 190) + "\n":            1,
		"time=1 level=INFO msg=" + strings.Repeat("x", 500) + "\n": 0,
	} {
		if got := unreadable(message, ""); len(got) != want {
			t.Errorf("%.60q: got %q, want %d faults", message, got, want)
		}
	}
}

// Names of columns, files and values that are not English are shown as they are.
func TestMessagesShowLettersOfAnyScript(t *testing.T) {
	t.Parallel()
	d := newFixture(t, nil)
	d.write("größe.csv", "telefon,имя,наме\n+2348031234567,Ольга,x\n")
	d.write("表.yaml", strings.Replace(campaignFile, "list.csv", "größe.csv", 1))
	for _, args := range [][]string{
		{"check", d.path("表.yaml")}, {"run", d.path("表.yaml")}, {"preview", d.path("表.yaml")}, {"run", d.path("нет.yaml")},
		{"report", "großer-1"}, {"follow-up", "latest", "--where", "größe"}, {"holds", "add", "größe", "x"}, {"größe"},
		{"suppressions", "add", "größe"}, {"suppressions", "import", d.path("größe.csv")},
		{"check", d.path("c.yaml"), "--recipients", d.path("größe.csv")},
	} {
		if r := d.run(args...); r.code != 1 && r.code != 2 || !remedies.MatchString(r.stderr) {
			t.Errorf("campaignd %s: got exit code %d with\n%s\nwant 1 or 2 with a remedy", strings.Join(args, " "), r.code, r.stderr)
		}
	}
}
