package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
)

// tryMistakes makes each mistake of the list o.mistakes, one at a time, and runs the tests that the
// list names for it: packages, each perhaps with a pattern of its tests. An entry whose line is not
// exactly once in its file, and one that does not compile, is an error. The code is 1 when fewer
// than 90 % are found.
func (o *options) tryMistakes(ctx context.Context) (code int, err error) {
	list, err := readEntries(o.mistakes)
	if err != nil {
		return 1, err
	}
	all, err := loadPackages(o.root, []string{"./..."})
	if err != nil {
		return 1, err
	}
	var made []*Mutation
	var errs []error
	for _, e := range list {
		m, err := o.mistake(e, all)
		errs = append(errs, err)
		made = append(made, m)
	}
	if err := errors.Join(errs...); err != nil {
		return 1, err
	}
	var mu sync.Mutex
	found, tried := 0, 0
	o.parallel(len(list), func(i int) {
		e := list[i]
		if len(o.files) > 0 && !slices.ContainsFunc(o.files, func(f string) bool { return strings.HasPrefix(e.file, f) }) {
			return
		}
		by, err := o.testMistake(ctx, made[i], e)
		mu.Lock()
		defer mu.Unlock()
		errs = append(errs, err)
		tried++
		if by != "" {
			found++
			fmt.Printf("found   %s:%d  by %s\n", e.file, made[i].Line(), by)
		} else if err == nil {
			fmt.Printf("MISSED  %s:%d  %s\n- %s\n+ %s\n= %s\n", e.file, made[i].Line(), e.tests, e.before, e.after, e.reason)
		}
	})
	fmt.Printf("\n%d of %d mistakes were found\n", found, tried)
	if err := errors.Join(append(errs, ctx.Err())...); err != nil {
		return 1, err
	}
	if 100*found < minOfAll*tried {
		return 1, nil
	}
	return 0, nil
}

// mistake finds the line of an entry, which must be in its file exactly once.
func (o *options) mistake(e entry, all []*Package) (*Mutation, error) {
	if e.tests == "" {
		return nil, fmt.Errorf("%s: a mistake has no line that begins with ?: %s", e.file, e.reason)
	}
	for _, p := range all {
		for _, f := range p.files {
			if o.relative(f.Path) != e.file {
				continue
			}
			var at []int
			offset := 0
			for line := range bytes.Lines(f.text) {
				if flat(string(line)) == e.before {
					at = append(at, offset+len(line)-len(bytes.TrimLeft(line, "\t ")))
				}
				offset += len(line)
			}
			if len(at) != 1 {
				return nil, fmt.Errorf("%s: this line is there %d times; want it once: %s", e.file, len(at), e.before)
			}
			end := at[0] + bytes.IndexByte(f.text[at[0]:], '\n')
			return &Mutation{File: f, Start: at[0], End: end, New: []string{e.after}}, nil
		}
	}
	return nil, fmt.Errorf("%s: there is no such file", e.file)
}

// testMistake returns the test that finds a mistake, and "" if all pass.
func (o *options) testMistake(ctx context.Context, m *Mutation, e entry) (by string, err error) {
	dir, err := os.MkdirTemp(o.work, "mistake-")
	if err != nil {
		return "", err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	overlay, err := m.overlay(dir, m.New[0])
	if err != nil {
		return "", err
	}
	words := strings.Fields(e.tests)
	for i, word := range words {
		if !strings.HasPrefix(word, ".") {
			continue
		}
		args := []string{"test", "-count=1", "-vet=off", "-failfast", "-timeout=10m", "-overlay", overlay, word}
		if i+1 < len(words) && !strings.HasPrefix(words[i+1], ".") {
			args = append(args, "-run", words[i+1])
		}
		out, err := o.command(ctx, o.root, "go", args...).CombinedOutput()
		switch match := failed.FindSubmatch(out); {
		case err == nil && bytes.Contains(out, []byte("[no tests to run]")):
			return "", fmt.Errorf("%s: no test of %s matches: %s", e.file, word, e.tests)
		case err == nil || ctx.Err() != nil:
		case match != nil:
			return string(match[1]) + " of " + filepath.ToSlash(word), nil
		case bytes.Contains(out, []byte("[build failed]")):
			return "", fmt.Errorf("%s:%d: the mistake does not compile: %s\n%s", e.file, m.Line(), e.after, out)
		default:
			return "the end of the process of " + word + ": " + flat(string(out)), nil
		}
	}
	return "", nil
}
