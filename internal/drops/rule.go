package drops

import (
	"fmt"
	"path"
	"strings"
	"unicode/utf8"
)

// Rule says which files are launched with which campaign.
type Rule struct {
	// Name is the bucket as configured. It is part of the identity of a file, and names it for people.
	Name   string
	Bucket Bucket
	// Prefix begins the keys, for example spring/; what lies in folders below it is not taken.
	Prefix string
	// Patterns are those of path.Match for the last part of a key; empty: defaultPatterns.
	Patterns []string
	Campaign string
	// Again launches a list also if an earlier run of the campaign had numbers of it.
	Again bool
}

// defaultPatterns are the names of lists where a rule says nothing.
var defaultPatterns = []string{"*.csv", "*.csv.gz", "*.csv.zst", "*.tsv"}

// maxName is the longest last part of a key in bytes. A file system takes 255, and results append
// to it.
const maxName = 200

// takes reports whether key is that of a list. Names that begin with a dot, or end with a tilde,
// are those of copies under way and of editors: .list.csv.Xy3kQ9 of rsync, .list.csv.swp,
// list.csv~.
func (r *Rule) takes(key string) bool {
	name := path.Base(key)
	if strings.HasPrefix(name, ".") || strings.HasSuffix(name, "~") || strings.HasSuffix(name, "/") {
		return false
	}
	patterns := r.Patterns
	if len(patterns) == 0 {
		patterns = defaultPatterns
	}
	for _, p := range patterns {
		if ok, err := path.Match(p, name); ok && err == nil {
			return true
		}
	}
	return false
}

// fault is why the object cannot be taken although its name is that of a list.
func fault(o Object) string {
	switch name := path.Base(o.Key); {
	case o.Fault != "":
		return o.Fault
	case !utf8.ValidString(o.Key):
		return "its name is not UTF-8 text"
	case strings.ContainsFunc(name, func(r rune) bool { return r < ' ' || r == 0x7f }):
		return "its name has control characters"
	case len(name) > maxName:
		return fmt.Sprintf("its name has %d bytes; a list has at most %d", len(name), maxName)
	case o.Size == 0:
		return "it is empty"
	case o.Size > maxSize:
		return fmt.Sprintf("it has %d bytes; a list has at most %d", o.Size, int64(maxSize))
	}
	return ""
}

// maxSize is the largest list in bytes, the same as that of an upload.
const maxSize = 8 << 30

// The folders of what was taken, beside the files of a rule.
const (
	doneFolder     = "done"
	rejectedFolder = "rejected"
)

// beside is the key of name in a folder beside key.
func beside(key, folder, name string) string { return path.Join(path.Dir(key), folder, name) }

// sidecar is the key of the file that overrides fields of the campaign for the list at key.
func sidecar(key string) string { return key + ".yaml" }

// numbered is the n-th name for name, from 1: list.csv, list-2.csv.
func numbered(name string, n int) string {
	if n == 1 {
		return name
	}
	stem, rest, _ := strings.Cut(name, ".")
	if rest != "" {
		rest = "." + rest
	}
	return fmt.Sprintf("%s-%d%s", stem, n, rest)
}
