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

// Kind names what a warning is about, for a log and for scripts. The list is closed, and no kind
// says anything of the list itself.
type Kind string

// The kinds. Fault is that of an error, which its words alone tell.
const (
	Fault            Kind = ""
	KindAudience     Kind = "audience"       // records of the commerce platform cannot be read
	KindCategory     Kind = "category"       // the platform does not deliver marketing to these people
	KindColumn       Kind = "column"         // the phone numbers are probably in another column
	KindConnection   Kind = "connection"     // a number is not known, not active, or of low quality
	KindConsent      Kind = "unused_consent" // a column looks like consent and is not used
	KindCountry      Kind = "country"        // numbers are probably of another country
	KindDeadline     Kind = "deadline"       // limits.deadline or limits.not_after comes too early
	KindEncoding     Kind = "encoding"       // the list is not UTF-8
	KindFrequencyCap Kind = "frequency_cap"  // people had as many messages as the cap allows
	KindLostEvents   Kind = "lost_events"    // opt-outs were lost with the ledger
	KindMaxMessages  Kind = "max_messages"   // the list is longer than limits.max_messages
	KindMedia        Kind = "media"          // the medium of the header may not last or not load
	KindOffer        Kind = "offer"          // what the messages offer ends too early
	KindOptOut       Kind = "opt_out"        // the template may have no button that opts out
	KindQuota        Kind = "quota"          // a tier, a plan or a warm-up is less than the list
	KindRemarks      Kind = "remarks"        // the list ends with lines that are no recipients
	KindSchedule     Kind = "schedule"       // the schedule sends too, or never will
	KindSuspect      Kind = "suspect_value"  // a variable has a value that was probably not meant
	KindTemplate     Kind = "template"       // the template could not be checked to its end
	KindTemplateFile Kind = "template_file"  // the template file is not what the service has
	KindTimeZone     Kind = "time_zone"      // rows have no time zone, or one that does not exist
)

// Kinds are those of warnings.
var Kinds = []Kind{KindAudience, KindCategory, KindColumn, KindConnection, KindConsent, KindCountry, KindDeadline, KindEncoding,
	KindFrequencyCap, KindLostEvents, KindMaxMessages, KindMedia, KindOffer, KindOptOut, KindQuota, KindRemarks,
	KindSchedule, KindSuspect, KindTemplate, KindTemplateFile, KindTimeZone}

// Level is the level of the findings of a kind.
func (k Kind) Level() Level {
	if k == Fault {
		return LevelError
	}
	return LevelWarning
}

// Warning is a warning about so many rows, or about something else if count is 0.
func Warning(kind Kind, count int64, where, what, remedy string) Finding {
	return Finding{Level: kind.Level(), Kind: kind, Count: count, Where: where, What: what, Remedy: remedy}
}

// Finding tells the author of a campaign one fault: what it is, where, and what to do.
type Finding struct {
	Level   Level  `json:"level"`
	Kind    Kind   `json:"kind,omitempty"`  // of a warning
	Count   int64  `json:"count,omitempty"` // the rows that it is about; 0: it is not about rows
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
