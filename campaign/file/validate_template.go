package file

import (
	"fmt"
	"net/url"
	"path/filepath"
	"regexp"
	"strings"
	"unicode"

	"campaignd/internal/sentence"
)

// mostButtons are the limits of single types of buttons (docs/service.md#templates).
var mostButtons = map[string]int{"url": 2, "copy_code": 1, "otp": 1}

func (s *Source) checkTemplate(t *TemplateUse) {
	s.matches("template.name", t.Name, templatePattern, "want a-z, 0-9 and _ only")
	s.matches("template.language", t.Language, languagePattern, "want a code such as en_US, fr or pt_BR")
	s.oneOf("template.category", t.Category, categories())
	for i, text := range t.Body {
		s.parameter(fmt.Sprintf("template.body[%d]", i), inBody, text)
	}
	s.checkHeader(t.Header)
	if len(t.Buttons) > maxButtons {
		s.at("template.buttons", fmt.Sprintf("%d buttons; a template has at most %d", len(t.Buttons), maxButtons), "")
	}
	count := map[string]int{}
	for i, b := range t.Buttons {
		path := fmt.Sprintf("template.buttons[%d]", i)
		if b.Type == "" {
			s.at(path+".type", "missing", "want one of "+strings.Join(buttonTypes(), ", "))
		}
		s.oneOf(path+".type", b.Type, buttonTypes())
		s.parameter(path+".text", useOf(b.Type), b.Text)
		count[b.Type]++
		if most, limited := mostButtons[b.Type]; limited && count[b.Type] == most+1 {
			s.at(path+".type", fmt.Sprintf("a template has no more than %s of type %s", sentence.Count(most, "button", "buttons"), b.Type), "")
		}
	}
	if t.OTP != "" {
		s.parameter("template.otp", inOTP, t.OTP)
		if t.Category != "" && t.Category != "AUTHENTICATION" {
			s.at("template.otp", "only templates of category AUTHENTICATION have a one-time code", "")
		}
		if count["otp"] > 0 {
			s.at("template.otp", "the code is given here and by a button of type otp", "keep one; otp fills both the body and the button")
		}
	}
}

func (s *Source) checkHeader(h *HeaderUse) {
	if h == nil {
		return
	}
	media := 0
	for kind, m := range map[string]*MediaUse{"image": h.Image, "video": h.Video, "document": h.Document} {
		if m == nil {
			continue
		}
		media++
		path := "template.header." + kind
		sources := 0
		for _, v := range []string{m.AssetID, m.ID, m.Link, m.File} {
			if v != "" {
				sources++
			}
		}
		if sources != 1 {
			s.at(path, fmt.Sprintf("%d of assetId, id, link and file are given; want exactly one", sources), "")
		}
		for key, v := range map[string]string{"assetId": m.AssetID, "id": m.ID, "file": m.File, "filename": m.Filename} {
			if strings.Contains(v, "{{") {
				s.at(path+"."+key, "variables are not read here", "only link can differ from row to row")
			}
		}
		s.inFolder(path+".file", m.File, "copy it there")
		if m.Link != "" {
			s.parameter(path+".link", inLink, m.Link)
		}
		if m.Filename != "" && kind != "document" {
			s.at(path+".filename", "only a document has a file name", "remove it")
		}
		if strings.ContainsFunc(m.Filename, unicode.IsControl) || m.Filename != filepath.Base(m.Filename) && m.Filename != "" {
			s.at(path+".filename", "want a plain name such as offer.pdf", "")
		}
	}
	if media != 1 {
		s.at("template.header",
			fmt.Sprintf("%d of image, video and document are given; want exactly one", media),
			"remove header when the template has no media header")
	}
}

// parameter checks a string with variables. The text around the variables must be sendable by
// itself; the values are checked row by row.
func (s *Source) parameter(path string, u use, text string) {
	ps, err := parts(text)
	if err != nil {
		s.at(path, err.Error(), "")
		return
	}
	if strings.TrimSpace(text) == "" {
		s.at(path, "empty, and the platform refuses empty values", `write a text or a variable: "{{ .name }}"`)
		return
	}
	fixed := true
	for _, p := range ps {
		if p.variable {
			fixed = false
		} else if _, why := fault(p.text); why != "" {
			s.at(path, "the text "+why, "the platform refuses that in a value (132018)")
			return
		}
	}
	if !fixed {
		if literal := ps[0].text; u == inLink && !ps[0].variable && !regexp.MustCompile(linkPattern).MatchString(literal) {
			s.at(path, "want a link that begins with https://", "")
		}
		return
	}
	out, _, why := finish(u, text)
	if why != "" {
		s.at(path, fmt.Sprintf("%q %s", shorten(text), why), "")
	} else if u == inLink {
		if l, err := url.Parse(out); err != nil || l.Host == "" {
			s.at(path, fmt.Sprintf("%q is not a link", shorten(text)), "want https://host/path")
		}
	}
}

// checkVariables checks the defaults like values, and finds misspelt variables.
func (s *Source) checkVariables(d *Definition) {
	used := map[string]use{}
	var names []string
	note := func(u use, text string) {
		for _, v := range variables(text) {
			used[v] = u
			names = append(names, v)
		}
	}
	for _, text := range d.Template.Body {
		note(inBody, text)
	}
	for _, b := range d.Template.Buttons {
		note(useOf(b.Type), b.Text)
	}
	note(inOTP, d.Template.OTP)
	if _, m := d.Template.Header.Media(); m != nil {
		note(inLink, m.Link)
	}
	for name, v := range d.Variables {
		path := "variables." + name
		u, ok := used[name]
		if !ok {
			remedy := "remove it"
			if near := sentence.Nearest(name, names); near != "" {
				remedy = fmt.Sprintf("did you mean %q?", near)
			}
			s.at(path, "the template does not use this variable", remedy)
			continue
		}
		if strings.Contains(v.Default, "{{") {
			s.at(path+".default", "a default is a text, not another variable", "")
		}
		s.checkForbid(path, v)
		value := clean(v.Default)
		if value == "" {
			if len(v.Forbid) == 0 {
				s.at(path,
					"has neither default nor forbid",
					"give one of them, or remove the entry: without a default, rows without a value are skipped (missing_variable)")
			}
			continue
		}
		if _, why := fault(value); why != "" {
			s.at(path+".default", "the text "+why, "the platform refuses that in a value (132018)")
		} else if u == inCopyCode || u == inOTP || u == inBody {
			if _, _, why := finish(u, value); why != "" {
				s.at(path+".default", fmt.Sprintf("%q %s", shorten(value), why), "")
			}
		}
	}
}

// checkForbid finds values that forbid cannot mean. A misspelt kind would count as a text that no
// row has, and would refuse nothing.
func (s *Source) checkForbid(path string, v Variable) {
	for i, text := range v.Forbid {
		at := fmt.Sprintf("%s.forbid[%d]", path, i)
		near := sentence.Nearest(text, forbidKinds())
		switch {
		case clean(text) == "":
			s.at(at, "empty, and a row without a value is never sent", `write a text, in quotes if it is "NULL" or begins with #`)
		case near != "" && near != text:
			s.at(at, fmt.Sprintf("%q is no kind of value", shorten(text)), fmt.Sprintf("did you mean %q?", near))
		}
	}
	if f := newForbidden("", v.Forbid); clean(v.Default) != "" && f.refuses(clean(v.Default)) != "" {
		s.at(path+".default", "forbid refuses this text", "take it out of forbid, or choose another default")
	}
}
