package file

import (
	"fmt"
	"strings"

	"campaignd/internal/sentence"
)

// Level is the severity of a Finding.
type Level string

// The levels.
const (
	LevelError   Level = "error"   // the campaign cannot run like this
	LevelWarning Level = "warning" // the campaign can run, but a person should look at it
)

// Finding tells the author of a campaign one fault: what it is, where, and what to do.
type Finding struct {
	Level   Level  `json:"level"`
	Where   string `json:"where,omitempty"` // file:line:column, or file, or ""
	What    string `json:"what"`
	Remedy  string `json:"remedy,omitempty"`
	Excerpt string `json:"-"` // the line of the file and a caret below it; two lines, or ""
}

// String is one line: where: what; remedy.
func (f Finding) String() string {
	var b strings.Builder
	if f.Where != "" {
		b.WriteString(f.Where + ": ")
	}
	b.WriteString(f.What)
	if f.Remedy != "" {
		b.WriteString("; " + f.Remedy)
	}
	return b.String()
}

// Error lists the faults of a campaign file, at least one.
type Error struct {
	Findings []Finding
}

// Error is one line for each finding.
func (e *Error) Error() string {
	lines := make([]string, len(e.Findings))
	for i, f := range e.Findings {
		lines[i] = f.String()
	}
	return strings.Join(lines, "\n")
}

// Show is Error with an excerpt of the file below each finding, for a terminal.
func (e *Error) Show() string {
	var b strings.Builder
	for _, f := range e.Findings {
		fmt.Fprintln(&b, f)
		if f.Excerpt != "" {
			fmt.Fprintln(&b, f.Excerpt)
		}
	}
	return strings.TrimRight(b.String(), "\n")
}

// shorten makes a value fit for a message: at most 40 characters, all of them printable.
func shorten(s string) string { return sentence.Shorten(s, 40) }
