package wording

import (
	"os"
	"strings"
	"testing"
)

func TestTheGlossaryHasEachLimit(t *testing.T) {
	text, err := os.ReadFile("../../docs/glossary.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(text), "\n## What limits a run\n")
	var got []string
	for _, line := range strings.Split(section, "\n") {
		if strings.HasPrefix(line, "| `") {
			got = append(got, line)
		}
	}
	all := Limits()
	if len(got) != len(all) {
		t.Fatalf("got %d rows, want %d", len(got), len(all))
	}
	for i, m := range all {
		if want := "| `" + string(m.By) + "` | " + m.Meaning + " |"; got[i] != want {
			t.Errorf("got  %s\nwant %s", got[i], want)
		}
	}
}
