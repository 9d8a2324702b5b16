package template

import (
	"cmp"
	"fmt"
	"reflect"
	"strings"

	"campaignd/campaign/file"
	"campaignd/internal/messaging"
	"campaignd/internal/yamlfile"
)

// document is what a template file may hold.
type document struct {
	Name        string `yaml:"name"`
	Language    string `yaml:"language"`
	Category    string `yaml:"category"`
	LibraryName string `yaml:"libraryName"`
	Components  []struct {
		Type    string `yaml:"type"`
		Format  string `yaml:"format"`
		Text    string `yaml:"text"`
		File    string `yaml:"file"`
		Example struct {
			HeaderHandle []string   `yaml:"header_handle"`
			HeaderText   []string   `yaml:"header_text"`
			BodyText     [][]string `yaml:"body_text"`
		} `yaml:"example"`
		Buttons []struct {
			Type        string   `yaml:"type"`
			Text        string   `yaml:"text"`
			URL         string   `yaml:"url"`
			PhoneNumber string   `yaml:"phone_number"`
			Example     []string `yaml:"example"`
		} `yaml:"buttons"`
	} `yaml:"components"`
}

// template is the template that the document means. The line break at the end of a text in block
// style does not count.
func (d *document) template() *Template {
	t := &Template{Library: d.LibraryName}
	t.Name, t.Language, t.Category = d.Name, d.Language, d.Category
	for _, c := range d.Components {
		part := messaging.Component{Type: c.Type, Format: c.Format, Text: strings.TrimRight(c.Text, "\n"), Example: messaging.Example(c.Example)}
		for _, b := range c.Buttons {
			part.Buttons = append(part.Buttons, messaging.ComponentButton(b))
		}
		t.Components, t.Media = append(t.Components, part), cmp.Or(t.Media, c.File)
	}
	return t
}

// source is a template file with the positions of its keys and values.
type source struct{ yamlfile.File }

var kindOfFile = yamlfile.Kind{Noun: "template file", Holds: "template", TooDeep: "a template file is flat",
	Empty: "see docs/templates.md for what belongs in it", TooBig: "a template has a few kilobytes",
	Syntax: "text with {{1}} or a colon goes in quotes", Placed: true}

// read decodes text into d and reports whether the values can be judged. Faults are in Faults.
func (s *source) read(name string, text []byte, d *document) (ok bool) {
	s.Kind, s.Name = kindOfFile, name
	s.Parse(text)
	if s.Root != nil {
		s.Check(s.Root, "", reflect.TypeFor[document](), yamlfile.Shape{})
	}
	if len(s.Faults) == 0 {
		s.Decode(d, true)
	}
	return len(s.Faults) == 0
}

// say adds a fault of the value at path, or of the nearest above it. code is the platform's code; 0
// for none.
func (s *source) say(path string, code int, what, remedy string) {
	if code != 0 {
		what += fmt.Sprintf(" (%d)", code)
	}
	s.Faults = append(s.Faults, s.At(path, what, remedy))
}

// err is a *file.Error with the faults in the order of the file, or nil.
func (s *source) err() error {
	if len(s.Faults) == 0 {
		return nil
	}
	return file.FaultsOf(&s.File)
}
