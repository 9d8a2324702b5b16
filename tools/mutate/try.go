package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"
)

// A Verdict is the result of a tried mutation.
type Verdict struct {
	*Mutation
	By       string   // the test that failed; "" for a survivor
	Tests    int      // number of tests that ran
	Reason   string   // why it is equivalent, from equivalent.txt
	Packages []string // packages whose tests ran
	Took     time.Duration
}

func (v *Verdict) killed() bool { return v.By != "" }

// quick is the longest duration of the tests that run before the slower ones of their package.
const quick = 300 * time.Millisecond

// try applies a mutation and runs the tests that reach it. The verdict is nil when no replacement
// compiles.
func try(ctx context.Context, o *options, m *Mutation, tests []*Test, x *index) (*Verdict, error) {
	began := time.Now()
	dir, err := os.MkdirTemp(o.work, "try-")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	var overlay string
	compiles := slices.ContainsFunc(m.New, func(replacement string) bool {
		if overlay, err = m.overlay(dir, replacement); err != nil {
			return false
		}
		m.choose(replacement)
		return o.command(ctx, o.root, "go", "build", "-o", os.DevNull, "-overlay", overlay, m.File.Package.ImportPath).Run() == nil
	})
	if err != nil || !compiles {
		return nil, err
	}
	v := &Verdict{Mutation: m}
	defer func() { v.Took = time.Since(began) }()
	groups := choose(m, tests, x.sites(m))
	for i, group := range groups {
		p := group[0].Package
		binary := filepath.Join(dir, "tests-"+flatName(p.ImportPath))
		if i == 0 || groups[i-1][0].Package != p {
			build := o.command(ctx, o.root, "go", "test", "-c", "-vet=off", "-ldflags=-s -w", "-overlay", overlay, "-o", binary, p.ImportPath)
			if out, err := build.CombinedOutput(); err != nil {
				v.By = "it does not compile" // a test or an importing package
				if !strings.Contains(string(out), ".go:") {
					return nil, fmt.Errorf("%v: building the tests of %s: %w\n%s", m, p.ImportPath, err, out)
				}
				return v, ctx.Err()
			}
			v.Packages = append(v.Packages, p.ImportPath)
		}
		v.Tests += len(group)
		if v.By = runGroup(ctx, o, binary, group); v.killed() || ctx.Err() != nil {
			return v, ctx.Err()
		}
	}
	return v, nil
}

// overlay writes the changed file to dir, with the build overlay that puts it in the place of the
// original. It returns the path of the overlay.
func (m *Mutation) overlay(dir, replacement string) (string, error) {
	mutated, overlay := filepath.Join(dir, filepath.Base(m.File.Path)), filepath.Join(dir, "overlay.json")
	text, err := json.Marshal(map[string]map[string]string{"Replace": {m.File.Path: mutated}})
	if err == nil {
		err = os.WriteFile(mutated, m.apply(replacement), 0o600)
	}
	if err == nil {
		err = os.WriteFile(overlay, text, 0o600)
	}
	return overlay, err
}

// choose returns the tests to run, in groups: first those of the mutation's own package, then the
// other packages by their total time, and of each package the quick tests first.
func choose(m *Mutation, tests []*Test, at [][]site) [][]*Test {
	byPackage := map[*Package][]*Test{}
	total := map[*Package]time.Duration{}
	for _, t := range tests {
		own := t.Package.ImportPath == m.File.Package.ImportPath
		whole := own && m.File.tree == nil // a test may run an embedded script itself
		if !own && !t.Package.imports(m.File.Package.ImportPath) || !whole && !slices.ContainsFunc(at, t.reaches) {
			continue
		}
		byPackage[t.Package] = append(byPackage[t.Package], t)
		if !own {
			total[t.Package] += t.Took
		}
	}
	var packages []*Package
	for p := range byPackage {
		packages = append(packages, p)
	}
	slices.SortFunc(packages, func(a, b *Package) int {
		if d := total[a] - total[b]; d != 0 {
			return int(d)
		}
		return strings.Compare(a.ImportPath, b.ImportPath)
	})
	var groups [][]*Test
	for _, p := range packages {
		var fast, slow []*Test
		for _, t := range byPackage[p] {
			if t.Took <= quick {
				fast = append(fast, t)
			} else {
				slow = append(slow, t)
			}
		}
		for _, g := range [][]*Test{fast, slow} {
			if len(g) > 0 {
				groups = append(groups, g)
			}
		}
	}
	return groups
}

// failed matches the name of a failed test.
var failed = regexp.MustCompile(`(?m)^--- FAIL: (\S+)`)

// runGroup runs tests of one binary until one fails. It returns the name of that test or another
// cause, and "" when all pass.
func runGroup(ctx context.Context, o *options, binary string, group []*Test) string {
	limit := 20 * time.Second
	var names []string
	for _, t := range group {
		limit += 4 * t.Took
		names = append(names, t.Name)
	}
	out, err := o.command(ctx, group[0].Package.Dir, binary, "-test.failfast", "-test.timeout", limit.String(),
		"-test.run", "^("+strings.Join(names, "|")+")$").CombinedOutput()
	if err == nil {
		return ""
	}
	if m := failed.FindSubmatch(out); m != nil {
		return string(m[1])
	}
	if strings.Contains(string(out), "panic: test timed out") {
		return "out of time"
	}
	return "the process ended: " + flat(string(out))
}
