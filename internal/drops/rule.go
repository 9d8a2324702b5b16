package drops

import (
	"fmt"
	"path"
	"slices"
	"strings"
	"unicode/utf8"

	"campaignd/campaign"
	"campaignd/internal/uploads"
)

// Rule says which files are launched with which campaign.
type Rule struct {
	// Name is the bucket as configured. It is part of the identity of a file, and names it for people.
	Name   string
	Bucket Bucket
	// Prefix begins the keys, for example spring/; what lies in folders below it is not taken.
	Prefix string
	// Patterns are those of path.Match for the last part of a key, in upper or lower case; empty:
	// defaultPatterns.
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

// takes reports whether key is that of a list.
func (r *Rule) takes(key string) bool {
	name := strings.ToLower(path.Base(key))
	if passing(key) || strings.HasSuffix(key, "/") {
		return false
	}
	return slices.ContainsFunc(r.patterns(), func(p string) bool {
		ok, err := path.Match(strings.ToLower(p), name)
		return ok && err == nil
	})
}

// owns reports whether f is a file of the rule: a list in its folder that was taken for its
// campaign.
func (r *Rule) owns(f campaign.DroppedFile) bool {
	name, inFolder := strings.CutPrefix(f.Key, r.Prefix)
	return f.Bucket == r.Name && f.Campaign == r.Campaign && inFolder && !strings.Contains(name, "/") && r.takes(f.Key)
}

// ruleOf returns the rule of a file. Each rule of a bucket finds every file of the bucket that is
// due, and p is the one that found f. A file whose rule is not there any more is launched without
// Again.
func (w *Watcher) ruleOf(p *watched, f campaign.DroppedFile) *watched {
	for _, o := range w.folders {
		if o.owns(f) {
			return o
		}
	}
	return &watched{Rule: Rule{Name: p.Name, Bucket: p.Bucket}}
}

func (r *Rule) patterns() []string {
	if len(r.Patterns) == 0 {
		return defaultPatterns
	}
	return r.Patterns
}

// passing reports whether a name is that of a copy under way or of an editor: .list.csv.Xy3kQ9 of
// rsync, .list.csv.swp, list.csv~.
func passing(key string) bool {
	return strings.HasPrefix(path.Base(key), ".") || strings.HasSuffix(key, "~")
}

// spreadsheets and archives are the ends of names that people give to lists which are no text.
var (
	spreadsheets = []string{".xlsx", ".xls", ".xlsm", ".xlsb", ".ods", ".numbers"}
	archives     = []string{".zip", ".rar", ".7z", ".tar", ".tgz", ".bz2", ".xz"}
)

// foreign is why what has the key is never taken, and what to do about it; "" for the files that
// campaignd or other programs put beside lists on purpose.
func (r *Rule) foreign(key string) string {
	name := path.Base(key)
	ends := func(with string) bool { return strings.HasSuffix(strings.ToLower(name), with) }
	switch {
	case passing(key), r.sidecarOf(key) != "", key == r.Prefix:
		return ""
	case strings.HasSuffix(key, "/") && (name == doneFolder || name == rejectedFolder):
		return ""
	case strings.HasSuffix(key, "/"):
		return "it is a folder, which this rule does not watch; add a rule of drops with prefix: " + key
	case slices.ContainsFunc(spreadsheets, ends):
		return "it is a spreadsheet; save it as CSV UTF-8, and put that here"
	case slices.ContainsFunc(archives, ends):
		return "it is an archive; put the list here that it has"
	}
	return fmt.Sprintf("its name is not one that the rule takes (%s); rename it, or set patterns in the rule of drops",
		strings.Join(r.patterns(), ", "))
}

// watchedBelow reports whether another rule watches the folder at key, or a folder in it.
func (w *Watcher) watchedBelow(p *watched, key string) bool {
	return strings.HasSuffix(key, "/") && slices.ContainsFunc(w.folders, func(o *watched) bool {
		return o.Name == p.Name && strings.HasPrefix(o.Prefix, key)
	})
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
		return fmt.Sprintf("it has %d bytes, and a list has at most %d; divide it", o.Size, int64(maxSize))
	}
	return ""
}

// maxSize is the largest list in bytes. The reader of lists takes no larger one.
const maxSize = uploads.MaxList

// The folders of what was taken, beside the files of a rule.
const (
	doneFolder     = "done"
	rejectedFolder = "rejected"
)

// beside is the key of name in a folder beside key.
func beside(key, folder, name string) string { return path.Join(path.Dir(key), folder, name) }

// sidecar is the key of the file that overrides fields of the campaign for the list at key.
func sidecar(key string) string { return key + ".yaml" }

// sidecarOf is the key of the list that the file at key is the sidecar of; "": it is none.
func (r *Rule) sidecarOf(key string) string {
	list, ok := strings.CutSuffix(key, sidecar(""))
	if !ok || !r.takes(list) {
		return ""
	}
	return list
}

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
