package main

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// changes returns the changed lines of the mutations of a source file that change the given line.
func changes(name, source, line string) (got []string) {
	f := &File{Path: name, text: source}
	for _, of := range f.mutations() {
		for _, m := range of {
			if before, after := m.lines(); before == line {
				got = append(got, after)
			}
		}
	}
	return got
}

func TestEachRuleChangesItsLines(t *testing.T) {
	for line, want := range map[string][]string{
		"return a < 3":          {"return a <= 3", "return a < (3 + 1)"},
		"return ok && a == b":   {"return ok && a != b", "return ok || a == b"},
		"return a-b > 3":        {"return a-b >= 3", "return a+b > 3", "return a-b > (3 + 1)"},
		"if !ok { // why":       {"if !(!ok) { // why", "if false && (!ok) { // why"},
		"if a := b; a > b {":    {"if a := b; a >= b {", "if a := b; !(a > b) {", "if a := b; false && (a > b) {"},
		"a++":                   {""},
		"b = a":                 {""},
		"two(a, b)":             {""},
		"return err":            {"return nil"},
		"return 0, ErrFull":     {"return (0 + 1), ErrFull", "return 0, nil", `return 0, errors.New("another")`},
		`log.Warn("late", a-b)`: nil, "a = make([]int, 4)": nil, "// a == 3": nil, `b = "a == 3"`: {""},
		"q = `SELECT x FROM y WHERE a = 3 AND b < 2`": {
			"", "q = `SELECT x FROM y WHERE a = 3 AND b <= 2`", "q = `SELECT x FROM y WHERE a <> 3 AND b < 2`",
			"q = `SELECT x FROM y WHERE a = (3 + 1) AND b < 2`", "q = `SELECT x FROM y WHERE a = 3 AND b < (2 + 1)`",
			"q = `SELECT x FROM y WHERE a = 3 OR b < 2`",
		},
	} {
		if got := changes("a.go", "package a\n\nfunc f() {\n\t"+line+"\n}\n", line); !slices.Equal(got, want) {
			t.Errorf("mutations of %q:\n got %q\nwant %q", line, got, want)
		}
	}
	const line = "if cursor < now then cursor = now end"
	if got := changes("a.lua", line+"\n", line); !slices.Equal(got, []string{"if cursor <= now then cursor = now end"}) {
		t.Errorf("mutations of Lua: got %q, want one comparison", got)
	}
}

const tinySource = `package tiny

// Full is tested at its limit, Half is not.
func Full(n int) bool { return n >= limit }

func Half(n int) bool { return n > limit/2 }

const limit = 8
`

func TestTheSameSeedDrawsTheSameMutations(t *testing.T) {
	draw := func(seed uint64) (drawn []int) {
		p := pool{(&File{Path: "tiny.go", text: tinySource}).mutations()}
		r := rand.New(rand.NewPCG(seed, 0))
		for m := p.draw(r); m != nil; m = p.draw(r) {
			drawn = append(drawn, m.start)
		}
		return drawn
	}
	if a, b := draw(5), draw(5); !slices.Equal(a, b) || len(a) != 5 {
		t.Errorf("drawn with one seed: got %v and %v, want the same five", a, b)
	}
}
