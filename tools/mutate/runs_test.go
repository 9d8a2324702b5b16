//go:build long

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// module writes a module and returns its folder.
func module(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	files["go.mod"] = "module tiny\n\ngo 1.26\n"
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

const tinyTest = `package tiny

import "testing"

func TestFullAtItsEdge(t *testing.T) {
	if Full(7) || !Full(8) {
		t.Error("7 or 8")
	}
}

func TestHalfSomewhere(t *testing.T) {
	if Half(1) || !Half(8) {
		t.Error("1 or 8")
	}
}
`

func TestARunNamesFoundSurvivorsAndEquivalents(t *testing.T) {
	list := "# a comment\ntiny.go\n- func Half(n int) bool { return n > limit/2 }\n" +
		"+ func Half(n int) bool { return n > limit/(2 + 1) }\n= a reason\n"
	t.Chdir(module(t, map[string]string{"tiny.go": tinySource, "tiny_test.go": tinyTest, "tools/mutate/equivalent.txt": list}))
	code, err := 0, error(nil)
	said := output(t, func() { code, err = run(t.Context(), &options{n: 100, seed: 1, packages: ".", workers: 2}) })
	if err != nil || code != 1 {
		t.Errorf("exit code = %d, %v with 1 survivor of 4, want 1", code, err)
	}
	for _, want := range []string{
		"SURVIVED  tiny.go:6  \n- func Half(n int) bool { return n > limit/2 }\n" +
			"+ func Half(n int) bool { return n >= limit/2 }\n\n",
		"equivalent  tiny.go:6  a reason\n",
		"found  tiny.go:4  by TestFullAtItsEdge\n- func Full(n int) bool { return n >= limit }\n" +
			"+ func Full(n int) bool { return n > limit }\n",
		"found  tiny.go:8  by TestFullAtItsEdge\n- const limit = 8\n+ const limit = (8 + 1)\n",
		"mutations: 3 found, 1 survived, 1 equivalent; seed 1, ",
	} {
		if !strings.Contains(said, want) {
			t.Errorf("got the report\n%s\nwant %q in it", said, want)
		}
	}

	// A new test finds the survivor. A package that imports tiny can do so, too.
	for name, files := range map[string]map[string]string{
		"another test": {"tiny.go": tinySource, "tiny_test.go": strings.Replace(tinyTest, "Half(1)", "Half(4)", 1)},
		"an importer": {"tiny.go": tinySource, "tiny_test.go": tinyTest, "user/user_test.go": "package user\n\n" +
			"import (\n\t\"testing\"\n\n\t\"tiny\"\n)\n\nfunc TestUse(t *testing.T) {\n\tif tiny.Half(4) {\n\t\tt.Error(4)\n\t}\n}\n"},
	} {
		t.Chdir(module(t, files))
		said = output(t, func() { code, err = run(t.Context(), &options{at: "tiny.go:6", packages: ".", workers: 1}) })
		if err != nil || code != 0 || !strings.Contains(said, ": 3 found, 0 survived") {
			t.Errorf("%s: exit code = %d, %v, output\n%s\nwant all three found", name, code, err, said)
		}
	}
}
