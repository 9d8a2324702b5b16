package main

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// minFound is the smallest share of found mutations that passes, in percent.
const minFound = 90

// A pool has the mutations that may be drawn, by file and rule.
type pool [][][]*Mutation

// draw takes a mutation of a random rule of a random file out of the pool, and returns nil when it
// is empty.
func (p *pool) draw(r *rand.Rand) *Mutation {
	if len(*p) == 0 {
		return nil
	}
	i := r.IntN(len(*p))
	j := r.IntN(len((*p)[i]))
	k := r.IntN(len((*p)[i][j]))
	m := (*p)[i][j][k]
	if (*p)[i][j] = without((*p)[i][j], k); len((*p)[i][j]) == 0 {
		if (*p)[i] = without((*p)[i], j); len((*p)[i]) == 0 {
			*p = without(*p, i)
		}
	}
	return m
}

func without[T any](all []T, i int) []T {
	all[i] = all[len(all)-1]
	return all[:len(all)-1]
}

// tryRandom tries o.n mutations of the chosen packages, or all of the line o.at, and returns the
// exit code.
func (o *options) tryRandom(ctx context.Context) (code int, err error) {
	equivalents, err := readEntries(filepath.Join(o.root, "tools/mutate/equivalent.txt"))
	if err != nil {
		return 1, err
	}
	all, err := loadPackages(o.root, "./...")
	if err != nil {
		return 1, err
	}
	chosen, err := loadPackages(o.root, strings.Fields(o.packages)...)
	if err != nil {
		return 1, err
	}
	var mutations pool
	for _, p := range chosen {
		for _, f := range p.files {
			if found := o.wanted(f.mutations()); len(found) > 0 {
				mutations = append(mutations, found)
			}
		}
	}
	r := rand.New(rand.NewPCG(o.seed, 0))
	tried, found, equal := 0, 0, 0
	var failure error
	o.parallel(o.workers, func(int) {
		for {
			o.mu.Lock()
			var m *Mutation
			if failure == nil && (tried < o.n || o.at != "") {
				m = mutations.draw(r)
			}
			if m != nil {
				tried++
			}
			o.mu.Unlock()
			if m == nil {
				return
			}
			by, compiles, err := o.find(ctx, m, all)
			o.mu.Lock()
			switch reason := o.reasonOf(equivalents, m); {
			case err != nil:
				failure = err
			case !compiles:
				tried-- // another one is drawn instead
			case by != "":
				found++
				o.say("found", m, "by "+by)
			case reason != "":
				equal++
				o.say("equivalent", m, reason)
			default:
				o.say("SURVIVED", m, "")
			}
			o.mu.Unlock()
		}
	})
	if failure != nil {
		return 1, failure
	}
	survived := tried - found - equal
	fmt.Printf("mutations: %d found, %d survived, %d equivalent; seed %d, %s\n", found, survived, equal, o.seed,
		time.Since(o.began).Round(time.Second))
	if 100*found < minFound*(found+survived) {
		return 1, nil
	}
	return 0, nil
}

// wanted returns the mutations of the line o.at, or all.
func (o *options) wanted(byRule [][]*Mutation) (wanted [][]*Mutation) {
	for _, of := range byRule {
		var here []*Mutation
		for _, m := range of {
			if o.at == "" || o.at == fmt.Sprintf("%s:%d", o.relative(m.File.Path), m.line()) {
				here = append(here, m)
			}
		}
		if len(here) > 0 {
			wanted = append(wanted, here)
		}
	}
	return wanted
}

// find runs the tests of the mutation's package, then the tests of the packages that import it,
// until one fails. by names that test, or another cause; it is "" when all pass.
func (o *options) find(ctx context.Context, m *Mutation, all []*Package) (by string, compiles bool, err error) {
	dir, err := os.MkdirTemp(o.work, "try-")
	if err != nil {
		return "", false, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	overlay, err := writeOverlay(dir, map[string]string{m.File.Path: m.apply()})
	if err != nil {
		return "", false, err
	}
	own := m.File.Package.ImportPath
	var importers []string
	for _, p := range all {
		if p.ImportPath != own && p.imports(own) {
			importers = append(importers, p.ImportPath)
		}
	}
	for i, packages := range [][]string{{own}, importers} {
		if len(packages) == 0 {
			continue
		}
		args := append([]string{"test", "-tags=long", "-short", "-failfast", "-vet=off", "-timeout=4m", "-overlay", overlay}, packages...)
		out, err := o.command(ctx, o.root, "go", args...).CombinedOutput()
		switch {
		case ctx.Err() != nil:
			return "", false, ctx.Err()
		case err == nil:
			continue
		case i == 0 && bytes.Contains(out, []byte("[build failed]")):
			return "", false, nil
		}
		if by = failed(out); by == "" {
			by = flat(string(out))
		}
		return by, true, nil
	}
	return "", true, nil
}

// reasonOf returns why a list says that the mutation is equivalent, and "" if it does not.
func (o *options) reasonOf(list []entry, m *Mutation) string {
	before, after := m.lines()
	for _, e := range list {
		c := e.changes[0]
		if c.file == o.relative(m.File.Path) && flat(strings.Join(c.before, " ")) == before && flat(strings.Join(c.after, " ")) == after {
			return e.reason
		}
	}
	return ""
}

// say prints a mutation as equivalent.txt has it.
func (o *options) say(what string, m *Mutation, why string) {
	before, after := m.lines()
	fmt.Printf("%s  %s:%d  %s\n- %s\n+ %s\n\n", what, o.relative(m.File.Path), m.line(), why, before, after)
}

func (o *options) relative(path string) string {
	if rel, err := filepath.Rel(o.root, path); err == nil {
		return rel
	}
	return path
}
