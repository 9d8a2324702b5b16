package area

import (
	"regexp"
	"strconv"
	"strings"
	"time"
)

// Template is a message template, in one language.
type Template struct {
	// ID defaults to tpl_N, where N is the position in the list, counted from 1.
	ID       string `yaml:"id" json:"id"`
	Name     string `yaml:"name" json:"name"`
	Language string `yaml:"language" json:"language"`
	// Status is approved, paused, disabled, rejected or pending. Default approved. Listings show it in
	// capitals.
	Status string `yaml:"status" json:"status"`
	// Category is MARKETING, UTILITY or AUTHENTICATION, in any case. Default MARKETING.
	Category   string      `yaml:"category" json:"category"`
	Components []Component `yaml:"components" json:"components"`
	// Reason is why a template was rejected.
	Reason string `yaml:"reason" json:"reason,omitempty"`
	// Companies are the ids of the companies that have the template. Empty means every company. Each
	// has a record of its own; the id of all but the first is followed by _ and the company.
	Companies []string `yaml:"companies" json:"-"`
	// Silent means that the platform has the template and the service knows it only after a sync.
	Silent bool `yaml:"silent" json:"-"`
}

// Component is a part of a template.
type Component struct {
	// Type is HEADER, BODY, FOOTER or BUTTONS.
	Type string `yaml:"type" json:"type"`
	// Format is the format of a HEADER: TEXT, IMAGE, VIDEO or DOCUMENT.
	Format string `yaml:"format" json:"format,omitempty"`
	// Text is the text of the part. A variable is written {{1}}.
	Text    string   `yaml:"text" json:"text,omitempty"`
	Buttons []Button `yaml:"buttons" json:"buttons,omitempty"`
	Example *Example `yaml:"example" json:"example,omitempty"`
}

// Example are the values that the reviewers see.
type Example struct {
	HeaderHandle []string   `yaml:"header_handle" json:"header_handle,omitempty"`
	HeaderText   []string   `yaml:"header_text" json:"header_text,omitempty"`
	BodyText     [][]string `yaml:"body_text" json:"body_text,omitempty"`
}

// Button is a button of a template.
type Button struct {
	// Type is URL, QUICK_REPLY, COPY_CODE, OTP or PHONE_NUMBER.
	Type string `yaml:"type" json:"type"`
	Text string `yaml:"text" json:"text"`
	// URL is dynamic if it contains {{1}}.
	URL         string   `yaml:"url" json:"url,omitempty"`
	PhoneNumber string   `yaml:"phone_number" json:"phone_number,omitempty"`
	Example     []string `yaml:"example" json:"example,omitempty"`
}

// Record is a template of one client. Its Template is what the platform has.
type Record struct {
	Template
	Company string
	// Text is the body. Variables and HeaderVariables are the numbers of variables of body and header.
	Text                       string
	Variables, HeaderVariables int
	// Media is IMAGE, VIDEO or DOCUMENT if the header needs such a file; else empty.
	Media string
	// Dynamic and Plain are the numbers of buttons that need a value and that need none, by the type
	// in a send.
	Dynamic, Plain map[string]int

	number  int       // in the id of the platform's events
	known   *Template // what the service knows; nil: nothing yet
	gone    bool      // deleted at the platform
	reviews int       // number of the last review; an older one decides nothing
	refused bool      // Review.Reject has refused it once
	edits   []time.Time
}

// templateStatuses are the states of the document (docs/service.md#states).
var templateStatuses = []string{"APPROVED", "PAUSED", "DISABLED", "REJECTED", "PENDING"}

// categories are the categories of the document.
var categories = []string{"AUTHENTICATION", "MARKETING", "UTILITY"}

var placeholder = regexp.MustCompile(`\{\{\s*([A-Za-z0-9_]+)\s*\}\}`)

// variables returns the names of the variables of a text, each once, in their order.
func variables(text string) (names []string) {
	seen := map[string]bool{}
	for _, m := range placeholder.FindAllStringSubmatch(text, -1) {
		if !seen[m[1]] {
			seen[m[1]] = true
			names = append(names, m[1])
		}
	}
	return names
}

// count is the number of values that a text needs: the largest number of a positional variable, or
// the number of named ones.
func count(text string) (n int) {
	names := variables(text)
	for _, name := range names {
		number, err := strconv.Atoi(name)
		if err != nil {
			return len(names)
		}
		n = max(n, number)
	}
	return n
}

// Fill returns the body with its values. Named variables take them in their order.
func (t *Record) Fill(values []string) string {
	names := variables(t.Text)
	return placeholder.ReplaceAllStringFunc(t.Text, func(p string) string {
		name := placeholder.FindStringSubmatch(p)[1]
		i, err := strconv.Atoi(name)
		if err != nil {
			for i = 1; names[i-1] != name; i++ {
			}
		}
		if i < 1 || i > len(values) {
			return p
		}
		return values[i-1]
	})
}

// compile sets the fields that follow from the components.
func (t *Record) compile() {
	t.Text, t.Variables, t.HeaderVariables, t.Media = "", 0, 0, ""
	t.Dynamic, t.Plain = map[string]int{}, map[string]int{}
	for _, part := range t.Components {
		switch strings.ToUpper(part.Type) {
		case "BODY":
			t.Text, t.Variables = part.Text, count(part.Text)
		case "HEADER":
			switch f := strings.ToUpper(part.Format); f {
			case "IMAGE", "VIDEO", "DOCUMENT":
				t.Media = f
			default:
				t.HeaderVariables = count(part.Text)
			}
		case "BUTTONS":
			for _, b := range part.Buttons {
				switch strings.ToUpper(b.Type) {
				case "URL":
					if placeholder.MatchString(b.URL) {
						t.Dynamic["url"]++
					} else {
						t.Plain["url"]++
					}
				case "COPY_CODE":
					t.Dynamic["copy_code"]++
				case "OTP":
					t.Dynamic["otp"]++
				case "QUICK_REPLY":
					t.Plain["quick_reply"]++
				}
			}
		}
	}
}

// Refusal is the answer to a send of the template because of its state, or nil. The service refuses
// what it knows; what changed silently, the platform refuses.
func (t *Record) Refusal() *Refusal {
	status := t.Status
	if t.known != nil && t.known.Status != "APPROVED" {
		status = t.known.Status
	}
	if status == "APPROVED" {
		return nil
	}
	ref := RefusePlatform(132015, "")
	ref.Prose = "The template is " + strings.ToLower(status) + "."
	return ref
}
