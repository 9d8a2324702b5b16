package file

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/lexer"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"
)

// MaxSize is the largest campaign file in bytes.
const MaxSize = 1 << 20

// Source is a campaign file with the positions of its keys and values.
type Source struct {
	name      string
	lines     []string
	positions map[string]*token.Token // by path, such as template.body[1]; also the keys of maps
	findings  []placed
	root      ast.Node // nil for an empty file
	stored    bool     // the campaign of a run: see ParseStored
	sidecar   bool     // of a list: it may have againKey
}

// placed is a finding with its position, for sorting; 0 without a position.
type placed struct {
	Finding
	line, column int
}

// ReadSource parses src and compares its shape with Definition: keys, types, one document, no
// anchors. Faults are in findings, and so is a panic of the parser, which is a third party's.
func ReadSource(name string, src []byte) (s *Source) {
	return (&Source{name: name, positions: map[string]*token.Token{}}).read(src)
}

// read fills an empty source and returns it.
func (s *Source) read(src []byte) *Source {
	s.parse(src)
	return s
}

func (s *Source) parse(src []byte) {
	defer func() {
		if p := recover(); p != nil {
			s.root = nil
			s.add(nil, fmt.Sprintf("the YAML parser failed on this file: %v", p),
				"check the syntax of one half of the file, then of the other, and report the file as a bug")
		}
	}()
	src = bytes.TrimPrefix(src, []byte("\uFEFF"))
	switch {
	case len(src) > MaxSize:
		s.add(nil, fmt.Sprintf("the file has %d bytes; a campaign file has at most %d",
			len(src), MaxSize), "the recipients belong in a list (recipients.file)")
		return
	case !utf8.Valid(src) || bytes.IndexByte(src, 0) >= 0:
		s.add(nil, "the file is not UTF-8 text", "save it as UTF-8")
		return
	}
	text := strings.ReplaceAll(string(src), "\r\n", "\n")
	s.lines = strings.Split(text, "\n")
	tokens := lexer.Tokenize(text)
	if !s.plain(tokens) {
		return
	}
	file, err := parser.Parse(tokens, 0)
	var fault yaml.Error
	if errors.As(err, &fault) && s.unquoted(fault.GetToken()) != "" {
		t := fault.GetToken()
		s.add(t, "YAML takes {{ without quotes for the begin of keys with values", quoteIt(s.unquoted(t)))
		return
	}
	if err != nil {
		s.addError(err)
		return
	}
	for _, doc := range file.Docs {
		if doc.Body == nil || doc.Body.Type() == ast.CommentType {
			continue
		}
		if s.root != nil {
			s.add(first(doc.Body), "a second document begins here", "one file holds one campaign: give it its own file")
			break
		}
		s.root = doc.Body
	}
	if s.root == nil {
		s.add(nil, "the file holds no campaign", "see `campaignd config schema` for what belongs into it")
		return
	}
	s.shape(s.root, "", reflect.TypeFor[Definition]())
}

// decode fills d. It is strict too, so that a gap in shape lets no key pass unread.
func (s *Source) decode(d *Definition) {
	defer func() {
		if p := recover(); p != nil {
			s.add(nil, fmt.Sprintf("the YAML decoder failed on this file: %v", p), "please report the file as a bug")
		}
	}()
	strict := []yaml.DecodeOption{yaml.Strict()}
	if s.stored {
		strict = nil
	}
	if err := yaml.NodeToValue(s.root, d, strict...); err != nil {
		s.addError(err)
	}
}

// addError adds an error of the YAML library as a finding.
func (s *Source) addError(err error) {
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

// unquoted is the first {{ variable }} outside of quotes in the line of t; "" if there is none.
func (s *Source) unquoted(t *token.Token) string {
	if t == nil || t.Position == nil || t.Position.Line < 1 || t.Position.Line > len(s.lines) {
		return ""
	}
	line, quote, before := s.lines[t.Position.Line-1], rune(0), ' '
	for i, r := range line {
		switch {
		case quote != 0:
			if r == quote {
				quote = 0
			}
		case (r == '"' || r == '\'') && strings.ContainsRune(" [{,:", before): // not the one of "it's"
			quote = r
		case strings.HasPrefix(line[i:], "{{"):
			if end := strings.Index(line[i:], "}}"); end > 0 {
				return line[i : i+end+len("}}")]
			}
			return ""
		}
		before = r
	}
	return ""
}

// quoteIt is the remedy for a variable outside of quotes.
func quoteIt(variable string) string {
	return fmt.Sprintf("put the whole text in quotes, such as %q", variable)
}

// at adds a finding about the value at path, or about the nearest position above it.
func (s *Source) at(path, what, remedy string) {
	s.add(s.position(path), field(path)+what, remedy)
}

// position is that of the value at path, or the nearest above it; nil if there is none.
func (s *Source) position(path string) *token.Token {
	for path != "" {
		if t := s.positions[path]; t != nil {
			return t
		}
		path = path[:max(0, strings.LastIndexAny(path, ".["))]
	}
	return nil
}

// where names a position as file:line:column, or file without a position.
func (s *Source) where(t *token.Token) string {
	if t == nil || t.Position == nil {
		return s.name
	}
	return fmt.Sprintf("%s:%d:%d", s.name, t.Position.Line, t.Position.Column)
}

func (s *Source) add(t *token.Token, what, remedy string) {
	f := placed{Finding: Finding{Level: LevelError, Where: s.where(t), What: what, Remedy: remedy, Excerpt: s.excerpt(t)}}
	if t != nil && t.Position != nil {
		f.line, f.column = t.Position.Line, t.Position.Column
	}
	s.findings = append(s.findings, f)
}

// excerpt shows at most 100 characters of the line of t, with a caret below; "" without a position.
func (s *Source) excerpt(t *token.Token) string {
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

func (s *Source) err() error {
	if len(s.findings) == 0 {
		return nil
	}
	// In the order of the file, because shape and values are checked one after the other.
	slices.SortStableFunc(s.findings, func(a, b placed) int {
		return cmp.Or(a.line-b.line, a.column-b.column, strings.Compare(a.What, b.What))
	})
	e := &Error{}
	for _, f := range s.findings {
		e.Findings = append(e.Findings, f.Finding)
	}
	return e
}

// FaultAt is a fault of the value at path (such as schedule.cron) in the campaign file name, whose
// bytes are src. The packages above this one, which check more of the file, use it. what names the
// remedy.
func FaultAt(name string, src []byte, path, what string) *Error {
	return &Error{Findings: []Finding{ReadSource(name, src).Finding(LevelError, path, what, "")}}
}

// Finding is a finding about the value at path.
func (s *Source) Finding(level Level, path, what, remedy string) Finding {
	at := s.position(path)
	return Finding{Level: level, Where: s.where(at), What: field(path) + what, Remedy: remedy, Excerpt: s.excerpt(at)}
}

func field(path string) string {
	if path == "" {
		return ""
	}
	return path + ": "
}
