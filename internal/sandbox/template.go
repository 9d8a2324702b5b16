package sandbox

import (
	"regexp"
	"strconv"
	"strings"
	"unicode/utf16"
)

// Template is a message template of the account, in one language.
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
	// Companies are the ids of the companies that have the template. Empty means every company.
	Companies []string `yaml:"companies" json:"-"`
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
}

// Button is a button of a template.
type Button struct {
	// Type is URL, QUICK_REPLY, COPY_CODE, OTP or PHONE_NUMBER.
	Type string `yaml:"type" json:"type"`
	Text string `yaml:"text" json:"text"`
	// URL is dynamic if it contains {{1}}.
	URL string `yaml:"url" json:"url,omitempty"`
}

// templateStatuses are the states of the document (docs/service.md#states), in lower and upper
// case.
var templateStatuses = map[string]bool{
	"": true, "approved": true, "paused": true, "disabled": true, "rejected": true, "pending": true,
	"APPROVED": true, "PAUSED": true, "DISABLED": true, "REJECTED": true, "PENDING": true,
}

// template is a Template with the numbers that check needs.
type template struct {
	Template
	number    int            // index of Sandbox.templates
	text      string         // the body
	variables int            // number of variables of the body
	media     string         // IMAGE, VIDEO or DOCUMENT if the header needs such a file; else empty
	dynamic   map[string]int // wire type of button -> number of buttons that need a value
	plain     map[string]int // wire type of button -> number of buttons that need none
}

var placeholder = regexp.MustCompile(`\{\{\s*(\d+)\s*\}\}`)

func newTemplate(t Template, number int) *template {
	if t.ID == "" {
		t.ID = "tpl_" + strconv.Itoa(number+1)
	}
	if t.Status == "" {
		t.Status = "approved"
	}
	if t.Category == "" {
		t.Category = "MARKETING"
	}
	t.Status, t.Category = strings.ToUpper(t.Status), strings.ToUpper(t.Category)
	c := &template{Template: t, number: number, dynamic: map[string]int{}, plain: map[string]int{}}
	for _, part := range t.Components {
		switch strings.ToUpper(part.Type) {
		case "BODY":
			c.text = part.Text
			for _, m := range placeholder.FindAllStringSubmatch(part.Text, -1) {
				n, _ := strconv.Atoi(m[1]) // the pattern admits digits only
				c.variables = max(c.variables, n)
			}
		case "HEADER":
			switch f := strings.ToUpper(part.Format); f {
			case "IMAGE", "VIDEO", "DOCUMENT":
				c.media = f
			}
		case "BUTTONS":
			for _, b := range part.Buttons {
				switch strings.ToUpper(b.Type) {
				case "URL":
					if placeholder.MatchString(b.URL) {
						c.dynamic["url"]++
					} else {
						c.plain["url"]++
					}
				case "COPY_CODE":
					c.dynamic["copy_code"]++
				case "OTP":
					c.dynamic["otp"]++
				case "QUICK_REPLY":
					c.plain["quick_reply"]++
				}
			}
		}
	}
	return c
}

// forbidden matches the text that a variable may not contain (docs/service.md#variable-values, code
// 132018).
var forbidden = regexp.MustCompile(`[\n\r\t]| {5,}`)

// check makes the platform's checks of the values that are sent with a template
// (docs/service.md#variable-values).
func (t *template) check(m *templateContent) *refusal {
	body := m.Body
	if m.OTP != nil { // otp fills the variable of the body and the button
		if t.Category != "AUTHENTICATION" {
			return platformRefusal(131009, "otp is for AUTHENTICATION templates")
		}
		if *m.OTP == "" || len(*m.OTP) > 15 {
			return platformRefusal(131009, "otp has 1 to 15 characters")
		}
		if len(body) == 0 {
			body = []string{*m.OTP}
		}
	}
	if len(body) != t.variables {
		return platformRefusal(132000, "body: number of localizable_params ("+strconv.Itoa(len(body))+
			") does not match the expected number of params ("+strconv.Itoa(t.variables)+")")
	}
	for _, v := range body {
		if r := checkValue(v, "body"); r != nil {
			return r
		}
	}
	if n := t.hydrated(body); n > 1024 {
		return platformRefusal(132005, "body: "+strconv.Itoa(n)+" characters, at most 1024")
	}
	if r := t.checkHeader(m.Header); r != nil {
		return r
	}
	return t.checkButtons(m)
}

func checkValue(v, where string) *refusal {
	switch {
	case v == "":
		return platformRefusal(131008, where+": parameter of type text is missing text value")
	case forbidden.MatchString(v):
		return platformRefusal(132018, where)
	}
	return nil
}

// hydrated is the length of the body with its values, in UTF-16 units. The platform does not
// document its unit, so the sandbox uses the unit that gives the larger length
// (docs/service.md#variable-values).
func (t *template) hydrated(values []string) int {
	short := len(t.text)
	for _, v := range values {
		short += len(v)
	}
	if short <= 1024 { // bytes are never fewer than UTF-16 units
		return short
	}
	text := placeholder.ReplaceAllStringFunc(t.text, func(p string) string {
		n, _ := strconv.Atoi(placeholder.FindStringSubmatch(p)[1])
		if n < 1 || n > len(values) {
			return p
		}
		return values[n-1]
	})
	return len(utf16.Encode([]rune(text)))
}

func (t *template) checkHeader(h *header) *refusal {
	got, n := "", 0
	if h != nil {
		if h.Image != nil {
			got, n = "IMAGE", n+1
		}
		if h.Video != nil {
			got, n = "VIDEO", n+1
		}
		if h.Document != nil {
			got, n = "DOCUMENT", n+1
		}
	}
	switch {
	case n > 1:
		return platformRefusal(131009, "header: one media member")
	case got != t.media && t.media == "":
		return platformRefusal(132000, "header: number of localizable_params (1) does not match the expected number of params (0)")
	case got != t.media && got == "":
		return platformRefusal(132012, "header: Format mismatch, expected "+t.media+", received UNKNOWN")
	case got != t.media:
		return platformRefusal(132012, "header: Format mismatch, expected "+t.media+", received "+got)
	}
	return nil
}

func (t *template) checkButtons(m *templateContent) *refusal {
	given := [4]int{}
	kinds := [4]string{"url", "quick_reply", "copy_code", "otp"}
	for _, b := range m.Buttons {
		for i, k := range kinds {
			if b.Type == k {
				given[i]++
			}
		}
		if b.Type == "quick_reply" && b.Text == "" {
			continue // without a payload the platform chooses one
		}
		if r := checkValue(b.Text, "buttons"); r != nil {
			return r
		}
		switch {
		case b.Type == "copy_code" && len(b.Text) > 20:
			return platformRefusal(131009, "buttons: a code has at most 20 characters")
		case b.Type == "url" && len(b.Text) > 2000:
			return platformRefusal(131009, "buttons: a URL has at most 2000 characters")
		case b.Type == "otp" && len(b.Text) > 15:
			return platformRefusal(131009, "buttons: a one-time code has at most 15 characters")
		}
	}
	if m.OTP != nil && given[3] == 0 {
		given[3] = t.dynamic["otp"]
	}
	for i, k := range kinds {
		switch {
		case given[i] < t.dynamic[k]:
			return platformRefusal(131008, "buttons: a button of type "+k+" requires a parameter")
		case k == "quick_reply" && given[i] <= t.plain[k]:
		case given[i] > t.dynamic[k]:
			return platformRefusal(132000, "buttons: more values of type "+k+" than the template has")
		}
	}
	return nil
}
