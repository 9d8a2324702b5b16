package area

import (
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf16"
)

// Codes of the platform for a template that it does not take (docs/service.md#assumed-operations).
// The last three are our own figures: the platform's pages show none for these faults.
const (
	codeTooMany   = 2388019
	codeTooLong   = 2388040
	codeHeader    = 2388047
	codeBody      = 2388072
	codeFooter    = 2388073
	codeFewWords  = 2388293
	codeEdge      = 2388299
	codeName      = 2388023
	codeButtons   = 2388084
	codeComponent = 2388085
)

var (
	templateName     = regexp.MustCompile(`^[a-z0-9_]+$`)
	templateLanguage = regexp.MustCompile(`^[a-z]{2,3}(_[A-Za-z0-9]{2,4})?$`)
	adjacent         = regexp.MustCompile(`\}\}\s*\{\{`)
	anyVariable      = regexp.MustCompile(`\{\{[^{}]*\}\}`)
)

// refuseTemplate is the platform's refusal of a template.
func refuseTemplate(code int, prose string) *Refusal {
	return &Refusal{400, "invalid_template", prose, &Meta{ErrorClass: "template", Code: code}}
}

// units is the length of a text in UTF-16 units, the larger of the two lengths that the platform
// may mean.
func units(text string) int { return len(utf16.Encode([]rune(text))) }

// judgeName checks name, language and category.
func judgeName(name, language, category string) *Refusal {
	switch {
	case units(name) > 512:
		return refuseTemplate(codeTooLong, "name is longer than 512 characters.")
	case !templateName.MatchString(name):
		return refuseTemplate(codeName, "name has other characters than a-z, 0-9 and _.")
	case !templateLanguage.MatchString(language):
		return refuseTemplate(codeName, "language is not a code such as en_US.")
	case !slices.Contains(categories, category):
		return refuseTemplate(codeName, "category is not AUTHENTICATION, MARKETING or UTILITY.")
	}
	return nil
}

// judge checks the components of a template. The first rule that a part breaks decides.
func (a *Areas) judge(t *Template, company string, now time.Time) *Refusal {
	seen := map[string]int{}
	for _, part := range t.Components {
		seen[part.Type]++
		if part.Type != "HEADER" && part.Type != "BODY" && seen[part.Type] > 1 {
			return refuseTemplate(codeComponent, "components: a second "+part.Type+".")
		}
		var ref *Refusal
		switch part.Type {
		case "HEADER":
			if ref = a.judgeHeader(part, company, now); seen["HEADER"] > 1 {
				ref = refuseTemplate(codeHeader, "header: a second one.")
			}
		case "BODY":
			if ref = judgeBody(part, t.Category); seen["BODY"] > 1 {
				ref = refuseTemplate(codeBody, "body: a second one.")
			}
		case "FOOTER":
			switch {
			case units(part.Text) > 60:
				ref = refuseTemplate(codeTooLong, "footer is longer than 60 characters.")
			case anyVariable.MatchString(part.Text):
				ref = refuseTemplate(codeFooter, "footer has a variable.")
			case strings.TrimSpace(part.Text) == "":
				ref = refuseTemplate(codeFooter, "footer has no text.")
			}
		case "BUTTONS":
			ref = judgeButtons(part.Buttons)
		default:
			ref = refuseTemplate(codeComponent, fmt.Sprintf("components: type %q is not HEADER, BODY, FOOTER or BUTTONS.", part.Type))
		}
		if ref != nil {
			return ref
		}
	}
	if seen["BODY"] == 0 {
		return refuseTemplate(codeBody, "body is missing.")
	}
	return nil
}

func (a *Areas) judgeHeader(part Component, company string, now time.Time) *Refusal {
	switch part.Format {
	case "TEXT":
		switch {
		case units(part.Text) > 60:
			return refuseTemplate(codeTooLong, "header is longer than 60 characters.")
		case strings.TrimSpace(part.Text) == "":
			return refuseTemplate(codeHeader, "header has no text.")
		case len(anyVariable.FindAllString(part.Text, -1)) > 1:
			return refuseTemplate(codeHeader, "header has more than one variable.")
		}
	case "IMAGE", "VIDEO", "DOCUMENT":
		if part.Example == nil || len(part.Example.HeaderHandle) == 0 {
			return refuseTemplate(codeHeader, "header: example.header_handle is missing.")
		}
		for _, handle := range part.Example.HeaderHandle {
			if !a.hasHandle(handle, part.Format, company, now) {
				return refuseTemplate(codeHeader, "header: example.header_handle is not a handle of this client for "+part.Format+".")
			}
		}
	default:
		return refuseTemplate(codeHeader, fmt.Sprintf("header: format %q is not TEXT, IMAGE, VIDEO or DOCUMENT.", part.Format))
	}
	return nil
}

func judgeBody(part Component, category string) *Refusal {
	text := strings.TrimSpace(part.Text)
	names := variables(part.Text)
	all := anyVariable.FindAllString(part.Text, -1)
	n := count(part.Text)
	switch {
	case text == "":
		return refuseTemplate(codeBody, "body has no text.")
	case units(part.Text) > 1024:
		return refuseTemplate(codeTooLong, "body is longer than 1024 characters.")
	case len(placeholder.FindAllString(part.Text, -1)) != len(all):
		return refuseTemplate(codeBody, "body has a variable that is not a number.")
	}
	for i := range names {
		if !slices.Contains(names, fmt.Sprint(i+1)) {
			return refuseTemplate(codeBody, "body: the variables are not 1 to n.")
		}
	}
	if adjacent.MatchString(part.Text) {
		return refuseTemplate(codeBody, "body has two variables side by side.")
	}
	if n > 0 && (part.Example == nil || len(part.Example.BodyText) == 0 || len(part.Example.BodyText[0]) != n) {
		return refuseTemplate(codeBody, fmt.Sprintf("body: example.body_text needs one list of %d values.", n))
	}
	words := 0
	for _, w := range strings.Fields(anyVariable.ReplaceAllString(part.Text, " ")) {
		if strings.ContainsFunc(w, func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }) {
			words++
		}
	}
	switch {
	case n > 0 && words < 2*n+1:
		return refuseTemplate(codeFewWords, fmt.Sprintf("body: %d variables need at least %d other words.", n, 2*n+1))
	case category != "AUTHENTICATION" && (strings.HasPrefix(text, "{{") || strings.HasSuffix(strings.TrimRight(text, " .,!?…:;)\"'"), "}}")):
		return refuseTemplate(codeEdge, "body begins or ends with a variable.")
	}
	return nil
}

func judgeButtons(buttons []Button) *Refusal {
	if len(buttons) == 0 || len(buttons) > 10 {
		return refuseTemplate(codeButtons, "buttons: 1 to 10.")
	}
	kinds := map[string]int{}
	for i, b := range buttons {
		kinds[b.Type]++
		where := fmt.Sprintf("buttons[%d]", i)
		switch {
		case units(b.Text) > 25:
			return refuseTemplate(codeTooLong, where+": text is longer than 25 characters.")
		case strings.TrimSpace(b.Text) == "":
			return refuseTemplate(codeButtons, where+" has no text.")
		}
		switch b.Type {
		case "URL":
			u, err := url.Parse(anyVariable.ReplaceAllString(b.URL, "x"))
			found := anyVariable.FindAllString(b.URL, -1)
			switch {
			case err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https":
				return refuseTemplate(codeButtons, where+": url is not an http(s) address.")
			case len(found) > 1 || len(found) == 1 && !strings.HasSuffix(b.URL, found[0]):
				return refuseTemplate(codeButtons, where+": url has its one variable at the end.")
			}
		case "PHONE_NUMBER":
			if strings.TrimLeft(strings.TrimPrefix(b.PhoneNumber, "+"), "0123456789") != "" || b.PhoneNumber == "" {
				return refuseTemplate(codeButtons, where+": phone_number is not a phone number.")
			}
		case "QUICK_REPLY", "COPY_CODE", "OTP":
		default:
			return refuseTemplate(codeButtons, fmt.Sprintf("%s: type %q is not URL, QUICK_REPLY, COPY_CODE, OTP or PHONE_NUMBER.", where, b.Type))
		}
	}
	if kinds["URL"] > 2 || kinds["COPY_CODE"] > 1 || kinds["OTP"] > 1 {
		return refuseTemplate(codeButtons, "buttons: at most 2 of type URL, 1 of type COPY_CODE and 1 of type OTP.")
	}
	return nil
}
