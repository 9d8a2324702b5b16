//go:build long

package main

import (
	"io"
	"os"
	"strings"
	"testing"
)

// mutantSource is a package mutant for the module tiny.
const mutantSource = `package mutant

import "os"

var name = os.Getenv("CAMPAIGND_MUTANT")

func On(mutation string) bool { return name == mutation }
`

func TestAWrittenMutationMustBeFound(t *testing.T) {
	const full = "full\ntiny.go\n- func Full(n int) bool { return n >= limit }\n+ func Full(n int) bool { return n > limit }\n" +
		"? . Full\n= a\n"
	const half = "tiny.go\n- func Half(n int) bool { return n > limit/2 }\n+ func Half(n int) bool { return n >= limit/2 }\n? . Half\n= b\n"
	for name, c := range map[string]struct {
		list, want string // want of the error or the output
		code       int
	}{
		"found":               {full, "mutations: 1 of 1 found", 0},
		"one of two":          {full + "\n" + half, "SURVIVED  mutations.txt:8: b", 1},
		"another sign":        {full + "~ 8 and 9\n", `fails, and does not say "8 and 9"`, 1},
		"a line that moved":   {strings.Replace(full, ">= limit", ">= 8", 1), "these lines are there 0 times", 1},
		"no such file":        {strings.Replace(full, "tiny.go", "big.go", 1), "no such file", 1},
		"no function":         {"tiny.go\n- const limit = 8\n+ const limit = 9\n? . Full\n= a\n", "the lines are not in a function", 1},
		"no tests":            {strings.Replace(full, "? . Full\n", "", 1), "a mutation has no line that begins with ?", 1},
		"a test that is gone": {strings.Replace(full, "? . Full", "? . Whole", 1), "no test matches", 1},
		"no program":          {strings.Replace(full, "n > limit", "m > limit", 1), "do not compile", 1},
		"cut off": {strings.NewReplacer("return n > limit", "select {}", "? . Full", "? . Full -test.timeout=2s").Replace(full),
			"was cut off by its time limit", 1},
		"no syntax": {strings.Replace(full, "n > limit", "n > ", 1), "the mutation does not compile", 1},
		"a declaration": {"tiny.go\n- func Full(n int) bool { return n >= limit }\n" +
			"+ func Full(n int) bool { return strings.Count(most, \"8\") < n }\n" +
			"& import \"strings\"\n& const most = \"88\"\n? . Full\n= a\n", "mutations: 1 of 1 found", 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Chdir(module(t, map[string]string{"tiny.go": tinySource, "tiny_test.go": tinyTest,
				"internal/mutant/mutant.go": mutantSource, lists[0]: c.list}))
			code, err := 0, error(nil)
			said := output(t, func() { code, err = run(t.Context(), &options{written: true, workers: 2}) })
			if err != nil {
				said += err.Error()
			}
			if code != c.code || !strings.Contains(said, c.want) {
				t.Errorf("exit code = %d, output %q; want %d and %q", code, said, c.code, c.want)
			}
		})
	}
}

// output returns what f prints.
func output(t *testing.T, f func()) string {
	t.Helper()
	before := os.Stdout
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	os.Stdout = w
	f()
	os.Stdout = before
	_ = w.Close()
	text, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
