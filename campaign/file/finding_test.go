package file

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// A warning is logged by its kind, so its level comes from its kind: nothing else makes one.
func TestEveryWarningHasAKind(t *testing.T) {
	source, err := os.ReadFile("finding.go")
	if err != nil {
		t.Fatal(err)
	}
	var named []Kind
	for _, m := range regexp.MustCompile(`Kind\w+ +Kind = "(\w+)"`).FindAllStringSubmatch(string(source), -1) {
		named = append(named, Kind(m[1]))
	}
	if !slices.Equal(named, Kinds) || len(named) == 0 {
		t.Errorf("got the constants %v, want Kinds: %v", named, Kinds)
	}
	pages, err := os.ReadFile("../../docs/operations.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, k := range Kinds {
		if w := Warning(k, 3, "", "w", ""); w.Level != LevelWarning || w.Kind != k || w.Count != 3 {
			t.Errorf("%s: got %+v, want a warning of this kind about 3 rows", k, w)
		}
		if row := "| `" + string(k) + "` |"; !strings.Contains(string(pages), row) {
			t.Errorf("docs/operations.md: got no row %s, want each kind", row)
		}
	}
	if got := Warning(Fault, 0, "", "w", "").Level; got != LevelError {
		t.Errorf("without a kind: got %s, want an error", got)
	}
	made := regexp.MustCompile(`Level:? *[:=] *(file\.)?LevelWarning|"warning"`)
	files := 0
	for _, root := range []string{"../../campaign", "../../internal", "../../cmd"} {
		err := filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error {
			if err != nil || filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_test.go") || filepath.Base(path) == "finding.go" {
				return err
			}
			text, err := os.ReadFile(path)
			files++
			if strings.Contains(string(text), "file.Finding") || strings.HasPrefix(path, "../../campaign/file/") {
				if got := made.FindString(string(text)); got != "" {
					t.Errorf("%s: got %s, want file.Warning or a kind: a warning has a kind", path, got)
				}
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if files < 100 {
		t.Errorf("got %d files, want those of the program", files)
	}
}
