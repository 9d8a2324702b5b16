package request

import (
	"regexp"
	"strconv"
	"unicode/utf16"

	"campaignd/internal/sandbox/area"
)

// forbidden matches the text that a variable may not contain (docs/service.md#variable-values, code
// 132018).
var forbidden = regexp.MustCompile(`[\n\r\t]| {5,}`)

// Check makes the platform's checks of the values that are sent with a template
// (docs/service.md#variable-values).
func (m *Template) Check(t *area.Record) *area.Refusal {
	body := m.Body
	if m.OTP != nil { // otp fills the variable of the body and the button
		if t.Category != "AUTHENTICATION" {
			return area.RefusePlatform(131009, "otp is for AUTHENTICATION templates")
		}
		if *m.OTP == "" || len(*m.OTP) > 15 {
			return area.RefusePlatform(131009, "otp has 1 to 15 characters")
		}
		if len(body) == 0 {
			body = []string{*m.OTP}
		}
	}
	if len(body) != t.Variables {
		return area.RefusePlatform(132000, "body: number of localizable_params ("+strconv.Itoa(len(body))+
			") does not match the expected number of params ("+strconv.Itoa(t.Variables)+")")
	}
	for _, v := range body {
		if r := checkValue(v, "body"); r != nil {
			return r
		}
	}
	if n := hydrated(t, body); n > 1024 {
		return area.RefusePlatform(132005, "body: "+strconv.Itoa(n)+" characters, at most 1024")
	}
	if r := checkHeader(t, m); r != nil {
		return r
	}
	return checkButtons(t, m)
}

func checkValue(v, where string) *area.Refusal {
	switch {
	case v == "":
		return area.RefusePlatform(131008, where+": parameter of type text is missing text value")
	case forbidden.MatchString(v):
		return area.RefusePlatform(132018, where)
	}
	return nil
}

// hydrated is the length of the body with its values, in UTF-16 units. The platform does not
// document its unit, so the sandbox uses the unit that gives the larger length
// (docs/service.md#variable-values).
func hydrated(t *area.Record, values []string) int {
	short := len(t.Text)
	for _, v := range values {
		short += len(v)
	}
	if short <= 1024 { // bytes are never fewer than UTF-16 units
		return short
	}
	text := t.Fill(values)
	return len(utf16.Encode([]rune(text)))
}

func checkHeader(t *area.Record, m *Template) *area.Refusal {
	if len(m.headerText) != t.HeaderVariables {
		return area.RefusePlatform(132000, "header: number of localizable_params ("+strconv.Itoa(len(m.headerText))+
			") does not match the expected number of params ("+strconv.Itoa(t.HeaderVariables)+")")
	}
	got, n := "", 0
	if h := m.Header; h != nil {
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
		return area.RefusePlatform(131009, "header: one media member")
	case got != t.Media && t.Media == "":
		return area.RefusePlatform(132000, "header: number of localizable_params (1) does not match the expected number of params (0)")
	case got != t.Media && got == "":
		return area.RefusePlatform(132012, "header: Format mismatch, expected "+t.Media+", received UNKNOWN")
	case got != t.Media:
		return area.RefusePlatform(132012, "header: Format mismatch, expected "+t.Media+", received "+got)
	}
	return nil
}

func checkButtons(t *area.Record, m *Template) *area.Refusal {
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
			return area.RefusePlatform(131009, "buttons: a code has at most 20 characters")
		case b.Type == "url" && len(b.Text) > 2000:
			return area.RefusePlatform(131009, "buttons: a URL has at most 2000 characters")
		case b.Type == "otp" && len(b.Text) > 15:
			return area.RefusePlatform(131009, "buttons: a one-time code has at most 15 characters")
		}
	}
	if m.OTP != nil && given[3] == 0 {
		given[3] = t.Dynamic["otp"]
	}
	for i, k := range kinds {
		switch {
		case given[i] < t.Dynamic[k]:
			return area.RefusePlatform(131008, "buttons: a button of type "+k+" requires a parameter")
		case k == "quick_reply" && given[i] <= t.Plain[k]:
		case given[i] > t.Dynamic[k]:
			return area.RefusePlatform(132000, "buttons: more values of type "+k+" than the template has")
		}
	}
	return nil
}
