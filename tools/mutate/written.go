package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"
)

// A proof is tests of one package that find a mutation.
type proof struct {
	Package string   // as ./throttle
	args    []string // of the test binary
	sign    string   // a pattern that their output must match when they fail; "": any output
}

func (p proof) String() string { return strings.Join(append([]string{p.Package}, p.args...), " ") }

// proofs returns what the words of a line of tests name: packages, each perhaps with a pattern of
// test names and with flags.
func proofs(words []string) (all []proof) {
	for i, word := range words {
		if i == 0 || strings.HasPrefix(word, "./") {
			all = append(all, proof{Package: word, args: []string{"-test.short", "-test.failfast", "-test.timeout=5m"}})
			continue
		}
		if !strings.HasPrefix(word, "-") {
			word = "-test.run=" + word
		}
		all[len(all)-1].args = append(all[len(all)-1].args, word)
	}
	return all
}

// chosen reports whether the arguments name the entry, a file or folder that it changes, or a file
// of tests in the package of one of its proofs.
func (o *options) chosen(e entry) bool {
	return len(o.args) == 0 || slices.ContainsFunc(o.args, func(arg string) bool {
		return arg == e.name ||
			slices.ContainsFunc(e.changes, func(c change) bool { return strings.HasPrefix(c.file, arg) }) ||
			strings.HasSuffix(arg, "_test.go") && slices.ContainsFunc(e.proofs, func(p proof) bool { return p.Package == "./"+path.Dir(arg) })
	})
}

// isFile reports whether an argument names a file or folder of the repository.
func (o *options) isFile(arg string) bool {
	_, err := os.Stat(filepath.Join(o.root, arg))
	return err == nil
}

// tryWritten builds the program with all mutations of the lists. Each proof of each entry must
// pass without the mutation, and fail with it. The code is 1 when one passes.
func (o *options) tryWritten(ctx context.Context) (code int, err error) {
	overlay, list, err := o.overlay(o.work)
	if err != nil {
		return 1, err
	}
	list = slices.DeleteFunc(list, func(e entry) bool { return !o.chosen(e) })
	var packages, sound []proof
	for _, e := range list {
		for _, t := range e.proofs {
			if !slices.ContainsFunc(packages, func(p proof) bool { return p.Package == t.Package }) {
				packages = append(packages, t)
			}
			if !slices.ContainsFunc(sound, func(s proof) bool { return s.String() == t.String() }) {
				sound = append(sound, t)
			}
		}
	}
	if len(list) == 0 && !slices.ContainsFunc(o.args, o.isFile) {
		return 1, fmt.Errorf("no mutation has the name or the file %s", strings.Join(o.args, " "))
	}
	for _, p := range packages {
		build := o.command(ctx, o.root, "go", "test", "-c", "-vet=off", "-tags", "mutants,long", "-overlay", overlay,
			"-o", o.binary(p), p.Package)
		if out, err := build.CombinedOutput(); err != nil {
			return 1, fmt.Errorf("the tests of %s with the mutations do not compile: %w\n%s", p.Package, err, out)
		}
	}
	errs := make([]error, len(sound))
	o.parallel(len(sound), func(i int) {
		out, err := o.testWith(ctx, sound[i], "")
		switch {
		case err != nil:
			errs[i] = fmt.Errorf("without a mutation, %v: %w\n%s", sound[i], err, out)
		case bytes.Contains(out, []byte("no tests to run")):
			errs[i] = fmt.Errorf("no test matches: %v", sound[i])
		}
	})
	if err := errors.Join(append(errs, ctx.Err())...); err != nil {
		return 1, err
	}
	var missed []string
	errs = make([]error, len(list))
	o.parallel(len(list), func(i int) {
		e := list[i]
		began := time.Now()
		by, err := o.findWritten(ctx, e)
		o.mu.Lock()
		defer o.mu.Unlock()
		if errs[i] = err; err == nil && by == "" {
			missed = append(missed, e.name)
			fmt.Printf("SURVIVED  %s: %s\n", e.name, e.reason)
		} else if err == nil {
			fmt.Printf("found  %-26s by %s, %s\n", e.name, by, time.Since(began).Round(100*time.Millisecond))
		}
	})
	if err := errors.Join(append(errs, ctx.Err())...); err != nil {
		return 1, err
	}
	fmt.Printf("mutations: %d of %d found, %s\n", len(list)-len(missed), len(list), time.Since(o.began).Round(time.Second))
	if len(missed) > 0 {
		return 1, fmt.Errorf("survived: %s", strings.Join(missed, ", "))
	}
	return 0, nil
}

// overlay writes the program with all mutations of the lists to dir.
func (o *options) overlay(dir string) (path string, list []entry, err error) {
	if list, err = readLists(o.root); err != nil {
		return "", nil, err
	}
	p, err := compose(o.root, o.module, list)
	if err != nil {
		return "", nil, err
	}
	path, err = p.write(dir)
	return path, list, err
}

func (o *options) binary(t proof) string {
	return filepath.Join(o.work, strings.NewReplacer("/", "_", ".", "_").Replace(t.Package)+".test")
}

// testWith runs tests with a mutation.
func (o *options) testWith(ctx context.Context, t proof, mutation string) ([]byte, error) {
	c := o.command(ctx, filepath.Join(o.root, t.Package), o.binary(t), t.args...)
	c.Env = append(c.Env, "CAMPAIGND_MUTANT="+mutation)
	return c.CombinedOutput()
}

// findWritten returns the first test that finds the mutation, and "" if a proof passes three times:
// on a busy machine, what a mutation breaks may happen late once. Tests that their time limit cut
// off prove nothing, because a busy machine does the same. They run again, too.
func (o *options) findWritten(ctx context.Context, e entry) (by string, err error) {
	for _, t := range e.proofs {
		sign, err := regexp.Compile(t.sign)
		if err != nil {
			return "", fmt.Errorf("%s: %w", e.name, err)
		}
		out, err := o.testWith(ctx, t, e.name)
		for tries := 1; (err == nil || cutOff(out)) && tries < 3 && ctx.Err() == nil; tries++ {
			out, err = o.testWith(ctx, t, e.name)
		}
		test := failed(out)
		switch {
		case err == nil:
			return "", nil
		case cutOff(out):
			return "", fmt.Errorf("%s: %v was cut off by its time limit, which proves nothing: %w\n%s", e.name, t, err, out)
		case test == "":
			return "", fmt.Errorf("%s: %v ended without a failing test: %w\n%s", e.name, t, err, out)
		case !sign.Match(out):
			return "", fmt.Errorf("%s: %v fails, and does not say %q\n%s", e.name, t, t.sign, out)
		case by == "":
			by = test + " of " + t.Package
		}
	}
	return by, nil
}

// failed returns the name of the first failed test, or why the process ended, and "" for neither.
func failed(out []byte) string {
	if m := ended.FindSubmatch(out); m != nil {
		return string(m[1]) + string(m[2])
	}
	return ""
}

// ended matches the name of a failed test, or why the process ended.
var ended = regexp.MustCompile(`(?m)^(?:--- FAIL: (\S+)|(panic: .*))`)

// cutOff reports whether the time limit of the tests ended them before one failed.
func cutOff(out []byte) bool { return strings.HasPrefix(failed(out), "panic: test timed out") }

// printOverlay writes the overlay to the folder o.overlayTo and prints its path.
func (o *options) printOverlay() (int, error) {
	path, _, err := o.overlay(o.overlayTo)
	if err == nil {
		_, err = fmt.Fprintln(os.Stdout, path)
	}
	return 0, err
}
