package main

import (
	"path"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"
)

// riddle matches a sentence whose subject is a clause ("What is held waits."), or that begins with
// the whole of which it names a part ("Of these, two wait."). A question ends with "?".
var riddle = regexp.MustCompile(`(?:^|[.:;?]\s)(?:Who|What|Whoever|Of) [^.?]*[.]`)

// paragraphs returns the comments of a source, or the text of a page without its headings and code.
func paragraphs(file string, text []byte) []string {
	if path.Ext(file) == ".md" {
		return strings.Split(string(heading.ReplaceAll(fence.ReplaceAll(text, nil), nil)), "\n\n")
	}
	var found []string
	var comment strings.Builder
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSpace(line)
		if words, ok := strings.CutPrefix(line, "// "); ok {
			comment.WriteString(words + "\n")
		} else if words, ok := strings.CutPrefix(line, "-- "); ok {
			comment.WriteString(words + "\n")
		} else if comment.Len() > 0 {
			found = append(found, comment.String())
			comment.Reset()
		}
	}
	return append(found, comment.String())
}

// Sentences of comments and pages begin with their subject. A reader who is no native speaker
// understands them at the first reading.
func TestASentenceBeginsWithItsSubject(t *testing.T) {
	for file, text := range sources(t) {
		for _, p := range paragraphs(file, text) {
			if found := riddle.FindString(p); found != "" {
				t.Errorf("%s: got the sentence %q, want one that begins with its subject", file, strings.TrimSpace(found))
			}
		}
	}
}

// unwrapped matches a comment that no wrap can shorten: a table or an example behind a tab, and a
// link on a line of its own.
var unwrapped = regexp.MustCompile(`^\s*//(\t| https?://\S+$)`)

// A comment is wrapped at 100 columns, so that two files fit beside each other. A tab is one
// column.
func TestACommentIsWrappedAt100Columns(t *testing.T) {
	const most = 100
	for file, text := range sources(t) {
		output := false // of an example, which is as wide as it is
		for line := range strings.Lines(string(text)) {
			line = strings.TrimSuffix(line, "\n")
			words := strings.TrimLeft(line, "\t ")
			comment := path.Ext(file) == ".go" && strings.HasPrefix(words, "//") || path.Ext(file) == ".sql" && strings.HasPrefix(words, "--")
			output = comment && (output || strings.HasPrefix(words, "// Output:"))
			if n := utf8.RuneCountInString(line); comment && n > most && !output && !unwrapped.MatchString(line) {
				t.Errorf("%s: got a comment of %d columns, want at most %d: %q", file, n, most, words)
			}
		}
	}
}

func TestAClauseIsNoSubject(t *testing.T) {
	for text, want := range map[string]bool{
		"What is held waits.":                     true,
		"It waits. Of these rows two are held.":   true,
		"A row waits. Who sent it is told below.": true,
		"What is held?":                           false,
		"A row that is held waits.":               false,
	} {
		if got := riddle.MatchString(text); got != want {
			t.Errorf("%q: got %v, want %v", text, got, want)
		}
	}
}
