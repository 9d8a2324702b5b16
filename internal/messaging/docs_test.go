package messaging

import (
	"fmt"
	"maps"
	"os"
	"strings"
	"testing"
	"time"
)

// docLine is the line of docs/service.md#error-actions for a code.
func docLine(code string, r row) string {
	dash := func(s string) string { return strings.TrimPrefix(s, "-") }
	action, wait := r.Action.word(), ""
	if r.Action == 0 {
		action = "doubt"
	}
	switch {
	case r.Wait >= time.Hour:
		wait = fmt.Sprintf("%d h", r.Wait/time.Hour)
	case r.Wait >= 2*time.Minute || r.Wait == time.Minute:
		wait = fmt.Sprintf("%d min", r.Wait/time.Minute)
	case r.Wait > 0:
		wait = fmt.Sprintf("%d s", r.Wait/time.Second)
	}
	return fmt.Sprintf("| %s | %s | %s | %s | %s | %s | %s |",
		code, r.Sentence, action, dash(r.Hold.word()), wait, dash(r.EndedBy.word()), dash(r.Feed.word()))
}

// namedRows are serviceRows and ownRows.
func namedRows() map[string]row {
	all := maps.Clone(serviceRows)
	maps.Copy(all, ownRows)
	return all
}

func TestThePageHasEveryCodeAsTheCodeHasIt(t *testing.T) {
	want := map[string]string{}
	for code, r := range platformRows {
		name := fmt.Sprint(code)
		if code == 200 {
			name = "200-299"
		}
		want[name] = docLine(name, r)
	}
	for code, r := range subcodeRows {
		want[code] = docLine(code, r)
	}
	for code, r := range namedRows() {
		name := "`" + code + "`"
		want[name] = docLine(name, r)
	}
	page, err := os.ReadFile("../../docs/service.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(page), "\n## Error actions\n")
	section, _, _ = strings.Cut(section, "\n## ")
	tables := strings.Split(section, "\n### ")
	got := map[string]string{}
	for _, table := range tables {
		if !strings.HasPrefix(table, "Codes ") {
			continue
		}
		for line := range strings.Lines(table) {
			line = strings.TrimSpace(line)
			cells := strings.Split(line, " | ")
			if head := cells[0] == "| code" || cells[0] == "| `error`"; !head && strings.HasPrefix(line, "| ") {
				name := strings.TrimPrefix(cells[0], "| ")
				if got[name] != "" {
					t.Errorf("docs/service.md has %s twice, want it once", name)
				}
				got[name] = line
			}
		}
	}
	for name, line := range want {
		if got[name] != line {
			t.Errorf("docs/service.md#error-actions\n got %s\nwant %s", got[name], line)
		}
	}
	for name := range maps.Keys(got) {
		if want[name] == "" {
			t.Errorf("docs/service.md has %s, want no line: it is not in the code", name)
		}
	}
}
