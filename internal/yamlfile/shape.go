package yamlfile

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/token"

	"campaignd/internal/sentence"
)

// Shape is what a package adds to the comparison of a file with a type.
type Shape struct {
	// Special judges a node of a type that the kinds of Go do not describe, such as a duration. want
	// is what belongs there instead, "" if the node is in order. Nil: there are no such types.
	Special func(n ast.Node, path string, t reflect.Type) (want string, special bool)
	// Other says what becomes of a key that the type does not have: another type for its value, or
	// none and whether it is left out. Nil: each such key is a fault.
	Other func(path string) (t reflect.Type, ignored bool)
}

// Check compares a node with the type that it is decoded into, records positions, and adds a fault
// for each unknown key, each key that stands twice, and each value of another type. null counts as
// absent.
func (f *File) Check(n ast.Node, path string, t reflect.Type, s Shape) {
	if path != "" && f.Positions[path] == nil {
		f.Positions[path] = First(n)
	}
	if n.Type() == ast.NullType {
		return
	}
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	want, special := "", false
	if s.Special != nil {
		want, special = s.Special(n, path, t)
	}
	if !special {
		want = f.check(n, path, t, s)
	}
	if want == "" {
		return
	}
	remedy := ""
	if want == "text" && n.Type() != ast.MappingType && n.Type() != ast.SequenceType {
		remedy = "put it in quotes"
	}
	if text := f.unquoted(First(n)); want == "text" && text != "" {
		remedy = quoteIt(text)
	}
	f.Add(First(n), fmt.Sprintf("%swant %s, not %s", Field(path), want, kind(n)), remedy)
}

// check returns what belongs at path instead of n, "" if n is of type t.
func (f *File) check(n ast.Node, path string, t reflect.Type, s Shape) (want string) {
	is := func(types ...ast.NodeType) bool { return slices.Contains(types, n.Type()) }
	switch t.Kind() {
	case reflect.String:
		if !is(ast.StringType, ast.LiteralType) {
			return "text"
		}
	case reflect.Bool:
		if !is(ast.BoolType) {
			return "true or false"
		}
	case reflect.Float64:
		if !is(ast.FloatType, ast.IntegerType) {
			return "a number"
		}
	case reflect.Int, reflect.Int64:
		if !is(ast.IntegerType) {
			return "a whole number"
		}
	case reflect.Slice:
		list, isList := n.(*ast.SequenceNode)
		if !isList {
			return "a list"
		}
		for i, v := range list.Values {
			f.Check(v, path+"["+strconv.Itoa(i)+"]", t.Elem(), s)
		}
	default: // structs and maps
		pairs, isMap := Mapping(n)
		if !isMap {
			return "keys with values"
		}
		f.keys(pairs, path, t, s)
	}
	return ""
}

// keys checks the members of a struct or map.
func (f *File) keys(pairs []*ast.MappingValueNode, path string, t reflect.Type, s Shape) {
	seen := map[string]bool{}
	for _, pair := range pairs {
		key := pair.Key.GetToken().Value
		at := strings.TrimPrefix(path+"."+key, ".")
		if seen[key] {
			f.Add(pair.Key.GetToken(), fmt.Sprintf("%q stands here twice", at), "keep one")
			continue
		}
		seen[key] = true
		f.Positions[at] = pair.Key.GetToken()
		if t.Kind() == reflect.Map {
			f.Check(pair.Value, at, t.Elem(), s)
			continue
		}
		known, member := members(t, key)
		ignored := false
		if s.Other != nil {
			if other, ignore := s.Other(at); other != nil {
				member = other
			} else {
				ignored = ignore
			}
		}
		switch {
		case member != nil:
			f.Check(pair.Value, at, member, s)
		case !ignored:
			f.Add(pair.Key.GetToken(), fmt.Sprintf("unknown key %q", at), sentence.DidYouMean(key, known))
		}
	}
}

// members returns the keys of a struct, and the type of one of them, nil if it is not there.
func members(t reflect.Type, key string) (known []string, member reflect.Type) {
	for field := range t.Fields() {
		tag, _, _ := strings.Cut(field.Tag.Get("yaml"), ",")
		if tag == "" { // no key of the file
			continue
		}
		known = append(known, tag)
		if tag == key {
			member = field.Type
		}
	}
	return known, member
}

// Mapping returns the members of a node with keys.
func Mapping(n ast.Node) ([]*ast.MappingValueNode, bool) {
	switch m := n.(type) {
	case *ast.MappingNode:
		return m.Values, true
	case *ast.MappingValueNode:
		return []*ast.MappingValueNode{m}, true
	}
	return nil, false
}

// First is the token at which a node begins. For a mapping, the library gives the colon instead.
func First(n ast.Node) *token.Token {
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

// kind describes the type of a node in the words of Check.
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

// Field begins a message about the value at path: "path: ".
func Field(path string) string {
	if path == "" {
		return ""
	}
	return path + ": "
}

// decimal is the value of a number in another base, such as 0777.
func decimal(s string) string {
	if n, err := strconv.ParseInt(s, 0, 64); err == nil {
		return strconv.FormatInt(n, 10)
	}
	return "a number in another base"
}
