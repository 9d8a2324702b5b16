package conventions

import (
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

var (
	// citation matches a page of docs/ with or without a heading, but not the end of a longer path.
	citation = regexp.MustCompile(`(?:^|[^\w/.-])(docs/[\w./-]+\.md)(?:#([\w-]+))?`)
	// link matches a link of a page, with its target.
	link = regexp.MustCompile(`\[[^\]]*\]\(([^()\s]+)\)`)
	// fence matches a block of code in a page, and heading a heading.
	fence   = regexp.MustCompile("(?ms)^ *```.*?^ *```[^\n]*$")
	heading = regexp.MustCompile(`(?m)^#{1,6} +(.*?) *#*$`)
	// dropped matches what GitHub drops from a heading for its anchor.
	dropped = regexp.MustCompile(`[^\p{L}\p{N}\p{M} _-]`)
)

// anchors returns the anchors of a page as GitHub makes them: lower case, without punctuation,
// hyphens for blanks, and a number after an anchor that the page has already.
func anchors(page []byte) map[string]bool {
	found := map[string]bool{}
	for _, h := range heading.FindAllSubmatch(fence.ReplaceAll(page, nil), -1) {
		text := link.ReplaceAllStringFunc(string(h[1]), func(s string) string { return s[1:strings.Index(s, "]")] })
		anchor := strings.ReplaceAll(dropped.ReplaceAllString(strings.ToLower(text), ""), " ", "-")
		for n, first := 1, anchor; found[anchor]; n++ {
			anchor = first + "-" + strconv.Itoa(n)
		}
		found[anchor] = true
	}
	return found
}

// sources returns the text of each file of the repository that may cite a page, by its path.
func sources(t *testing.T) map[string][]byte {
	t.Helper()
	texts := map[string][]byte{}
	err := filepath.WalkDir("../..", func(file string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() {
			if name := entry.Name(); name == ".git" || name == "bin" {
				return fs.SkipDir
			}
			return nil
		}
		if !slices.Contains([]string{".go", ".sql", ".lua", ".sh", ".md", ".yaml", ".yml"}, path.Ext(file)) {
			return nil
		}
		text, err := os.ReadFile(file)
		texts[strings.TrimPrefix(filepath.ToSlash(file), "../../")] = text
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return texts
}

// A citation and a link lead to a page of the repository, and to one of its headings.
func TestEveryCitationLeadsToAHeading(t *testing.T) {
	texts := sources(t)
	pages := map[string]map[string]bool{}
	for file, text := range texts {
		if path.Ext(file) == ".md" {
			pages[file] = anchors(text)
		}
	}
	checked := 0
	check := func(file, page, anchor string) {
		checked++
		if path.Ext(page) != ".md" {
			if _, err := os.Stat("../../" + page); err != nil {
				t.Errorf("%s links %s: got %v, want a file", file, page, err)
			}
			return
		}
		if headings, ok := pages[page]; !ok || anchor != "" && !headings[anchor] {
			t.Errorf("%s cites %s#%s: got no such heading, want one", file, page, anchor)
		}
	}
	for file, text := range texts {
		for _, c := range citation.FindAllSubmatch(text, -1) {
			check(file, string(c[1]), string(c[2]))
		}
		if path.Ext(file) != ".md" {
			continue
		}
		for _, l := range link.FindAllSubmatch(fence.ReplaceAll(text, nil), -1) {
			target, anchor, _ := strings.Cut(string(l[1]), "#")
			switch {
			case strings.Contains(target, ":"): // a URL
			case target == "":
				check(file, file, anchor)
			default:
				check(file, path.Join(path.Dir(file), target), anchor)
			}
		}
	}
	if checked < 100 {
		t.Errorf("checked %d citations, want those of the whole repository, 100 or more", checked)
	}
}

func TestAnchorsFollowTheRulesOfGitHub(t *testing.T) {
	page := "# A page\n## What an answer proves\n## A run's own rate\n### `serve`: roles, [limits](x.md#y) & more\n" +
		"```\n# a comment\n```\n## A page\n#no heading\n"
	got := anchors([]byte(page))
	for _, want := range []string{"a-page", "what-an-answer-proves", "a-runs-own-rate", "serve-roles-limits--more", "a-page-1"} {
		if !got[want] {
			t.Errorf("anchors = %v, want %s among them", got, want)
		}
	}
	if len(got) != 5 {
		t.Errorf("got %d anchors %v, want 5", len(got), got)
	}
}

// Pages that are not in the repository, and sections without a page, are not cited. The pattern is
// split so that it does not match itself. A line break in a comment counts as a blank.
func TestNothingCitesPagesOfAnotherPlace(t *testing.T) {
	foreign := regexp.MustCompile(`\b(reliability|platform|throttle|ecosystem|design|style)[.]md\b|` +
		`(?i:\bdesign[ ]section\b|\bseed[ ]0\d|\bseeds/0)|\bdomain[/](reliability|platform|throttle|ecosystem)`)
	wrapped := regexp.MustCompile(`\s*\n[ \t]*(//|--|#)?[ \t]*`)
	for file, text := range sources(t) {
		for _, found := range foreign.FindAll(wrapped.ReplaceAll(text, []byte(" ")), -1) {
			t.Errorf("%s cites %q, want a page of docs/, an RFC or a URL", file, found)
		}
	}
}
