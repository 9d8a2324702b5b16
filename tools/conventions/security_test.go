package conventions

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var (
	testName   = regexp.MustCompile("`((?:Test|Fuzz)[A-Za-z0-9]+)`")
	testOfFile = regexp.MustCompile(`(?m)^func ((?:Test|Fuzz)[A-Za-z0-9]+)\(`)
)

// Each row of docs/security.md names a test of this repository, or a step of the gate. A test of
// the sandbox is none: it shows how the service protects itself.
func TestEachProtectionHasItsTest(t *testing.T) {
	exist := map[string]bool{}
	err := filepath.WalkDir("../..", func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, "_test.go") || strings.Contains(filepath.ToSlash(path), "internal/sandbox/") {
			return err
		}
		text, err := os.ReadFile(path)
		for _, m := range testOfFile.FindAllSubmatch(text, -1) {
			exist[string(m[1])] = true
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile("../../docs/security.md")
	if err != nil {
		t.Fatal(err)
	}
	rows := 0
	for line := range strings.Lines(string(page)) {
		cells := strings.Split(strings.TrimSpace(line), " | ")
		if len(cells) != 3 || strings.HasPrefix(line, "| threat") {
			continue
		}
		rows++
		names := testName.FindAllStringSubmatch(cells[2], -1)
		if len(names) == 0 && !strings.Contains(cells[2], "`.ci/run ") {
			t.Errorf("%s: got no test, want one", cells[0])
		}
		for _, n := range names {
			if !exist[n[1]] {
				t.Errorf("%s: got no test %s in the repository, want it", cells[0], n[1])
			}
		}
	}
	if rows < 20 {
		t.Errorf("got %d rows, want the whole table", rows)
	}
}
