package campaign

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

	"campaignd/internal/spelling"
)

// MaxFile is the largest campaign file in bytes.
const MaxFile = 1 << 20

// maxDepth is how deep a campaign file may nest. The parser recurses: a mebibyte of "[" takes it
// minutes and then the stack, which no recover catches.
const maxDepth = 32

// source is a campaign file with the place of everything in it.
type source struct {
	name     string
	lines    []string
	places   map[string]*token.Token // by path: template.body[1]; keys of maps too
	findings []placed
	root     ast.Node // nil for an empty file
}

type placed struct {
	Finding
	line, column int
}

// readSource parses src and checks its shape against Definition: keys, types, one document, no
// anchors. What is wrong is in findings. The parser is a third party's: a panic in it is a finding.
func readSource(name string, src []byte) (s *source) {
	s = &source{name: name, places: map[string]*token.Token{}}
	defer func() {
		if p := recover(); p != nil {
			s.root = nil
			s.add(nil, fmt.Sprintf("the YAML parser failed on this file: %v", p), "please check its syntax by halves, and report the file as a bug")
		}
	}()
	src = bytes.TrimPrefix(src, []byte("\uFEFF"))
	switch {
	case len(src) > MaxFile:
		s.add(nil, fmt.Sprintf("the file has %d bytes; a campaign file has at most %d", len(src), MaxFile), "the recipients belong into a list of their own (recipients.file)")
		return s
	case !utf8.Valid(src) || bytes.IndexByte(src, 0) >= 0:
		s.add(nil, "the file is not UTF-8 text", "save it as UTF-8")
		return s
	}
	text := strings.ReplaceAll(string(src), "\r\n", "\n")
	s.lines = strings.Split(text, "\n")
	tokens := lexer.Tokenize(text)
	if !s.plain(tokens) {
		return s
	}
	file, err := parser.Parse(tokens, 0)
	if err != nil {
		s.addError(err)
		return s
	}
	for _, doc := range file.Docs {
		if doc.Body == nil || doc.Body.Type() == ast.CommentType {
			continue
		}
		if s.root != nil {
			s.add(first(doc.Body), "a second document begins here", "one file holds one campaign: give it a file of its own")
			break
		}
		s.root = doc.Body
	}
	if s.root == nil {
		s.add(nil, "the file holds no campaign", "see `campaignd config schema` for what belongs into it")
		return s
	}
	s.shape(s.root, "", reflect.TypeFor[Definition]())
	return s
}

// plain refuses what a campaign file never needs and what a parser is attacked with.
func (s *source) plain(tokens token.Tokens) bool {
	flow, dashes, line := 0, 0, 0
	for _, t := range tokens {
		if t.Position.Line != line {
			line, dashes = t.Position.Line, 0
		}
		switch t.Type {
		case token.AnchorType, token.AliasType, token.MergeKeyType:
			s.add(t, "anchors and aliases are not read in campaign files", "write the value out; text that begins with & or * goes in quotes")
			return false
		case token.TagType, token.DirectiveType:
			s.add(t, "tags and directives are not read in campaign files", "remove it; text that begins with ! or % goes in quotes")
			return false
		case token.SequenceStartType, token.MappingStartType:
			flow++
		case token.SequenceEndType, token.MappingEndType:
			flow--
		case token.SequenceEntryType, token.MappingKeyType:
			dashes++
		}
		if flow > maxDepth || dashes > maxDepth || t.Position.IndentNum > 20*maxDepth {
			s.add(t, fmt.Sprintf("nested more than %d deep", maxDepth), "a campaign file is flat")
			return false
		}
	}
	return true
}

// shape compares a node with the type it is for, remembers the places, and adds what does not fit.
func (s *source) shape(n ast.Node, path string, t reflect.Type) {
	if path != "" && s.places[path] == nil {
		s.places[path] = first(n)
	}
	if n.Type() == ast.NullType {
		return // as if it were not there
	}
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	want := ""
	switch {
	case t == reflect.TypeFor[Duration]():
		text, isText := n.(*ast.StringNode)
		if !isText {
			want = "a duration such as 15m, 24h or 7d"
		} else if d, err := ParseDuration(text.Value); err != nil {
			s.add(n.GetToken(), field(path)+err.Error(), "")
		} else if d == 0 { // it would be read as "not given"
			s.add(n.GetToken(), field(path)+"0 could mean at once or without limit", "remove it for the default")
		}
	case t.Kind() == reflect.String:
		if n.Type() != ast.StringType && n.Type() != ast.LiteralType {
			want = "text"
		}
	case t.Kind() == reflect.Bool:
		if n.Type() != ast.BoolType {
			want = "true or false"
		}
	case t.Kind() == reflect.Float64:
		if n.Type() != ast.FloatType && n.Type() != ast.IntegerType {
			want = "a number"
		}
	case t.Kind() == reflect.Int || t.Kind() == reflect.Int64:
		if n.Type() != ast.IntegerType {
			want = "a whole number"
		}
	case t.Kind() == reflect.Slice:
		list, isList := n.(*ast.SequenceNode)
		if !isList {
			want = "a list"
			break
		}
		for i, v := range list.Values {
			s.shape(v, path+"["+strconv.Itoa(i)+"]", t.Elem())
		}
	default: // structs and maps
		pairs, isMap := mapping(n)
		if !isMap {
			want = "keys with values"
			break
		}
		s.keys(pairs, path, t)
	}
	if want != "" {
		remedy := ""
		if want == "text" && n.Type() != ast.MappingType && n.Type() != ast.SequenceType {
			remedy = "put it in quotes"
		}
		s.add(first(n), fmt.Sprintf("%swant %s, not %s", field(path), want, kind(n)), remedy)
	}
}

// keys checks the members of a struct or map.
func (s *source) keys(pairs []*ast.MappingValueNode, path string, t reflect.Type) {
	seen := map[string]bool{}
	for _, pair := range pairs {
		key := pair.Key.GetToken().Value
		at := key
		if path != "" {
			at = path + "." + key
		}
		if seen[key] {
			s.add(pair.Key.GetToken(), fmt.Sprintf("%q stands here twice", at), "keep one")
			continue
		}
		seen[key] = true
		s.places[at] = pair.Key.GetToken()
		if t.Kind() == reflect.Map {
			s.shape(pair.Value, at, t.Elem())
			continue
		}
		var known []string
		var member reflect.Type
		for f := range t.Fields() {
			tag, _, _ := strings.Cut(f.Tag.Get("yaml"), ",")
			known = append(known, tag)
			if tag == key {
				member = f.Type
			}
		}
		if member == nil {
			s.add(pair.Key.GetToken(), fmt.Sprintf("unknown key %q", at), spelling.DidYouMean(key, known))
			continue
		}
		s.shape(pair.Value, at, member)
	}
}

// decode fills d. Strict again, so that a gap in shape cannot let a key pass unread.
func (s *source) decode(d *Definition) {
	defer func() {
		if p := recover(); p != nil {
			s.add(nil, fmt.Sprintf("the YAML decoder failed on this file: %v", p), "please report the file as a bug")
		}
	}()
	if err := yaml.NodeToValue(s.root, d, yaml.Strict()); err != nil {
		s.addError(err)
	}
}

// addError takes over what the YAML library found.
func (s *source) addError(err error) {
	var fault yaml.Error
	if errors.As(err, &fault) {
		what, remedy := fault.GetMessage(), ""
		if strings.Contains(what, "found character '\t'") {
			what, remedy = "a tab stands where YAML wants spaces", "indent with spaces"
		}
		s.add(fault.GetToken(), what, remedy)
		return
	}
	s.add(nil, err.Error(), "")
}

// at adds a finding about the value at path, or about the nearest place above it.
func (s *source) at(path, what, remedy string) {
	s.add(s.place(path), field(path)+what, remedy)
}

func (s *source) place(path string) *token.Token {
	for path != "" {
		if t := s.places[path]; t != nil {
			return t
		}
		path = path[:max(0, strings.LastIndexAny(path, ".["))]
	}
	return nil
}

// where names a place in the file.
func (s *source) where(t *token.Token) string {
	if t == nil || t.Position == nil {
		return s.name
	}
	return fmt.Sprintf("%s:%d:%d", s.name, t.Position.Line, t.Position.Column)
}

func (s *source) add(t *token.Token, what, remedy string) {
	f := placed{Finding: Finding{Level: LevelError, Where: s.where(t), What: what, Remedy: remedy, Excerpt: s.excerpt(t)}}
	if t != nil && t.Position != nil {
		f.line, f.column = t.Position.Line, t.Position.Column
	}
	s.findings = append(s.findings, f)
}

// excerpt shows the line of t with a caret below.
func (s *source) excerpt(t *token.Token) string {
	if t == nil || t.Position == nil || t.Position.Line < 1 || t.Position.Line > len(s.lines) {
		return ""
	}
	line := []rune(s.lines[t.Position.Line-1])
	from := max(0, t.Position.Column-60)
	to := min(len(line), from+100)
	if from > to {
		return ""
	}
	margin := fmt.Sprintf("%5d | ", t.Position.Line)
	shown := strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return ' '
		}
		return r
	}, string(line[from:to]))
	return margin + shown + "\n" + strings.Repeat(" ", len(margin)+max(0, t.Position.Column-1-from)) + "^"
}

func (s *source) err() error {
	if len(s.findings) == 0 {
		return nil
	}
	// In the order of the file: shape and values are checked in two walks.
	slices.SortStableFunc(s.findings, func(a, b placed) int {
		return cmp.Or(a.line-b.line, a.column-b.column, strings.Compare(a.What, b.What))
	})
	e := &FileError{Name: s.name}
	for _, f := range s.findings {
		e.Findings = append(e.Findings, f.Finding)
	}
	return e
}

// FaultAt is a fault of the value at path (schedule.cron) of the campaign file name, whose bytes are src: for the packages
// above this one that understand more of the file. what names the remedy.
func FaultAt(name string, src []byte, path, what string) *FileError {
	s := readSource(name, src)
	at := s.place(path)
	return &FileError{Name: name, Findings: []Finding{{Level: LevelError, Where: s.where(at), What: field(path) + what, Excerpt: s.excerpt(at)}}}
}

func mapping(n ast.Node) ([]*ast.MappingValueNode, bool) {
	switch m := n.(type) {
	case *ast.MappingNode:
		return m.Values, true
	case *ast.MappingValueNode:
		return []*ast.MappingValueNode{m}, true
	}
	return nil, false
}

// first is the token that a node begins with: of a mapping the library gives the colon.
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

func kind(n ast.Node) string {
	switch n.Type() {
	case ast.StringType, ast.LiteralType:
		return "text"
	case ast.IntegerType, ast.FloatType:
		return "a number"
	case ast.InfinityType:
		return "infinity"
	case ast.NanType:
		return "NaN"
	case ast.BoolType:
		return "true or false"
	case ast.SequenceType:
		return "a list"
	case ast.MappingType, ast.MappingValueType:
		return "keys with values"
	}
	return n.Type().YAMLName()
}
