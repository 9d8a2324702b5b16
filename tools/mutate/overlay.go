package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// A program is the source files in which entries of the lists make changes. A function that an
// entry changes begins, in the overlay, with the changed body, which runs if the environment names
// the entry (internal/mutant). One build therefore holds all of them.
type program struct {
	root, module string
	files        map[string]*source
}

// source is a file with changes.
type source struct {
	text     []byte
	tree     *ast.File
	set      *token.FileSet
	bodies   map[*ast.FuncDecl][]string // what a function begins with, for each entry that changes it
	imports  map[string]bool            // added
	declares []string                   // added, each once
}

// compose makes the program of the entries. An entry whose lines are not in their file once, and
// one that changes more than the bodies of functions, is an error.
func compose(root, module string, list []entry) (*program, error) {
	p := &program{root: root, module: module, files: map[string]*source{}}
	var errs []error
	for _, e := range list {
		byFile := map[string][]change{}
		for _, c := range e.changes {
			byFile[c.file] = append(byFile[c.file], c)
		}
		for _, file := range slices.Sorted(maps.Keys(byFile)) {
			s, err := p.source(file)
			if err == nil {
				err = s.change(e.name, byFile[file])
			}
			if err != nil {
				errs = append(errs, fmt.Errorf("%s: %w", e.name, err))
			}
		}
	}
	return p, errors.Join(errs...)
}

// source returns a file of the program.
func (p *program) source(file string) (*source, error) {
	if s := p.files[file]; s != nil {
		return s, nil
	}
	text, err := os.ReadFile(filepath.Join(p.root, file))
	if err != nil {
		return nil, err
	}
	s := &source{text: text, set: token.NewFileSet(), bodies: map[*ast.FuncDecl][]string{}, imports: map[string]bool{}}
	if s.tree, err = parser.ParseFile(s.set, file, text, parser.SkipObjectResolution); err != nil {
		return nil, err
	}
	s.include(p.module + "/internal/mutant")
	p.files[file] = s
	return s, nil
}

// change adds the changes of an entry.
func (s *source) change(name string, changes []change) error {
	type place struct {
		start, end int
		after      string
	}
	var places []place
	changed := map[int]bool{} // indexes of declarations
	for _, c := range changes {
		start, end, err := c.find(s.text)
		if err != nil {
			return err
		}
		i := slices.IndexFunc(s.tree.Decls, func(d ast.Decl) bool {
			_, body := d.(*ast.FuncDecl)
			return body && s.offset(d.Pos()) <= start && end <= s.offset(d.End())
		})
		if i < 0 {
			return fmt.Errorf("%s: the lines are not in a function: %s", c.file, c.before[0])
		}
		changed[i] = true
		places = append(places, place{start, end, strings.Join(c.after, "\n")})
		for _, line := range c.declares {
			if path, ok := strings.CutPrefix(line, "import "); ok {
				s.include(strings.Trim(path, `"`))
			} else if !slices.Contains(s.declares, line) {
				s.declares = append(s.declares, line)
			}
		}
	}
	slices.SortFunc(places, func(a, b place) int { return cmp.Compare(b.start, a.start) })
	text := string(s.text)
	for _, at := range places {
		text = text[:at.start] + at.after + text[at.end:]
	}
	set := token.NewFileSet()
	tree, err := parser.ParseFile(set, changes[0].file, text, parser.SkipObjectResolution)
	if err != nil {
		return fmt.Errorf("the mutation does not compile: %w", err)
	}
	for i := range changed {
		d, body := s.tree.Decls[i].(*ast.FuncDecl), tree.Decls[i].(*ast.FuncDecl).Body
		block := text[set.Position(body.Pos()).Offset:set.Position(body.End()).Offset]
		s.bodies[d] = append(s.bodies[d], switched(name, s.results(d), block))
	}
	return nil
}

// switched returns the statement that runs a body if the mutation is on.
func switched(name, results, body string) string {
	if results == "" {
		return fmt.Sprintf("\nif mutant.On(%q) {\nfunc() %s()\nreturn\n}\n", name, body)
	}
	return fmt.Sprintf("\nif mutant.On(%q) {\nreturn func() %s %s()\n}\n", name, results, body)
}

// include adds an import unless the file has it.
func (s *source) include(path string) {
	if !slices.ContainsFunc(s.tree.Imports, func(i *ast.ImportSpec) bool { return i.Path.Value == strconv.Quote(path) }) {
		s.imports[path] = true
	}
}

func (s *source) offset(p token.Pos) int { return s.set.Position(p).Offset }

// results returns the text of a function's results.
func (s *source) results(d *ast.FuncDecl) string {
	if d.Type.Results == nil {
		return ""
	}
	return string(s.text[s.offset(d.Type.Results.Pos()):s.offset(d.Type.Results.End())])
}

// mutated returns the text of the file with every mutation behind its switch.
func (s *source) mutated() string {
	text := string(s.text)
	for _, d := range slices.Backward(s.tree.Decls) {
		if f, ok := d.(*ast.FuncDecl); ok && len(s.bodies[f]) > 0 {
			at := s.offset(f.Body.Lbrace) + 1
			text = text[:at] + strings.Join(s.bodies[f], "") + text[at:]
		}
	}
	var imports strings.Builder
	for _, path := range slices.Sorted(maps.Keys(s.imports)) {
		fmt.Fprintf(&imports, "\nimport %q", path)
	}
	at := s.offset(s.tree.Name.End())
	return text[:at] + imports.String() + text[at:] + "\n" + strings.Join(s.declares, "\n") + "\n"
}

// write writes the changed files to dir, with the build overlay that puts them in the places of the
// originals. It returns the path of the overlay.
func (p *program) write(dir string) (string, error) {
	root, err := filepath.Abs(p.root)
	if err != nil {
		return "", err
	}
	texts := map[string]string{}
	for file, s := range p.files {
		texts[filepath.Join(root, file)] = s.mutated()
	}
	return writeOverlay(dir, texts)
}

// writeOverlay writes the texts to dir, and a build overlay that puts each in the place of the file
// that it is named after. It returns the path of the overlay.
func writeOverlay(dir string, texts map[string]string) (string, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", err
	}
	replace := map[string]string{}
	for path, text := range texts {
		replace[path] = filepath.Join(dir, strings.ReplaceAll(path[1:], "/", "_"))
		if err := os.WriteFile(replace[path], []byte(text), 0o600); err != nil {
			return "", err
		}
	}
	text, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return "", err
	}
	overlay := filepath.Join(dir, "overlay.json")
	return overlay, os.WriteFile(overlay, text, 0o600)
}
