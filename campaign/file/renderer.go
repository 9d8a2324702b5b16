package file

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"campaignd/internal/messaging"
	"campaignd/internal/sentence"
	"campaignd/internal/yamlfile"
)

// Renderer fills a template from rows of one header. It is compiled once per run, never changes
// afterwards, and is safe for concurrent use.
type Renderer struct {
	name, language string
	parameters     []parameter // body, then buttons, otp, link
	body           int         // number of body parameters
	buttons        []string    // type of each button
	otp, link      int         // index into parameters; -1 without
	header         *HeaderUse
	static         *messaging.Header // the same for every row; nil when there is none or it varies

	where  []filter // Audience.Where
	choice *choice  // Selection

	fixed  int   // UTF-16 units of the template's own body text; -1: unknown
	repeat []int // how often each body variable occurs in the text
	bases  []int // length of each button's fixed address; nil: unknown
}

// parameter is one string of the campaign file, split into literals and columns.
type parameter struct {
	use   use
	path  string
	slots []slot
}

// slot is one literal or column of a parameter.
type slot struct {
	text     string // of a literal
	column   int    // index into the row's cells; -1 for a literal
	header   string
	variable string     // name in the campaign file; "" for a literal
	fallback string     // Variable.Default
	forbid   *forbidden // Variable.Forbid
	strip    string     // PaymentLink.Strip
}

// MissingColumn is a variable or a filter for which the list has no column, or several.
type MissingColumn struct {
	Path, What, Remedy string
}

// Compile finds the column of a list for each variable of the definition. A variable takes the
// column that recipients.columns maps it to, else the column with exactly its name. The error is a
// *Error that lists all variables without a column, and the columns of the list.
func (d *Definition) Compile(header []string) (*Renderer, error) {
	r, missing := d.compile(header)
	if len(missing) == 0 {
		return r, nil
	}
	e := &Error{}
	for _, m := range missing {
		e.Findings = append(e.Findings, Finding{Level: LevelError, Where: d.Name, What: yamlfile.Field(m.Path) + m.What, Remedy: m.Remedy})
	}
	return nil, e
}

// Missing returns the columns that Compile would not find in a header.
func (d *Definition) Missing(header []string) []MissingColumn {
	_, missing := d.compile(header)
	return missing
}

// BlankRenderer returns the renderer of a campaign without a parameter.
func BlankRenderer() *Renderer { return &Renderer{fixed: -1, otp: -1, link: -1} }

func (d *Definition) compile(header []string) (*Renderer, []MissingColumn) {
	t := &d.Template
	r := &Renderer{name: t.Name, language: t.Language, body: len(t.Body), otp: -1, link: -1, header: t.Header, fixed: -1}
	var missing []MissingColumn
	r.where, missing = d.filters(header)
	chosen, lacking := d.choice(header)
	r.choice, missing = chosen, append(missing, lacking...)
	add := func(u use, path, text string) {
		p, m := d.parameter(u, path, text, header)
		r.parameters = append(r.parameters, p)
		missing = append(missing, m...)
	}
	for i, s := range t.Body {
		add(inBody, fmt.Sprintf("template.body[%d]", i), s)
	}
	for i, b := range t.Buttons {
		r.buttons = append(r.buttons, b.Type)
		add(useOf(b.Type), fmt.Sprintf("template.buttons[%d].text", i), b.Text)
	}
	if t.OTP != "" {
		r.otp = len(r.parameters)
		add(inOTP, "template.otp", t.OTP)
	}
	if kind, m := t.Header.Media(); m != nil {
		if len(variables(m.Link)) > 0 {
			r.link = len(r.parameters)
			add(inLink, "template.header."+kind+".link", m.Link)
		} else if m.File == "" {
			r.static = t.Header.message(m.AssetID, m.Link)
		}
	}
	return r, missing
}

// parameter splits one string and finds the columns of its variables.
func (d *Definition) parameter(u use, path, text string, header []string) (parameter, []MissingColumn) {
	p := parameter{use: u, path: path}
	var missing []MissingColumn
	ps, err := parts(text)
	if err != nil {
		return p, []MissingColumn{{Path: path, What: err.Error()}}
	}
	for _, part := range ps {
		if !part.variable {
			p.slots = append(p.slots, slot{text: part.text, column: -1})
			continue
		}
		name, mapped, strip := part.text, false, ""
		if d.Audience != nil && d.Audience.PaymentLink.fills(part.text) {
			name, strip = LinkColumn, d.Audience.PaymentLink.Strip
		} else if to := d.Recipients.Columns[part.text]; len(to) > 1 {
			missing = append(missing, MissingColumn{path, fmt.Sprintf("recipients.columns maps %q to several columns", part.text),
				"use the name of the column that you mean"})
			continue
		} else if len(to) == 1 {
			name, mapped = strings.TrimSpace(to[0]), true
		}
		at, twice := columnNamed(name, header)
		if mapped && at < 0 {
			path = "recipients.columns." + part.text
		}
		switch {
		case twice:
			missing = append(missing, MissingColumn{path, fmt.Sprintf("the list has several columns %q", name), "rename all but one"})
		case at < 0:
			missing = append(missing, MissingColumn{path, fmt.Sprintf("the list has no column %q", name), d.columnsOf(name, header)})
		}
		of := d.Variables[part.text]
		p.slots = append(p.slots, slot{column: at, header: name, variable: part.text,
			fallback: clean(of.Default), forbid: newForbidden(part.text, of.Forbid), strip: strip})
	}
	return p, missing
}

// columnNamed returns the column with a name, -1 if there is none. twice says that several have it.
func columnNamed(name string, header []string) (at int, twice bool) {
	at = -1
	for i, h := range header {
		if h == name {
			at, twice = i, at >= 0
		}
	}
	return at, twice
}

// columnsOf is the remedy for a column that the list does not have.
func (d *Definition) columnsOf(name string, header []string) string {
	if d.unattended {
		return "`campaignd check` shows its columns"
	}
	shown := make([]string, 0, len(header))
	for _, h := range header {
		shown = append(shown, shorten(h))
	}
	remedy := "the list's columns: " + strings.Join(shown, ", ")
	if near := sentence.Nearest(name, header); near != "" {
		remedy = fmt.Sprintf("did you mean %q? (%s)", shorten(near), remedy)
	}
	return remedy
}

// Media returns the medium of the header and its kind (image, video, document); nil without one.
func (h *HeaderUse) Media() (kind string, m *MediaUse) {
	switch {
	case h == nil:
		return "", nil
	case h.Image != nil:
		return "image", h.Image
	case h.Video != nil:
		return "video", h.Video
	case h.Document != nil:
		return "document", h.Document
	}
	return "", nil
}

// File is the local file of the header, as written in the campaign file (see Beside); "" without
// one.
func (h *HeaderUse) File() string {
	if _, m := h.Media(); m != nil {
		return m.File
	}
	return ""
}

// message is the header of a message, with an asset or a link.
func (h *HeaderUse) message(asset, link string) *messaging.Header {
	kind, m := h.Media()
	ref := messaging.Media{AssetID: asset, ID: m.ID, Link: link}
	switch kind {
	case "image":
		return &messaging.Header{Image: &ref}
	case "video":
		return &messaging.Header{Video: &ref}
	}
	return &messaging.Header{Document: &messaging.Document{Media: ref, Filename: m.Filename}}
}

// Hydrate takes the fixed texts of the service's template, so that Check also limits the length of
// the filled body (132005) and of the filled addresses. Body variables are {{1}}, or {{name}} in
// order of appearance. urls are the addresses of the dynamic buttons; "" for a button of another
// type.
func (r *Renderer) Hydrate(body string, urls []string) {
	names, fixed := templateVariables(body)
	if len(names) == r.body {
		r.fixed = fixed
		r.repeat = make([]int, r.body)
		for i := range r.repeat {
			r.repeat[i] = names[i].times
		}
	}
	if len(urls) == len(r.buttons) {
		r.bases = make([]int, len(urls))
		for i, u := range urls {
			base, _, _ := strings.Cut(u, "{{")
			r.bases[i] = len(base)
		}
	}
}

// templateVariable is a variable in the text of a template.
type templateVariable struct {
	name   string
	number int // of {{1}}; 0 for a named variable
	times  int
}

// templateVariables finds {{1}} or {{name}} in a template's text, each once, by their numbers, else
// in order of appearance. It also counts the UTF-16 units of the fixed text.
func templateVariables(text string) (vs []templateVariable, fixed int) {
	for {
		before, after, ok := strings.Cut(text, "{{")
		name, rest, closed := strings.Cut(after, "}}")
		if !ok || !closed {
			slices.SortStableFunc(vs, func(a, b templateVariable) int { return a.number - b.number })
			return vs, fixed + unitsOf(text)
		}
		fixed += unitsOf(before)
		text = rest
		name = strings.TrimSpace(name)
		if at := slices.IndexFunc(vs, func(v templateVariable) bool { return v.name == name }); at >= 0 {
			vs[at].times++
			continue
		}
		number, _ := strconv.Atoi(name)
		vs = append(vs, templateVariable{name, number, 1})
	}
}

// Piece is a part of a text: a value that was filled in, or what is between the values.
type Piece struct {
	Text   string
	Filled bool
}

// Filled inserts the values of a body for its variables (Pieces).
func Filled(c messaging.Component, values []string) string {
	var out strings.Builder
	for _, p := range Pieces(c, values) {
		out.WriteString(p.Text)
	}
	return out.String()
}

// Pieces inserts the values of a body for its variables, by their numbers, or in order of
// appearance. Values are data: a value that looks like a variable is not replaced.
func Pieces(c messaging.Component, values []string) (all []Piece) {
	names, _ := templateVariables(c.Text)
	value := map[string]string{}
	for i, n := range names {
		if i < len(values) {
			value[n.name] = values[i]
		}
	}
	for text := c.Text; ; {
		before, after, open := strings.Cut(text, "{{")
		name, rest, closed := strings.Cut(after, "}}")
		if !open || !closed {
			return append(all, Piece{Text: text})
		}
		v, known := value[strings.TrimSpace(name)]
		if !known {
			v = "{{" + name + "}}"
		}
		all = append(all, Piece{Text: before}, Piece{v, known})
		text = rest
	}
}
