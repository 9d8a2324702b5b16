package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// An entry of the lists is lost when somebody moves its lines or renames its tests. This test needs
// no build, so that they see it at once.
func TestEveryMutationOfTheListsIsInTheCode(t *testing.T) {
	const root = "../.."
	list, err := readLists(root)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := compose(root, "campaignd", list); err != nil {
		t.Errorf("got %v\nwant each mutation in its file", err)
	}
	names := map[string]int{}
	for _, e := range list {
		if names[e.name]++; names[e.name] == 2 {
			t.Errorf("got two mutations with the name %s, want one", e.name)
		}
		for _, p := range e.proofs {
			if matching(t, filepath.Join(root, p.Package), p.pattern()) == 0 {
				t.Errorf("%s: got no test that matches %v, want one", e.name, p)
			}
		}
	}
}

// testName matches the declaration of a test.
var testName = regexp.MustCompile(`(?m)^func (Test\w+)\(`)

// matching returns how many tests of a folder a pattern matches, whatever their build tags are.
func matching(t *testing.T, dir, pattern string) (n int) {
	t.Helper()
	top, err := regexp.Compile(pattern)
	if err != nil {
		t.Error(err)
		return 0
	}
	files, err := filepath.Glob(filepath.Join(dir, "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range testName.FindAllSubmatch(text, -1) {
			if top.MatchString(string(m[1])) {
				n++
			}
		}
	}
	return n
}

// pattern returns the pattern of top-level tests that a proof runs; "": all.
func (p proof) pattern() string {
	for _, arg := range p.args {
		if pattern, ok := strings.CutPrefix(arg, "-test.run="); ok {
			pattern, _, _ = strings.Cut(pattern, "/")
			return pattern
		}
	}
	return ""
}

// Two entries that a merge has glued together would be one, which tests find by either half.
func TestAnEntryEndsWithAnEmptyLine(t *testing.T) {
	path := filepath.Join(t.TempDir(), "list.txt")
	const one = "a.go\n- x\n+ y\n? ./a\n= first\n"
	for text, want := range map[string]int{one + "\n" + one: 2, one + one: 0} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		got, err := readEntries(path)
		if len(got) != want || (err == nil) != (want > 0) {
			t.Errorf("%q: got %d entries and %v, want %d", text, len(got), err, want)
		}
	}
}
