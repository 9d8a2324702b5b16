package main

import (
	"path"
	"regexp"
	"strings"
	"testing"
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
