package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// An entry is one mutation of a list: one without an observable effect (equivalent.txt), or one
// that tests must find (mutations.txt, mistakes.txt). It makes all its changes together.
type entry struct {
	name    string // as in CAMPAIGND_MUTANT
	changes []change
	proofs  []proof
	reason  string
	line    int // where it begins in the list
}

// A change replaces consecutive lines of a file.
type change struct {
	file          string
	before, after []string
	declares      []string // imports and declarations that after needs
}

// lists are the lists of mutations that tests must find.
var lists = []string{"tools/mutate/mutations.txt", "tools/mutate/mistakes.txt"}

// readLists reads the lists of mutations that tests must find.
func readLists(root string) (all []entry, err error) {
	for _, name := range lists {
		list, err := readEntries(filepath.Join(root, name))
		if err != nil {
			return nil, err
		}
		for _, e := range list {
			if len(e.proofs) == 0 {
				return nil, fmt.Errorf("%s:%d: a mutation has no line that begins with ?: %s", name, e.line, e.reason)
			}
			if e.name == "" {
				e.name = fmt.Sprintf("%s:%d", filepath.Base(name), e.line)
			}
			all = append(all, e)
		}
	}
	return all, nil
}

// readEntries reads a list, which may be absent. Each line of an entry begins with a word:
//
//	NAME        the name of the mutation; a line with neither a dot nor a slash
//	FILE        begins a change of this file
//	- LINE      a line before; several are consecutive in the file
//	+ LINE      a line after
//	& LINE      an import or a declaration that the lines after need
//	? TESTS     a package, perhaps with a pattern of its tests and flags
//	~ PATTERN   what the output of these tests must match when they fail
//	= REASON    the mistake, or why it has no effect
//
// An empty line ends the entry, and # begins a comment. Several blanks count as one, so that an
// entry stays valid when the indentation changes.
func readEntries(path string) ([]entry, error) {
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var list []entry
	var e entry
	for i, line := range strings.Split(string(text)+"\n", "\n") {
		kind, rest, _ := strings.Cut(line, " ")
		switch {
		case kind == "#":
		case line == "":
			if len(e.changes) == 0 && e.name == "" {
				continue
			}
			if !e.whole() {
				return nil, fmt.Errorf("%s:%d: an entry has the lines FILE, - before, + after and = reason", path, e.line)
			}
			list = append(list, e)
			e = entry{}
			continue
		case len(kind) > 1 && e.reason != "":
			return nil, fmt.Errorf("%s:%d: an empty line before the next entry is missing", path, i+1)
		case len(kind) > 1 && !strings.ContainsAny(kind, "./"):
			e.name = line
		case len(kind) > 1:
			e.changes = append(e.changes, change{file: line})
		default:
			if err := e.add(kind, rest); err != nil {
				return nil, fmt.Errorf("%s:%d: %w", path, i+1, err)
			}
		}
		if kind != "#" && e.line == 0 {
			e.line = i + 1
		}
	}
	return list, nil
}

// add adds a line to the entry.
func (e *entry) add(kind, rest string) error {
	switch kind {
	case "?":
		e.proofs = append(e.proofs, proofs(strings.Fields(rest))...)
		return nil
	case "~":
		if len(e.proofs) == 0 {
			return fmt.Errorf("%q comes before the tests", "~ "+rest)
		}
		e.proofs[len(e.proofs)-1].sign = rest
		return nil
	case "=":
		e.reason = strings.TrimSpace(e.reason + " " + rest)
		return nil
	}
	if len(e.changes) == 0 {
		return fmt.Errorf("%q comes before the file", kind+" "+rest)
	}
	c := &e.changes[len(e.changes)-1]
	switch kind {
	case "-":
		c.before = append(c.before, rest)
	case "+":
		c.after = append(c.after, rest)
	case "&":
		c.declares = append(c.declares, rest)
	default:
		return fmt.Errorf("no line of an entry begins with %q", kind)
	}
	return nil
}

func (e *entry) whole() bool {
	for _, c := range e.changes {
		if len(c.before) == 0 {
			return false
		}
	}
	return len(e.changes) > 0 && e.reason != ""
}

// find returns where the lines before begin and end in a file. They must be there exactly once.
func (c *change) find(text []byte) (start, end int, err error) {
	type line struct {
		start, end int // without the blanks around it
		words      string
	}
	var lines []line
	at := 0
	for one := range strings.Lines(string(text)) {
		words := strings.TrimSpace(one)
		from := at + strings.Index(one, words)
		lines = append(lines, line{from, from + len(words), strings.Join(strings.Fields(one), " ")})
		at += len(one)
	}
	found := 0
	for i := range lines {
		same := 0
		for same < len(c.before) && i+same < len(lines) &&
			lines[i+same].words == strings.Join(strings.Fields(c.before[same]), " ") {
			same++
		}
		if same == len(c.before) {
			start, end = lines[i].start, lines[i+same-1].end
			found++
		}
	}
	if found != 1 {
		return 0, 0, fmt.Errorf("%s: these lines are there %d times; want them once: %s", c.file, found, strings.Join(c.before, "\n"))
	}
	return start, end, nil
}
