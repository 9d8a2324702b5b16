package main

import (
	"bytes"
	"encoding/json"
	"fmt"
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

	files []*File
}

// imports reports whether the package or its tests import path directly.
func (p *Package) imports(path string) bool {
	return slices.Contains(p.Imports, path) || slices.Contains(p.TestImports, path) || slices.Contains(p.XTestImports, path)
}

// A File is one source file: Go, or a script that a Go file embeds.
type File struct {
	Path    string // absolute
	Package *Package
	text    string
}

// loadPackages lists the packages that the patterns name and reads their sources.
func loadPackages(root string, patterns ...string) ([]*Package, error) {
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
			path := filepath.Join(p.Dir, name)
			if ext := filepath.Ext(name); ext != ".go" && ext != ".lua" {
				continue
			}
			text, err := os.ReadFile(path)
			if err != nil {
				return nil, err
			}
			p.files = append(p.files, &File{Path: path, Package: p, text: string(text)})
		}
		packages = append(packages, p)
	}
	return packages, nil
}
