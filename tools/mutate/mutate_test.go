package main

import (
	"io"
	"os"
	"path/filepath"
	"slices"
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

// changes returns the changed line of each mutation of one kind in a source file.
func changes(t *testing.T, kind, source string) []string {
	t.Helper()
	t.Chdir(module(t, map[string]string{"a.go": source}))
	packages, err := loadPackages(".", []string{"."})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, m := range mutations(packages[0].files[0]) {
		if m.Kind == kind {
			m.choose(m.New[0])
			got = append(got, m.after)
		}
	}
	return got
}

func TestEachKindOfMutationChangesItsLines(t *testing.T) {
	for _, c := range []struct {
		kind, line string
		want       []string
	}{
		{shift, "return a < 3", []string{"return a <= 3"}},
		{negate, "if ok { a = 0 }; return a == 3", []string{"if !(ok) { a = 0 }; return a == 3", "if ok { a = 0 }; return a != 3"}},
		{negate, "if !ok { a = 0 }; return ok", []string{"if ok { a = 0 }; return ok"}},
		{logic, "return ok && a > 3", []string{"return ok || a > 3"}},
		{constant, "return a > 3", []string{"return a > (3 + 1)"}},
		{arithmetic, "return a - b > 3", []string{"return a + b > 3"}},
		{branch, "if ok { a = 0 } else { a = 1 }; return ok",
			[]string{"if false && (ok) { a = 0 } else { a = 1 }; return ok", "if ok { a = 0 }; return ok"}},
		{statement, "a++; log.Info(a); return ok", []string{"; log.Info(a); return ok"}},
		{argument, "return two(a, b)", []string{"return two(nil, b)", "return two(a)", "return two(a, nil)"}},
		{query, "return same(`SELECT x FROM y WHERE a = 3 AND b < 2`)", []string{
			"return same(`SELECT x FROM y WHERE a = 3 AND b <= 2`)",
			"return same(`SELECT x FROM y WHERE a <> 3 AND b < 2`)",
			"return same(`SELECT x FROM y WHERE a = 4 AND b < 2`)",
			"return same(`SELECT x FROM y WHERE a = 3 AND b < 3`)",
			"return same(`SELECT x FROM y WHERE a = 3 OR b < 2`)",
		}},
	} {
		got := changes(t, c.kind, "package a\n\nfunc f(a, b int, ok bool) bool {\n\t"+c.line+"\n}\n")
		if !slices.Equal(got, c.want) {
			t.Errorf("%s of %q:\n got %q\nwant %q", c.kind, c.line, got, c.want)
		}
	}
}

func TestTextsForPeopleAreNotMutated(t *testing.T) {
	got := changes(t, constant, "package a\n\nfunc f() { log.Warn(\"late\", \"by\", 5); panic(7) }\n")
	if len(got) != 0 {
		t.Errorf("mutations of a log line and a panic: got %q, want none", got)
	}
}

// A capacity changes no result. A length and the buffer of a channel do.
func TestCapacitiesAreNotMutated(t *testing.T) {
	source := "package a\n\nfunc f(n int) { _ = make([]int, 2, n*8+1); _ = make(map[int]int, 3+n); " +
		"_ = make(chan int, 4); _ = make([]int, n-5) }\n"
	for kind, want := range map[string][]string{constant: {"(2 + 1)", "(4 + 1)", "(5 + 1)"}, arithmetic: {"n+5"}} {
		got := changes(t, kind, source)
		if len(got) != len(want) {
			t.Errorf("%s: got %q, want %d with %q", kind, got, len(want), want)
			continue
		}
		for i := range want {
			if !strings.Contains(got[i], want[i]) {
				t.Errorf("%s: got %q, want it to contain %q", kind, got[i], want[i])
			}
		}
	}
}

const (
	tinySource = `package tiny

// Full is tested at its limit, Half is not.
func Full(n int) bool { return n >= limit }

func Half(n int) bool { return n > limit/2 }

const limit = 8
`
	tinyTest = `package tiny

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
)

func TestARunNamesKilledSurvivorsAndEquivalents(t *testing.T) {
	list := "# a comment\ntiny.go\n- func Half(n int) bool { return n > limit/2 }\n" +
		"+ func Half(n int) bool { return n > limit/(2 + 1) }\n= a reason\n"
	t.Chdir(module(t, map[string]string{"tiny.go": tinySource, "tiny_test.go": tinyTest, "tools/mutate/equivalent.txt": list}))
	report := filepath.Join(t.TempDir(), "report")
	code, err := run(t.Context(), &options{n: 100, seed: 1, packages: ".", report: report, workers: 2, cache: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	if code != 1 {
		t.Errorf("exit code = %d with 1 survivor of 4, want 1", code)
	}
	text, err := os.ReadFile(report)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"SURVIVED  tiny.go:6  comparison shifted, 1 tests of tiny\n- func Half(n int) bool { return n > limit/2 }\n" +
			"+ func Half(n int) bool { return n >= limit/2 }\n\n",
		"equivalent  tiny.go:6  constant changed, 1 tests of tiny\n",
		"= a reason",
		"killed  tiny.go:4  func Full(n int) bool { return n > limit }  by TestFullAtItsEdge",
		"killed  tiny.go:8  const limit = (8 + 1)  by TestFullAtItsEdge",
	} {
		if !strings.Contains(string(text), want) {
			t.Errorf("got the report\n%s\nwant %q in it", text, want)
		}
	}
	if n := strings.Count(string(text), "SURVIVED"); n != 1 {
		t.Errorf("survivors = %d, want 1:\n%s", n, text)
	}

	// A new test kills the survivor, which has moved by two lines.
	later := filepath.Join(t.TempDir(), "later")
	moved := strings.Replace(tinySource, "\nfunc Half", "\n// Half is more than half.\n//\nfunc Half", 1)
	t.Chdir(module(t, map[string]string{"tiny.go": moved, "tiny_test.go": strings.Replace(tinyTest, "Half(1)", "Half(4)", 1)}))
	code, err = run(t.Context(), &options{again: report, packages: ".", report: later, workers: 1, cache: t.TempDir()})
	if code != 0 || err != nil {
		t.Errorf("exit code again = %d, %v, want 0", code, err)
	}
	if text, err = os.ReadFile(later); err != nil || !strings.HasPrefix(string(text), "killed  tiny.go:8  ") {
		t.Errorf("got the report (%v)\n%s\nwant the survivor killed in line 8", err, text)
	}
}

func TestTooManySurvivorsFailTheRun(t *testing.T) {
	of := func(path string, killed, survived, equivalent int) (all []*Verdict) {
		f := &File{Path: path, Package: &Package{ImportPath: path}}
		for range killed {
			all = append(all, &Verdict{Mutation: &Mutation{File: f}, By: "TestX"})
		}
		for range survived {
			all = append(all, &Verdict{Mutation: &Mutation{File: f}})
		}
		for range equivalent {
			all = append(all, &Verdict{Mutation: &Mutation{File: f}, Reason: "the same"})
		}
		return all
	}
	for name, c := range map[string]struct {
		verdicts []*Verdict
		want     int
	}{
		"nine in ten":                  {of("a", 18, 2, 0), 0},
		"fewer":                        {of("a", 17, 2, 0), 1},
		"equivalent ones do not count": {of("a", 9, 1, 10), 0},
		"eight in ten of a package":    {slices.Concat(of("a", 90, 0, 0), of("b", 8, 2, 0)), 0},
		"fewer of a package":           {slices.Concat(of("a", 90, 0, 0), of("b", 7, 2, 1)), 1},
		"fewer of a small package":     {slices.Concat(of("a", 90, 0, 0), of("b", 6, 3, 0)), 0},
	} {
		if got := printReport(io.Discard, &options{}, c.verdicts); got != c.want {
			t.Errorf("%s: exit code = %d, want %d", name, got, c.want)
		}
	}
}

func TestTheSameSeedDrawsTheSameMutations(t *testing.T) {
	t.Chdir(module(t, map[string]string{"tiny.go": tinySource}))
	packages, err := loadPackages(".", []string{"."})
	if err != nil {
		t.Fatal(err)
	}
	draw := func(seed uint64) (drawn []int) {
		p := newPlan([][]*Mutation{mutations(packages[0].files[0])}, 3, seed)
		for m := p.next(); m != nil; m = p.next() {
			drawn = append(drawn, m.Start)
		}
		return drawn
	}
	if a, b := draw(5), draw(5); !slices.Equal(a, b) || len(a) != 3 {
		t.Errorf("drawn with one seed: got %v and %v, want the same three", a, b)
	}
}
