package file

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/token"

	"campaignd/campaign"
	"campaignd/internal/sentence"
	"campaignd/recipients"
)

// maxDepth is how deep a campaign file may nest. The parser recurses: a mebibyte of "[" takes it
// minutes and then exhausts the stack, which no recover catches.
const maxDepth = 32

// plain refuses what a campaign file never needs and what attacks on parsers use: anchors, tags,
// deep nesting.
func (s *Source) plain(tokens token.Tokens) bool {
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
		case token.OctetIntegerType, token.HexIntegerType, token.BinaryIntegerType:
			if !s.stored {
				s.add(t, fmt.Sprintf("YAML reads %s as %s", t.Value, decimal(t.Value)),
					"write a number in decimal without a leading 0; text goes in quotes")
				return false
			}
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

// decimal is the value of a number in another base, such as 0777.
func decimal(s string) string {
	if n, err := strconv.ParseInt(s, 0, 64); err == nil {
		return strconv.FormatInt(n, 10)
	}
	return "a number in another base"
}

// shape compares a node with the type it is for, records positions, and adds findings for what does
// not fit.
func (s *Source) shape(n ast.Node, path string, t reflect.Type) {
	if path != "" && s.positions[path] == nil {
		s.positions[path] = first(n)
	}
	if n.Type() == ast.NullType {
		return // null counts as absent
	}
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	want := ""
	switch {
	case t == reflect.TypeFor[campaign.Duration]():
		text, isText := n.(*ast.StringNode)
		if !isText {
			want = "a duration such as 15m, 24h or 7d"
		} else if d, err := campaign.ParseDuration(text.Value); err != nil {
			s.add(n.GetToken(), field(path)+err.Error(), "")
		} else if d == 0 { // 0 would count as absent
			s.add(n.GetToken(), field(path)+"0 could mean at once or without limit", "remove it for the default")
		}
	case t == reflect.TypeFor[campaign.Approval]():
		if number, isNumber := n.(*ast.IntegerNode); isNumber {
			if err := new(campaign.Approval).UnmarshalYAML([]byte(number.GetToken().Value)); err != nil {
				s.add(n.GetToken(), fmt.Sprintf("%s%s: %s", field(path), number.GetToken().Value, err), "")
			}
		} else if n.Type() != ast.BoolType {
			want = "true, false, or a number of recipients"
		}
	case t == reflect.TypeFor[recipients.Names](): // a text, or a list of texts
		list, isList := n.(*ast.SequenceNode)
		if !isList {
			s.shape(n, path, reflect.TypeFor[string]())
			return
		}
		for i, v := range list.Values {
			s.shape(v, path+"["+strconv.Itoa(i)+"]", reflect.TypeFor[string]())
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
		if text := s.unquoted(first(n)); want == "text" && text != "" {
			remedy = quoteIt(text)
		}
		s.add(first(n), fmt.Sprintf("%swant %s, not %s", field(path), want, kind(n)), remedy)
	}
}

// keys checks the members of a struct or map.
func (s *Source) keys(pairs []*ast.MappingValueNode, path string, t reflect.Type) {
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
		s.positions[at] = pair.Key.GetToken()
		if t.Kind() == reflect.Map {
			s.shape(pair.Value, at, t.Elem())
			continue
		}
		var known []string
		var member reflect.Type
		for f := range t.Fields() {
			tag, _, _ := strings.Cut(f.Tag.Get("yaml"), ",")
			if tag == "" { // no key of the file
				continue
			}
			known = append(known, tag)
			if tag == key {
				member = f.Type
			}
		}
		if s.sidecar && at == againKey {
			member = reflect.TypeFor[bool]()
		}
		if member == nil {
			if s.stored && !decides(at) {
				continue
			}
			s.add(pair.Key.GetToken(), fmt.Sprintf("unknown key %q", at), sentence.DidYouMean(key, known))
			continue
		}
		s.shape(pair.Value, at, member)
	}
}

// decides reports whether a key at path changes what a run sends, to whom, when, or how much of it.
// A schedule has fired, so the rest may be of another version of this program.
func decides(path string) bool {
	part, _, nested := strings.Cut(path, ".")
	return nested && slices.Contains([]string{"template", "recipients", "variables", "window", "limits"}, part)
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

// kind describes the type of a node in the words of shape.
func kind(n ast.Node) string {
	switch n.Type() {
	case ast.StringType, ast.LiteralType:
		return "text"
	case ast.IntegerType:
		return "a number"
	case ast.FloatType:
		return "a decimal number"
	case ast.InfinityType, ast.NanType:
		return n.GetToken().Value // .inf or .nan, as written
	case ast.BoolType:
		return "true or false"
	case ast.SequenceType:
		return "a list"
	case ast.MappingType, ast.MappingValueType:
		return "keys with values"
	}
	return n.Type().YAMLName()
}
