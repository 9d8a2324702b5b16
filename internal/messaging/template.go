package messaging

import (
	"regexp"
	"strings"
)

// TemplateRecord is a template as the service lists it. Its JSON has the service's form
// (docs/service.md#assumptions).
type TemplateRecord struct {
	// ID names the template in edits and deletions; "" if the service does not tell it.
	ID   string `json:"id"`
	Name string `json:"name"`
	// Language is written as in sends: en_US.
	Language string `json:"language"`
	// Status is upper case: APPROVED, PAUSED, DISABLED, REJECTED, PENDING.
	Status string `json:"status"`
	// Category is upper case: AUTHENTICATION, MARKETING, UTILITY.
	Category   string      `json:"category"`
	Components []Component `json:"components"`
	// Reason is why the platform rejected the template; "" for others.
	Reason string `json:"reason,omitempty"`
}

// Component is one part of a template.
type Component struct {
	// Type is upper case: HEADER, BODY, FOOTER, BUTTONS.
	Type string `json:"type"`
	// Format is the format of a header, upper case: TEXT, IMAGE, VIDEO, DOCUMENT, LOCATION.
	Format  string            `json:"format,omitempty"`
	Text    string            `json:"text,omitempty"`
	Buttons []ComponentButton `json:"buttons,omitempty"`
	Example Example           `json:"example,omitzero"`
}

// Example shows the platform's reviewer what fills a part.
type Example struct {
	// HeaderHandle is one handle of a file that was uploaded for the header of a template.
	HeaderHandle []string `json:"header_handle,omitempty"`
	HeaderText   []string `json:"header_text,omitempty"`
	// BodyText has one list, with a value for each variable of the body.
	BodyText [][]string `json:"body_text,omitempty"`
}

// ComponentButton is one button of a template.
type ComponentButton struct {
	// Type is upper case: URL, QUICK_REPLY, PHONE_NUMBER, COPY_CODE, OTP and others of the platform.
	Type string `json:"type"`
	// Text is the label.
	Text string `json:"text,omitempty"`
	// URL has at most one variable, at its end.
	URL string `json:"url,omitempty"`
	// PhoneNumber is the number of a PHONE_NUMBER button.
	PhoneNumber string `json:"phone_number,omitempty"`
	// Example has the whole address of a URL with a variable, or the code of a COPY_CODE button.
	Example []string `json:"example,omitempty"`
}

// Component returns the first part of that type, or the zero Component.
func (t *TemplateRecord) Component(kind string) Component {
	for _, c := range t.Components {
		if c.Type == kind {
			return c
		}
	}
	return Component{}
}

// Variables lists the placeholders of the text in the order of their first appearance, each once:
// "1" and "2", or the names of named parameters.
func (c Component) Variables() []string { return variables(c.Text) }

// Variables lists the placeholders of the button's URL.
func (b ComponentButton) Variables() []string { return variables(b.URL) }

var placeholder = regexp.MustCompile(`\{\{\s*([A-Za-z0-9_]{1,64})\s*\}\}`)

func variables(text string) []string {
	var out []string
	seen := map[string]bool{}
	for _, m := range placeholder.FindAllStringSubmatch(text, -1) {
		if !seen[m[1]] {
			seen[m[1]] = true
			out = append(out, m[1])
		}
	}
	return out
}

// FoldLanguage writes a language as in sends. Webhooks say en-US, sends say en_US
// (docs/service.md#template-events).
func FoldLanguage(s string) string { return strings.ReplaceAll(strings.TrimSpace(s), "-", "_") }
