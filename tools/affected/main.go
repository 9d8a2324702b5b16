// Command affected prints the packages whose tests can see what changed since a commit, one a line,
// for `go test`. `make quick`, `make affected` and the gate choose their tests by it.
//
//	go run ./tools/affected -since main           everything that can see the change
//	go run ./tools/affected -since main -direct   only the changed packages and their importers
//	go run ./tools/affected -since main -files    the changed files instead
//
// A package sees a change of its own files and of the packages that it or its tests link. A test
// also sees the files that its source names, such as docs/limits.md or testdata/wire, and the whole
// program if it builds ./cmd/campaignd. A change of go.mod is seen by all.
package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

const module = "campaignd"

// listed is a package as `go list -json` prints it.
type listed struct {
	ImportPath, Dir           string
	Imports, Deps             []string
	TestImports, XTestImports []string
	TestGoFiles, XTestGoFiles []string

	sources string // of the tests
}

func main() {
	since := flag.String("since", "main", "a commit; uncommitted changes and new files count too")
	direct := flag.Bool("direct", false, "leave out the packages that see the change through another one only")
	files := flag.Bool("files", false, "print the changed files")
	flag.Parse()
	if err := run(os.Stdout, *since, *direct, *files); err != nil {
		fmt.Fprintln(os.Stderr, "affected:", err)
		os.Exit(1)
	}
}

func run(w io.Writer, since string, direct, files bool) error {
	changed, err := changes(since)
	if err != nil {
		return err
	}
	found := changed
	if !files {
		packages, err := list()
		if err != nil {
			return err
		}
		found = affected(packages, changed, direct)
	}
	for _, one := range found {
		if _, err := fmt.Fprintln(w, one); err != nil {
			return err
		}
	}
	return nil
}

// changes returns the files that differ from a commit, relative to the root, and the new ones.
func changes(since string) ([]string, error) {
	diff, err := output("git", "diff", "--name-only", "--no-renames", since, "--")
	if err != nil {
		return nil, err
	}
	added, err := output("git", "ls-files", "-o", "--exclude-standard")
	return slices.Concat(strings.Fields(string(diff)), strings.Fields(string(added))), err
}

func list() (all []*listed, err error) {
	root, err := os.Getwd()
	if err != nil {
		return nil, err
	}
	out, err := output("go", "list", "-tags", "long,mutants",
		"-json=ImportPath,Dir,Imports,Deps,TestImports,XTestImports,TestGoFiles,XTestGoFiles", "./...")
	if err != nil {
		return nil, err
	}
	for d := json.NewDecoder(bytes.NewReader(out)); d.More(); {
		p := new(listed)
		if err := d.Decode(p); err != nil {
			return nil, err
		}
		for _, name := range slices.Concat(p.TestGoFiles, p.XTestGoFiles) {
			text, err := os.ReadFile(filepath.Join(p.Dir, name))
			if err != nil {
				return nil, err
			}
			p.sources += string(text)
		}
		if p.Dir, err = filepath.Rel(root, p.Dir); err != nil {
			return nil, err
		}
		all = append(all, p)
	}
	return all, nil
}

func output(name string, args ...string) ([]byte, error) {
	out, err := exec.Command(name, args...).Output()
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
		err = fmt.Errorf("%s %s: %w: %s", name, strings.Join(args, " "), err, bytes.TrimSpace(exit.Stderr))
	}
	return out, err
}

// affected returns the packages whose tests can see a change of the files, as ./DIR, sorted.
func affected(packages []*listed, changed []string, direct bool) (found []string) {
	byDir := map[string]*listed{}
	byPath := map[string]*listed{}
	for _, p := range packages {
		byDir[p.Dir], byPath[p.ImportPath] = p, p
	}
	sees := map[string]bool{}    // import paths of packages whose tests see a change
	changes := map[string]bool{} // import paths of packages that link differently
	for _, file := range changed {
		if file == "go.mod" || file == "go.sum" {
			for _, p := range packages {
				sees[p.ImportPath] = true
			}
		}
		dir := path.Dir(file)
		for dir != "." && byDir[dir] == nil {
			dir = path.Dir(dir)
		}
		if p := byDir[dir]; p != nil {
			sees[p.ImportPath] = true
			inTestdata := strings.Contains(strings.TrimPrefix(file, dir), "/testdata/")
			if !strings.HasSuffix(file, "_test.go") && !inTestdata {
				changes[p.ImportPath] = true
			}
		}
		for _, p := range packages {
			if names(p.sources, file) {
				sees[p.ImportPath] = true
			}
		}
	}
	program := changes[module+"/cmd/campaignd"]
	for _, dep := range byPath[module+"/cmd/campaignd"].Deps {
		program = program || changes[dep]
	}
	for _, p := range packages {
		links := slices.Concat(p.Imports, p.TestImports, p.XTestImports)
		if !direct {
			links = slices.Concat(links, p.Deps)
			for _, i := range slices.Concat(p.TestImports, p.XTestImports) {
				if below := byPath[i]; below != nil {
					links = slices.Concat(links, below.Deps)
				}
			}
		}
		if sees[p.ImportPath] || slices.ContainsFunc(links, func(i string) bool { return changes[i] }) ||
			program && !direct && strings.Contains(p.sources, `"./cmd/campaignd"`) {
			found = append(found, "./"+p.Dir)
		}
	}
	slices.Sort(found)
	return found
}

// names reports whether the sources name the file, or one of its folders below the top level. A
// name with one part only, such as Makefile or README.md, counts as a whole.
func names(sources, file string) bool {
	for at := file; at != "."; at = path.Dir(at) {
		if at == file || strings.Contains(at, "/") {
			if strings.Contains(sources, "../"+at) || strings.Contains(sources, `"`+at) {
				return true
			}
		}
	}
	return false
}
