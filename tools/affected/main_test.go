package main

import (
	"slices"
	"testing"
)

// world is a program of three packages, a test that builds it, and one that reads a page.
func world() []*listed {
	return []*listed{
		{ImportPath: module + "/cmd/campaignd", Dir: "cmd/campaignd", Imports: []string{module + "/campaign"},
			Deps: []string{module + "/campaign", module + "/throttle"}},
		{ImportPath: module + "/campaign", Dir: "campaign", Imports: []string{module + "/throttle"}, Deps: []string{module + "/throttle"}},
		{ImportPath: module + "/throttle", Dir: "throttle", XTestImports: []string{module + "/throttle/suite"}},
		{ImportPath: module + "/throttle/suite", Dir: "throttle/suite"},
		{ImportPath: module + "/harness", Dir: "harness", sources: `build("./cmd/campaignd")`},
		{ImportPath: module + "/pages", Dir: "pages", sources: `open("../docs/limits.md"); glob("../testdata/wire/*")`},
	}
}

func TestEveryTestThatSeesAChangeIsFound(t *testing.T) {
	for _, c := range []struct {
		file         string
		all, nearest []string
	}{
		{"throttle/slot.go", []string{"./campaign", "./cmd/campaignd", "./harness", "./throttle"}, []string{"./campaign", "./throttle"}},
		{"throttle/slot_test.go", []string{"./throttle"}, []string{"./throttle"}},
		{"throttle/slots.lua", []string{"./campaign", "./cmd/campaignd", "./harness", "./throttle"}, []string{"./campaign", "./throttle"}},
		{"throttle/testdata/fuzz/x", []string{"./throttle"}, []string{"./throttle"}},
		{"throttle/suite/suite.go", []string{"./throttle", "./throttle/suite"}, []string{"./throttle", "./throttle/suite"}},
		{"docs/limits.md", []string{"./pages"}, []string{"./pages"}},
		{"testdata/wire/send/1.json", []string{"./pages"}, []string{"./pages"}},
		{"CHANGELOG.md", nil, nil},
		{"go.mod", []string{"./campaign", "./cmd/campaignd", "./harness", "./pages", "./throttle", "./throttle/suite"},
			[]string{"./campaign", "./cmd/campaignd", "./harness", "./pages", "./throttle", "./throttle/suite"}},
	} {
		if got := affected(world(), []string{c.file}, false); !slices.Equal(got, c.all) {
			t.Errorf("%s: got %v, want %v", c.file, got, c.all)
		}
		if got := affected(world(), []string{c.file}, true); !slices.Equal(got, c.nearest) {
			t.Errorf("%s, direct: got %v, want %v", c.file, got, c.nearest)
		}
	}
}
