package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"go/ast"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// A Test is one top-level test, with its duration and the code that it runs.
type Test struct {
	Package *Package
	Name    string
	Took    time.Duration

	// Ran and Idle are the blocks that the test runs and does not run, by import path and file name.
	Ran, Idle map[string][]block
}

// block is a piece of code: line and column of both ends.
type block struct{ FromLine, FromCol, ToLine, ToCol int }

func (b block) holds(line, col int) bool {
	return (b.FromLine < line || b.FromLine == line && b.FromCol <= col) &&
		(line < b.ToLine || line == b.ToLine && col < b.ToCol)
}

func holds(blocks []block, at site) bool {
	return slices.ContainsFunc(blocks, func(b block) bool { return b.holds(at.line, at.col) })
}

// measure runs each test of the packages alone, without a mutation, and records the code that it
// runs. A failing test would kill every mutation, so it is tried once more and is then an error.
// The measurements of an unchanged binary come from the cache.
func measure(ctx context.Context, o *options, packages []*Package, cover []string) ([]*Test, error) {
	var tests, missing []*Test
	keep := map[*Package]string{}
	for _, p := range packages {
		binary := filepath.Join(o.work, "cover-"+flatName(p.ImportPath))
		build := o.command(ctx, o.root, "go", "test", "-c", "-vet=off", "-covermode=set", "-coverpkg="+strings.Join(cover, ","),
			"-o", binary, p.ImportPath)
		if out, err := build.CombinedOutput(); err != nil {
			return nil, fmt.Errorf("building the tests of %s: %w\n%s", p.ImportPath, err, out)
		}
		path, err := cached(o.cache, binary)
		if err != nil {
			return nil, err
		}
		if of := read(path, p); of != nil {
			tests = append(tests, of...)
			continue
		}
		keep[p] = path
		names, err := o.command(ctx, p.Dir, binary, "-test.list", ".").Output()
		if err != nil {
			return nil, fmt.Errorf("listing the tests of %s: %w", p.ImportPath, err)
		}
		for _, name := range strings.Fields(string(names)) {
			if !strings.HasPrefix(name, "Benchmark") {
				missing = append(missing, &Test{Package: p, Name: name, Ran: map[string][]block{}, Idle: map[string][]block{}})
			}
		}
	}
	errs := make([]error, len(missing))
	o.parallel(len(missing), func(i int) {
		if errs[i] = missing[i].measure(ctx, o); errs[i] != nil {
			errs[i] = missing[i].measure(ctx, o)
		}
		o.progress("measured", i+1, len(missing))
	})
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	for p, path := range keep {
		var of []*Test
		for _, t := range missing {
			if t.Package == p {
				of = append(of, t)
			}
		}
		if err := write(path, of); err != nil {
			return nil, err
		}
	}
	return append(tests, missing...), nil
}

func (t *Test) measure(ctx context.Context, o *options) error {
	profile := filepath.Join(o.work, "profile-"+flatName(t.Package.ImportPath)+"-"+t.Name)
	binary := filepath.Join(o.work, "cover-"+flatName(t.Package.ImportPath))
	began := time.Now()
	out, err := o.command(ctx, t.Package.Dir, binary,
		"-test.run", "^"+t.Name+"$", "-test.coverprofile", profile, "-test.timeout", "3m").CombinedOutput()
	t.Took = time.Since(began)
	if err != nil {
		return fmt.Errorf("%s of %s fails without a mutation: %w\n%s", t.Name, t.Package.ImportPath, err, out)
	}
	text, err := os.ReadFile(profile)
	if err != nil {
		return err
	}
	_ = os.Remove(profile)
	for _, m := range counted.FindAllStringSubmatch(string(text), -1) {
		var n [4]int
		for i := range n {
			n[i], _ = strconv.Atoi(m[2+i])
		}
		known := t.Idle
		if m[6] == "1" {
			known = t.Ran
		}
		known[m[1]] = append(known[m[1]], block{n[0], n[1], n[2], n[3]})
	}
	return nil
}

// counted matches a line of a coverage profile: a block, its number of statements, and whether it
// ran.
var counted = regexp.MustCompile(`(?m)^(\S+):(\d+)\.(\d+),(\d+)\.(\d+) \d+ ([01])$`)

// reaches reports whether the test runs the innermost of the points that is in a block. Some points
// are in no block: the expressions of a case, and code after a function literal.
func (t *Test) reaches(inward []site) bool {
	for _, at := range inward {
		if holds(t.Ran[at.file], at) {
			return true
		}
		if holds(t.Idle[at.file], at) {
			return false
		}
	}
	return false
}

// site is a point of the code.
type site struct {
	file      string // import path and name
	line, col int
}

// An index finds where the names that packages declare are used.
type index struct {
	mu   sync.Mutex
	all  []*Package
	uses map[string][][]site // by name
}

// sites returns where a mutation takes effect: its own site in a function, else every use of a name
// of its declaration in any package. A use in another declaration counts with the names of that
// declaration. Each element is a site and the beginnings of the statements around it.
func (x *index) sites(m *Mutation) [][]site {
	if m.File.tree == nil {
		return x.follow(embedding(m.File))
	}
	for _, d := range m.File.tree.Decls {
		if m.File.offset(d.Pos()) > m.Start || m.Start >= m.File.offset(d.End()) {
			continue
		}
		if g, ok := d.(*ast.GenDecl); ok {
			return x.follow(declared(m.File, g, m.Start))
		}
		return [][]site{m.File.around(d, m.Start)}
	}
	return nil
}

// around returns the point at an offset of a declaration and the beginnings of the statements
// around it, the innermost first.
func (f *File) around(d ast.Decl, offset int) []site {
	name := f.Package.ImportPath + "/" + filepath.Base(f.Path)
	point := func(o int) site { return site{name, f.line(o), o - bytes.LastIndexByte(f.text[:o], '\n')} }
	points := []site{point(offset)}
	ast.Inspect(d, func(n ast.Node) bool {
		if n == nil || f.offset(n.Pos()) > offset || offset >= f.offset(n.End()) {
			return false
		}
		if _, block := n.(*ast.BlockStmt); block {
			return true
		}
		if s, ok := n.(ast.Stmt); ok {
			points = slices.Insert(points, 1, point(f.offset(s.Pos())))
		}
		return true
	})
	return points
}

// follow returns the sites that use the names, directly or by other declarations.
func (x *index) follow(names []string) [][]site {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.uses == nil {
		x.build()
	}
	var found [][]site
	met := map[string]bool{}
	for len(names) > 0 {
		name := names[0]
		names = names[1:]
		if met[name] {
			continue
		}
		met[name] = true
		for _, p := range x.uses[name] {
			if p[0].line == 0 { // another declaration uses it; file has the name of that declaration
				names = append(names, p[0].file)
			} else {
				found = append(found, p)
			}
		}
	}
	return found
}

// build fills uses.
func (x *index) build() {
	x.uses = map[string][][]site{}
	global := map[string]bool{}
	for _, p := range x.all {
		for _, f := range p.files {
			if f.tree == nil {
				continue
			}
			for _, d := range f.tree.Decls {
				if g, ok := d.(*ast.GenDecl); ok {
					for _, name := range declared(f, g, -1) {
						global[name] = true
					}
				}
			}
		}
	}
	for _, p := range x.all {
		for _, f := range p.files {
			if f.tree == nil {
				continue
			}
			for _, d := range f.tree.Decls {
				g, _ := d.(*ast.GenDecl)
				ast.Inspect(d, func(n ast.Node) bool {
					id, ok := n.(*ast.Ident)
					if !ok || !global[id.Name] {
						return true
					}
					if g == nil {
						x.uses[id.Name] = append(x.uses[id.Name], f.around(d, f.offset(id.Pos())))
						return true
					}
					for _, name := range declared(f, g, f.offset(id.Pos())) {
						if name != id.Name {
							x.uses[id.Name] = append(x.uses[id.Name], []site{{file: name}})
						}
					}
					return true
				})
			}
		}
	}
}

// declared returns the names that g declares at an offset, or all its names for -1.
func declared(f *File, g *ast.GenDecl, offset int) []string {
	var names []string
	if g.Tok != token.CONST && g.Tok != token.VAR {
		return nil
	}
	for _, s := range g.Specs {
		v, ok := s.(*ast.ValueSpec)
		if !ok || offset >= 0 && (offset < f.offset(v.Pos()) || offset > f.offset(v.End())) {
			continue
		}
		for _, id := range v.Names {
			names = append(names, id.Name)
		}
	}
	return names
}

// embedding returns the names of the variables into which a script is embedded.
func embedding(script *File) []string {
	var names []string
	for _, f := range script.Package.files {
		if f.tree == nil {
			continue
		}
		for _, d := range f.tree.Decls {
			g, ok := d.(*ast.GenDecl)
			if !ok || g.Doc == nil {
				continue
			}
			for _, c := range g.Doc.List {
				if strings.HasPrefix(c.Text, "//go:embed") && strings.Contains(c.Text, filepath.Base(script.Path)) {
					names = append(names, declared(f, g, f.offset(g.Specs[0].Pos()))...)
				}
			}
		}
	}
	return names
}

// parallel calls f for 0 to n-1, with o.workers calls at the same time.
func (o *options) parallel(n int, f func(int)) {
	var wg sync.WaitGroup
	next := make(chan int)
	for range o.workers {
		wg.Go(func() {
			for i := range next {
				f(i)
			}
		})
	}
	for i := range n {
		next <- i
	}
	close(next)
	wg.Wait()
}

// command returns a process that ends with ctx. Its address space is limited, because a mutation
// may allocate memory without end.
func (o *options) command(ctx context.Context, dir, name string, args ...string) *exec.Cmd {
	c := exec.CommandContext(ctx, "/bin/sh", append([]string{"-c", `ulimit -v 16000000; exec "$@"`, "sh", name}, args...)...)
	c.Dir = dir
	c.Env = append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=-trimpath")
	c.WaitDelay = 5 * time.Second
	return c
}

func flatName(s string) string { return strings.NewReplacer("/", "_", ".", "_").Replace(s) }
