// Package yamlfile reads YAML files that people write: campaign files, template files and the
// configuration. Their packages call it. It promises that each fault has a position and a remedy,
// that no anchor, alias, tag or deep nesting reaches the parser, and that a panic of the parser,
// which is a third party's, becomes a fault (docs/protocol.md#untrusted-input).
package yamlfile

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/lexer"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"
)

// MaxSize is the largest file in bytes.
const MaxSize = 1 << 20

// MaxDepth is how deep a file may nest. The parser recurses: a mebibyte of "[" takes it minutes and
// then exhausts the stack, which no recover catches.
const MaxDepth = 32

// Kind is a kind of files, in the words of its faults.
type Kind struct {
	Noun    string // of one file, such as "campaign file"
	Holds   string // what one file holds, such as "campaign"
	TooDeep string // remedy of a file that nests too deep
	Empty   string // remedy of a file without a value; "" if it may have none
	TooBig  string // remedy of a file that is too large
	Syntax  string // remedy of a fault of the syntax that has no better one
	Placed  bool   // a fault of the file as a whole is told at its first character
}

// Fault is what is wrong in a file.
type Fault struct {
	Where        string // file:line:column, or file
	What, Remedy string
	Excerpt      string // the line and a caret below it, or ""
	Line, Column int    // from 1; 0 for the file as a whole
}

// File is a file with the positions of its keys and values.
type File struct {
	Kind      Kind
	Name      string
	Root      ast.Node                // nil for a file without a value, and after a fault of its syntax
	Positions map[string]*token.Token // by path, such as template.body[1]; also the keys of maps
	Tokens    token.Tokens
	Faults    []Fault
	AnyBase   bool // numbers such as 0777 are taken, which YAML reads as 511
	lines     []string
}

// Text returns src without the byte order mark that some editors write first. The decoder would
// read it as a part of the first key.
func Text(src []byte) []byte { return bytes.TrimPrefix(src, []byte("\uFEFF")) }

// Parse reads src. Faults are in Faults; the shape of the values is not looked at.
func (f *File) Parse(src []byte) {
	f.Positions = map[string]*token.Token{}
	defer func() {
		if p := recover(); p != nil {
			f.Root = nil
			f.Add(nil, fmt.Sprintf("the YAML parser failed on this file: %v", p),
				"check the syntax of one half of the file, then of the other, and report the file as a bug")
		}
	}()
	src = Text(src)
	switch {
	case len(src) > MaxSize:
		f.Add(nil, fmt.Sprintf("the file has %d bytes; a %s has at most %d", len(src), f.Kind.Noun, MaxSize), f.Kind.TooBig)
		return
	case !utf8.Valid(src) || bytes.IndexByte(src, 0) >= 0:
		f.Add(nil, "the file is not UTF-8 text", "save it as UTF-8")
		return
	}
	text := strings.ReplaceAll(string(src), "\r\n", "\n")
	f.lines = strings.Split(text, "\n")
	f.Tokens = lexer.Tokenize(text)
	if !f.plain() {
		return
	}
	file, err := parser.Parse(f.Tokens, 0)
	if err != nil {
		f.AddError(err)
		return
	}
	for _, doc := range file.Docs {
		if doc.Body == nil || doc.Body.Type() == ast.CommentType {
			continue
		}
		if f.Root != nil {
			f.Add(First(doc.Body), "a second document begins here", "one file holds one "+f.Kind.Holds+": give it its own file")
			break
		}
		f.Root = doc.Body
	}
	if f.Root == nil && f.Kind.Empty != "" {
		f.Add(nil, "the file holds no "+f.Kind.Holds, f.Kind.Empty)
	}
}

// plain refuses what these files never need and what attacks on parsers use: anchors, tags, deep
// nesting.
func (f *File) plain() bool {
	flow, dashes, line := 0, 0, 0
	for _, t := range f.Tokens {
		if t.Position.Line != line {
			line, dashes = t.Position.Line, 0
		}
		switch t.Type {
		case token.AnchorType, token.AliasType, token.MergeKeyType:
			f.Add(t, "anchors and aliases are not read in "+f.Kind.Noun+"s", "write the value out; text that begins with & or * goes in quotes")
			return false
		case token.TagType, token.DirectiveType:
			f.Add(t, "tags and directives are not read in "+f.Kind.Noun+"s", "remove it; text that begins with ! or % goes in quotes")
			return false
		case token.SequenceStartType, token.MappingStartType:
			flow++
		case token.SequenceEndType, token.MappingEndType:
			flow--
		case token.SequenceEntryType, token.MappingKeyType:
			dashes++
		}
		if AnotherBase(t) && !f.AnyBase {
			f.Add(t, fmt.Sprintf("YAML reads %s as %s", t.Value, decimal(t.Value)),
				"write a number in decimal without a leading 0; text goes in quotes")
			return false
		}
		if flow > MaxDepth || dashes > MaxDepth || t.Position.IndentNum > 20*MaxDepth {
			f.Add(t, fmt.Sprintf("nested more than %d deep", MaxDepth), f.Kind.TooDeep)
			return false
		}
	}
	return true
}

// AnotherBase reports whether a token is a number such as 0777, which YAML reads as 511.
func AnotherBase(t *token.Token) bool {
	return t.Type == token.OctetIntegerType || t.Type == token.HexIntegerType || t.Type == token.BinaryIntegerType
}

// Decode fills v. With strict it refuses keys that v does not have, so that a gap in the check of
// the shape lets no key pass unread.
func (f *File) Decode(v any, strict bool) {
	defer func() {
		if p := recover(); p != nil {
			f.Add(nil, fmt.Sprintf("the YAML decoder failed on this file: %v", p), "please report the file as a bug")
		}
	}()
	var options []yaml.DecodeOption
	if strict {
		options = append(options, yaml.Strict())
	}
	if err := yaml.NodeToValue(f.Root, v, options...); err != nil {
		f.AddError(err)
	}
}

// AddError adds an error of the YAML library.
func (f *File) AddError(err error) {
	var fault yaml.Error
	if !errors.As(err, &fault) {
		f.Add(nil, err.Error(), "")
		return
	}
	t := fault.GetToken()
	what, remedy := plain(fault.GetMessage(), f.Kind.Syntax)
	if variable := f.unquoted(t); variable != "" {
		what, remedy = "YAML takes {{ without quotes for the beginning of keys with values", quoteIt(variable)
	}
	f.Add(t, what, remedy)
}

// Position is where the value at path stands, or the nearest above it; nil if there is none.
func (f *File) Position(path string) *token.Token {
	for path != "" {
		if t := f.Positions[path]; t != nil {
			return t
		}
		path = path[:max(0, strings.LastIndexAny(path, ".["))]
	}
	return nil
}

// At is a fault of the value at path. Its position may be the nearest above it.
func (f *File) At(path, what, remedy string) Fault {
	return f.fault(f.Position(path), Field(path)+what, remedy)
}

// Add adds a fault at t, nil for the file as a whole.
func (f *File) Add(t *token.Token, what, remedy string) {
	f.Faults = append(f.Faults, f.fault(t, what, remedy))
}

func (f *File) fault(t *token.Token, what, remedy string) Fault {
	fault := Fault{Where: f.Name, What: what, Remedy: remedy}
	switch {
	case t != nil && t.Position != nil:
		fault.Line, fault.Column = t.Position.Line, t.Position.Column
	case f.Kind.Placed:
		fault.Line, fault.Column = 1, 1
	}
	if fault.Line > 0 {
		fault.Where = fmt.Sprintf("%s:%d:%d", f.Name, fault.Line, fault.Column)
		fault.Excerpt = Excerpt(f.lines, fault.Line, fault.Column)
	}
	return fault
}

// Sorted returns the faults in the order of the file, because shape and values are checked one
// after the other.
func (f *File) Sorted() []Fault {
	slices.SortStableFunc(f.Faults, func(a, b Fault) int {
		return cmp.Or(a.Line-b.Line, a.Column-b.Column, strings.Compare(a.What, b.What))
	})
	return f.Faults
}

// Excerpt shows at most 100 characters of a line, with a caret below the column. Both count from 1.
// It is "" for a position that does not exist.
func Excerpt(lines []string, line, column int) string {
	if line < 1 || line > len(lines) {
		return ""
	}
	text := []rune(lines[line-1])
	from := max(0, column-60)
	to := min(len(text), from+100)
	if from > to {
		return ""
	}
	margin := fmt.Sprintf("%5d | ", line)
	shown := strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return ' '
		}
		return r
	}, string(text[from:to]))
	return margin + shown + "\n" + strings.Repeat(" ", len(margin)+max(0, column-1-from)) + "^"
}

// unquoted is the first {{ variable }} outside of quotes in the line of t; "" if there is none.
func (f *File) unquoted(t *token.Token) string {
	if t == nil || t.Position == nil || t.Position.Line < 1 || t.Position.Line > len(f.lines) {
		return ""
	}
	line, quote, before := f.lines[t.Position.Line-1], rune(0), ' '
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
