package template

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"campaignd/campaign/file"
	"campaignd/internal/messaging"
	"campaignd/internal/sentence"
)

// Service is what the comparison and the push ask of the messaging service.
type Service interface {
	Templates(ctx context.Context, connectionID string) ([]messaging.TemplateRecord, error)
	TemplateLibrary(ctx context.Context, connectionID, search string) ([]messaging.TemplateRecord, error)
	CreateTemplate(ctx context.Context, connectionID string, t messaging.TemplateRecord, library string) (messaging.TemplateRecord, error)
	EditTemplate(ctx context.Context, connectionID, id string, components []messaging.Component, category string) (
		messaging.TemplateRecord, error)
	UploadHeader(ctx context.Context, connectionID, filename, contentType string, r io.ReadSeeker) (handle string, err error)
}

// Comparison is a template file beside the service's template of the same name and language.
type Comparison struct {
	*Template
	// Listed is nil if the service has no such template.
	Listed *messaging.TemplateRecord
	// Differences has a line for each member that differs; it is empty without Listed.
	Differences []string
	// components reports whether a difference is one of the components.
	components bool
}

// Same reports whether the service has the template as the file says it.
func (c *Comparison) Same() bool { return c.Listed != nil && len(c.Differences) == 0 }

// Compare asks the service for the templates of a connection and compares each file with them. A
// template of the service without a file is no difference. The error is a *file.Error if a
// file names a template that the library does not have.
func Compare(ctx context.Context, s Service, connection string, all []*Template) ([]Comparison, error) {
	listed, err := s.Templates(ctx, connection)
	if err != nil {
		return nil, fmt.Errorf("ask the service for the templates of %s: %w", connection, err)
	}
	faults := &file.Error{}
	var out []Comparison
	for _, t := range all {
		if t.Library != "" {
			found, err := fromLibrary(ctx, s, connection, t)
			switch {
			case err != nil:
				return nil, err
			case !found:
				faults.Findings = append(faults.Findings, file.FaultsOf(&t.src.File).Findings...)
				continue
			}
		}
		c := Comparison{Template: t}
		for i := range listed {
			if listed[i].Name == t.Name && listed[i].Language == t.Language {
				c.Listed = &listed[i]
				c.compare()
			}
		}
		out = append(out, c)
	}
	if len(faults.Findings) > 0 {
		return nil, faults
	}
	return out, nil
}

// fromLibrary takes the components of the library's template, to compare them, and its category. A
// service that does not offer its library judges the name itself. Without such a template, found is
// false, and t has a finding more.
func fromLibrary(ctx context.Context, s Service, connection string, t *Template) (found bool, _ error) {
	library, err := s.TemplateLibrary(ctx, connection, t.Library)
	switch {
	case errors.Is(err, messaging.ErrNotOffered):
		return true, nil
	case err != nil:
		return false, fmt.Errorf("ask the service for its library: %w", err)
	}
	var names []string
	for _, l := range library {
		if l.Name == t.Library {
			t.Components, t.Category = l.Components, cmp.Or(t.Category, l.Category)
			return true, nil
		}
		names = append(names, l.Name)
	}
	remedy := "`campaignd templates list --library` shows its names"
	if near := sentence.Nearest(t.Library, names); near != "" {
		remedy = fmt.Sprintf("did you mean %q?", near)
	}
	t.src.say("libraryName", 0, fmt.Sprintf("the library has no template %q", sentence.Shorten(t.Library, 40)), remedy)
	return false, nil
}

// Differences has a line for each member in which the service's record differs from the file; it is
// empty if there is none.
func (t *Template) Differences(listed *messaging.TemplateRecord) []string {
	c := Comparison{Template: t, Listed: listed}
	c.compare()
	return c.Differences
}

// compare lists what differs. The handle of a header's file is another one after each upload, so it
// is not compared; nor is an example that only one of both has.
func (c *Comparison) compare() {
	if c.Library == "" && c.Category != c.Listed.Category {
		c.Differences = append(c.Differences, difference("category", c.Listed.Category, c.Category))
	}
	if c.Library != "" && len(c.Components) == 0 {
		return // the library is not offered
	}
	was, is := values(c.Listed.Components), values(c.Components)
	add := func(path, was, is string) {
		if was != is && !(strings.Contains(path, ".example") && (was == "" || is == "")) {
			c.Differences, c.components = append(c.Differences, difference(path, was, is)), true
		}
	}
	for _, v := range is {
		add(v.path, was.of(v.path), v.text)
	}
	for _, v := range was {
		if is.of(v.path) == "" {
			add(v.path, v.text, "")
		}
	}
}

func difference(path, was, is string) string {
	shown := func(s string) string {
		if s == "" {
			return "nothing"
		}
		return fmt.Sprintf("%q", sentence.Shorten(s, 100))
	}
	return fmt.Sprintf("%s: the service has %s, the file %s", path, shown(was), shown(is))
}

// value is one text of a template that is compared; texts are all texts of a template, none of them
// empty.
type (
	value struct{ path, text string }
	texts []value
)

func (t texts) of(path string) string {
	for _, v := range t {
		if v.path == path {
			return v.text
		}
	}
	return ""
}

// values are the texts of components, by paths such as body.text and buttons[0].url.
func values(all []messaging.Component) texts {
	var out texts
	add := func(path, text string) {
		if text != "" {
			out = append(out, value{path, text})
		}
	}
	for _, c := range all {
		part := strings.ToLower(c.Type)
		add(part+".format", c.Format)
		add(part+".text", c.Text)
		add(part+".example.header_text", strings.Join(c.Example.HeaderText, " | "))
		for _, row := range c.Example.BodyText {
			add(part+".example.body_text", strings.Join(row, " | "))
		}
		for i, b := range c.Buttons {
			at := fmt.Sprintf("%s[%d]", part, i)
			add(at+".type", b.Type)
			add(at+".text", b.Text)
			add(at+".url", b.URL)
			add(at+".phone_number", b.PhoneNumber)
			add(at+".example", strings.Join(b.Example, " | "))
		}
	}
	return out
}
