package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// A Package is one package of the module, as `go list` reports it.
type Package struct {
	ImportPath   string
	Dir          string
	GoFiles      []string
	EmbedFiles   []string
	Imports      []string
	TestImports  []string
	XTestImports []string
	TestGoFiles  []string
	XTestGoFiles []string

	files []*File
}

// hasTests reports whether the package has a test binary.
func (p *Package) hasTests() bool { return len(p.TestGoFiles)+len(p.XTestGoFiles) > 0 }

// imports reports whether the package or its tests import path directly.
func (p *Package) imports(path string) bool {
	return slices.Contains(p.Imports, path) || slices.Contains(p.TestImports, path) || slices.Contains(p.XTestImports, path)
}

// A File is one source file: Go, or a script that a Go file embeds.
type File struct {
	Path    string // absolute
	Package *Package
	text    []byte
	set     *token.FileSet
	tree    *ast.File // nil for a script
}

// offset returns the offset of a position in the file's text, in bytes.
func (f *File) offset(p token.Pos) int { return f.set.Position(p).Offset }

// line returns the number of the line at an offset, from 1.
func (f *File) line(offset int) int { return 1 + bytes.Count(f.text[:offset], []byte("\n")) }

// loadPackages lists the packages that the patterns name and reads their sources.
func loadPackages(root string, patterns []string) ([]*Package, error) {
	list := exec.Command("go", append([]string{"list", "-json"}, patterns...)...)
	list.Dir, list.Stderr = root, os.Stderr
	out, err := list.Output()
	if err != nil {
		return nil, fmt.Errorf("go list %s: %w", strings.Join(patterns, " "), err)
	}
	var packages []*Package
	for d := json.NewDecoder(bytes.NewReader(out)); d.More(); {
		p := new(Package)
		if err := d.Decode(p); err != nil {
			return nil, err
		}
		for _, name := range slices.Concat(p.GoFiles, p.EmbedFiles) {
			f, err := loadFile(p, name)
			if err != nil {
				return nil, err
			}
			p.files = append(p.files, f)
		}
		packages = append(packages, p)
	}
	return packages, nil
}

func loadFile(p *Package, name string) (*File, error) {
	f := &File{Path: filepath.Join(p.Dir, name), Package: p, set: token.NewFileSet()}
	var err error
	if f.text, err = os.ReadFile(f.Path); err != nil {
		return nil, err
	}
	if strings.HasSuffix(name, ".go") {
		f.tree, err = parser.ParseFile(f.set, f.Path, f.text, parser.ParseComments|parser.SkipObjectResolution)
	}
	return f, err
}
