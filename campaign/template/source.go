package template

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/lexer"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"

	"campaignd/campaign/file"
	"campaignd/internal/messaging"
	"campaignd/internal/sentence"
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
type source struct {
	name     string
	lines    []string
	at       map[string]*token.Token // by path, such as components[1].text
	findings []placed
}

// placed is a finding with its line and column, for sorting; 0 without a position.
type placed struct {
	file.Finding
	line, column int
}

// maxDepth is how deep a file may nest, because the parser recurses.
const maxDepth = 32

// read decodes text into d and reports whether the values can be judged. Faults are in findings,
// and so is a panic of the parser, which is a third party's.
func (s *source) read(text []byte, d *document) (ok bool) {
	defer func() {
		if p := recover(); p != nil {
			s.add(nil, fmt.Sprintf("the YAML parser failed on this file: %v", p), "check the syntax, and report the file as a bug")
			ok = false
		}
	}()
	s.at = map[string]*token.Token{}
	text = bytes.TrimPrefix(text, []byte("\uFEFF"))
	switch {
	case len(text) > file.MaxSize:
		s.add(nil, fmt.Sprintf("the file is larger than %d bytes", file.MaxSize), "a template has a few kilobytes")
		return false
	case !utf8.Valid(text) || bytes.IndexByte(text, 0) >= 0:
		s.add(nil, "the file is not UTF-8 text", "save it as UTF-8")
		return false
	}
	plain := strings.ReplaceAll(string(text), "\r\n", "\n")
	s.lines = strings.Split(plain, "\n")
	tokens := lexer.Tokenize(plain)
	if !s.plain(tokens) {
		return false
	}
	file, err := parser.Parse(tokens, 0)
	if err != nil {
		var fault yaml.Error
		if errors.As(err, &fault) {
			s.add(fault.GetToken(), fault.GetMessage(), "text with {{1}} or a colon goes in quotes")
		} else {
			s.add(nil, err.Error(), "correct the syntax of the file")
		}
		return false
	}
	var root ast.Node
	for _, doc := range file.Docs {
		switch {
		case doc.Body == nil || doc.Body.Type() == ast.CommentType:
		case root != nil:
			s.add(first(doc.Body), "a second document begins here", "one file holds one template: give it its own file")
		default:
			root = doc.Body
		}
	}
	if root == nil {
		s.add(nil, "the file holds no template", "see docs/templates.md for what belongs into it")
		return false
	}
	s.decode(root, "", reflect.ValueOf(d).Elem())
	return len(s.findings) == 0
}

// plain refuses what a template file never needs and what attacks on parsers use.
func (s *source) plain(tokens token.Tokens) bool {
	flow, dashes, line := 0, 0, 0
	for _, t := range tokens {
		if t.Position.Line != line {
			line, dashes = t.Position.Line, 0
		}
		switch t.Type {
		case token.AnchorType, token.AliasType, token.MergeKeyType, token.TagType, token.DirectiveType:
			s.add(t, "anchors, aliases, tags and directives are not read in template files",
				"write the value out; text that begins with &, *, ! or % goes in quotes")
			return false
		case token.SequenceStartType, token.MappingStartType:
			flow++
		case token.SequenceEndType, token.MappingEndType:
			flow--
		case token.SequenceEntryType, token.MappingKeyType:
			dashes++
		}
		if flow > maxDepth || dashes > maxDepth || t.Position.IndentNum > 20*maxDepth {
			s.add(t, fmt.Sprintf("nested more than %d deep", maxDepth), "a template file is flat")
			return false
		}
	}
	return true
}

// decode sets v to the value of a node, records positions, and adds a finding for each key that v
// does not have and each value of another type. null counts as absent.
func (s *source) decode(n ast.Node, path string, v reflect.Value) {
	if path != "" && s.at[path] == nil {
		s.at[path] = first(n)
	}
	if n.Type() == ast.NullType {
		return
	}
	switch v.Kind() {
	case reflect.String:
		switch text := n.(type) {
		case *ast.StringNode:
			v.SetString(text.Value)
		case *ast.LiteralNode:
			v.SetString(text.Value.Value)
		default:
			s.add(first(n), path+": want text", "put it in quotes")
		}
	case reflect.Slice:
		list, ok := n.(*ast.SequenceNode)
		if !ok {
			s.add(first(n), path+": want a list", "begin each item with a dash")
			return
		}
		for i, item := range list.Values {
			v.Set(reflect.Append(v, reflect.Zero(v.Type().Elem())))
			s.decode(item, path+"["+strconv.Itoa(i)+"]", v.Index(i))
		}
	default: // a struct
		switch m := n.(type) {
		case *ast.MappingNode:
			s.keys(m.Values, path, v)
		case *ast.MappingValueNode:
			s.keys([]*ast.MappingValueNode{m}, path, v)
		default:
			s.add(first(n), field(path)+"want keys with values", "write `key: value`, such as `type: BODY`")
		}
	}
}

// keys decodes the members of a struct.
func (s *source) keys(pairs []*ast.MappingValueNode, path string, v reflect.Value) {
	var known []string
	for f := range v.Type().Fields() {
		known = append(known, f.Tag.Get("yaml"))
	}
	for _, pair := range pairs {
		key := pair.Key.GetToken().Value
		at := key
		if path != "" {
			at = path + "." + key
		}
		i := slices.Index(known, key)
		switch {
		case i < 0:
			s.add(pair.Key.GetToken(), fmt.Sprintf("unknown key %q", at), sentence.DidYouMean(key, known))
		case s.at[at] != nil:
			s.add(pair.Key.GetToken(), fmt.Sprintf("%q stands here twice", at), "keep one")
		default:
			s.at[at] = pair.Key.GetToken()
			s.decode(pair.Value, at, v.Field(i))
		}
	}
}

// first is the token at which a node begins. For a mapping, the library gives the colon instead.
func first(n ast.Node) *token.Token {
	switch m := n.(type) {
	case *ast.MappingValueNode:
		return m.Key.GetToken()
	case *ast.MappingNode:
		if !m.IsFlowStyle && len(m.Values) > 0 {
			return m.Values[0].Key.GetToken()
		}
	}
	return n.GetToken()
}

func field(path string) string {
	if path == "" {
		return ""
	}
	return path + ": "
}

// say adds a finding about the value at path, or about the nearest above it. code is that of the
// platform; 0 for none.
func (s *source) say(path string, code int, what, remedy string) {
	if code != 0 {
		what += fmt.Sprintf(" (%d)", code)
	}
	for at := path; at != ""; at = at[:max(0, strings.LastIndexAny(at, ".["))] {
		if t := s.at[at]; t != nil {
			s.add(t, field(path)+what, remedy)
			return
		}
	}
	s.add(nil, field(path)+what, remedy)
}

// add adds a finding. Without a position it is about the first line.
func (s *source) add(t *token.Token, what, remedy string) {
	f := placed{Finding: file.Finding{Level: file.LevelError, What: what, Remedy: remedy}, line: 1, column: 1}
	if t != nil && t.Position != nil {
		f.line, f.column = max(1, t.Position.Line), max(1, t.Position.Column)
	}
	f.Where = fmt.Sprintf("%s:%d:%d", s.name, f.line, f.column)
	if f.line <= len(s.lines) {
		f.Excerpt = fmt.Sprintf("%5d | %s", f.line, sentence.Shorten(s.lines[f.line-1], 100))
	}
	s.findings = append(s.findings, f)
}

// err is a *file.Error with the findings in the order of the file, or nil.
func (s *source) err() error {
	if len(s.findings) == 0 {
		return nil
	}
	slices.SortStableFunc(s.findings, func(a, b placed) int { return cmp.Or(a.line-b.line, a.column-b.column) })
	e := &file.Error{}
	for _, f := range s.findings {
		e.Findings = append(e.Findings, f.Finding)
	}
	return e
}
